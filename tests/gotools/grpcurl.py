#!/usr/bin/python3
"""Lists, describes and calls axisd with grpcurl, as its users will.

Usage: grpcurl.py AXISD
"""

import json
import subprocess
import sys

import gotool
from examples import EXAMPLES, expected, joined
from google.protobuf import json_format
from harness import Axisd, Checks, pb

SERVICE = "axis.v1.TensorService"


def documents(text: str) -> list:
    """The JSON values that stand one after the other in `text`."""
    found, decoder = [], json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


class Grpcurl:
    def __init__(self, binary: str, address: str):
        self.binary, self.address = binary, address

    def __call__(self, *args: str, data: str | None = None):
        flags = ["-plaintext", "-max-time", "20"]
        if data is not None:
            flags += ["-d", "@"]
        return subprocess.run([self.binary, *flags, self.address, *args],
                              input=data, text=True, capture_output=True)

    def call(self, example):
        """The answer of an example as a message; a string if it failed."""
        streams = example.method == "StreamPipeline"
        requests = example.request if streams else [example.request]
        ran = self(f"{SERVICE}/{example.method}",
                   data="\n".join(map(json.dumps, requests)))
        if ran.returncode:
            return ran.stderr
        response = getattr(pb, example.method + "Response")
        answers = [json_format.ParseDict(d, response())
                   for d in documents(ran.stdout)]
        return joined(answers) if streams else answers[0]


def main() -> None:
    binary, check = gotool.find("grpcurl"), Checks()
    with Axisd(sys.argv[1]) as server:
        grpcurl = Grpcurl(binary, server.address)
        listed = grpcurl("list").stdout.split()
        check("lists the services",
              {SERVICE, "grpc.health.v1.Health"} <= set(listed), listed)
        for name in listed:
            ran = grpcurl("describe", name)
            check(f"describes {name}", ran.returncode == 0 and
                  "service" in ran.stdout, ran.stderr)
        health = grpcurl("grpc.health.v1.Health/Check")
        check("is SERVING", '"SERVING"' in health.stdout, health.stderr)
        for example in EXAMPLES:
            answer = grpcurl.call(example)
            check(example.name, answer == expected(example), answer)
    check.finish("grpcurl calls")


if __name__ == "__main__":
    main()

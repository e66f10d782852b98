#!/usr/bin/python3
"""Calls axisd through grpcui, the form in a browser, by the requests that its
page makes.

Usage: grpcui.py AXISD
"""

import contextlib
import http.cookiejar
import json
import re
import subprocess
import sys
import time
import typing
import urllib.error
import urllib.request

import gotool
from examples import EXAMPLES, expected, joined
from google.protobuf import json_format
from harness import Axisd, Checks, free_port, pb

SERVICES = {"axis.v1.TensorService", "inference.GRPCInferenceService",
            "grpc.health.v1.Health"}
START_SECONDS = 20


class Page:
    """The page of a running grpcui."""

    def __init__(self, address: str):
        self.address = address
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self.cookies))
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.text = self.opener.open(address, timeout=10).read().decode()
                return
            except urllib.error.URLError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def invoke(self, method: str, messages: list) -> dict:
        token = next(c.value for c in self.cookies
                     if c.name == "_grpcui_csrf_token")
        request = urllib.request.Request(
            f"{self.address}/invoke/{method}",
            json.dumps({"timeout_seconds": 20, "metadata": [],
                        "data": messages}).encode(),
            {"Content-Type": "application/json",
             "x-grpcui-csrf-token": token})
        return json.load(self.opener.open(request, timeout=30))


@contextlib.contextmanager
def page(binary: str, server: str) -> typing.Iterator[Page]:
    port = free_port()
    grpcui = subprocess.Popen(
        [binary, "-plaintext", "-port", str(port), server],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield Page(f"http://127.0.0.1:{port}")
    finally:
        grpcui.terminate()
        grpcui.wait()


def main() -> None:
    check = Checks()
    with Axisd(sys.argv[1]) as server:
        server.wait_until_serving()
        with page(gotool.find("grpcui"), server.address) as ui:
            offered = set(re.findall(r'<option value="([^"]+)"', ui.text))
            check("offers the services", SERVICES <= offered, offered)
            for example in EXAMPLES:
                streams = example.method == "StreamPipeline"
                said = ui.invoke(
                    f"axis.v1.TensorService.{example.method}",
                    example.request if streams else [example.request])
                response = getattr(pb, example.method + "Response")
                answers = [json_format.ParseDict(each["message"], response())
                           for each in said["responses"]]
                answer = joined(answers) if streams else answers[:1]
                wanted = expected(example)
                check(example.name,
                      answer == (wanted if streams else [wanted]), said)
            said = ui.invoke("inference.GRPCInferenceService.ModelMetadata",
                             [{"name": "Transpose"}])
            check("the inference service answers, too",
                  [m["message"]["name"] for m in said["responses"]]
                  == ["Transpose"], said)
    check.finish("grpcui calls")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Calls every method of axisd from another language than its own.

Usage: calls.py AXISD
"""

import sys

import grpc
from examples import EXAMPLES, expected, joined
from google.protobuf import json_format
from harness import Axisd, Checks, pb


def call(stub, example):
    message = getattr(pb, example.method + "Request")
    method = getattr(stub, example.method)
    if example.method == "StreamPipeline":
        requests = [json_format.ParseDict(r, message())
                    for r in example.request]
        return joined(method(iter(requests), timeout=10))
    return method(json_format.ParseDict(example.request, message()),
                  timeout=10)


def main() -> None:
    check, methods = Checks(), set()
    with Axisd(sys.argv[1]) as server:
        for example in EXAMPLES:
            try:
                answer = call(server.stub, example)
            except grpc.RpcError as error:
                answer = f"{error.code().name}: {error.details()}"
            if check(example.name, answer == expected(example), answer):
                methods.add(example.method)
                print(f"ok     {example.method}: {example.name}")
    check.finish(f"Python calls, {len(methods)} methods")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Calls every method of axisd from another language than its own; and one of
them more often than gRPC lets calls wait by itself.

Usage: calls.py AXISD
"""

import collections
import contextlib
import os
import signal
import sys
import time

import grpc
from examples import EXAMPLES, expected, joined
from google.protobuf import json_format
from harness import Axisd, Checks, channel, pb, stubs

CONNECTIONS = 8
BURST = 800  # of calls, from each; gRPC 1.83 cancels the 3000th that waits


def call(stub, example):
    message = getattr(pb, example.method + "Request")
    method = getattr(stub, example.method)
    if example.method == "StreamPipeline":
        requests = [json_format.ParseDict(r, message())
                    for r in example.request]
        return joined(method(iter(requests), timeout=10))
    return method(json_format.ParseDict(example.request, message()),
                  timeout=10)


def check_burst(check: Checks, server: Axisd) -> None:
    request = pb.TransposeRequest(
        input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[32, 32],
                        data=bytes(1024)), op=pb.Transpose())
    with contextlib.ExitStack() as stack:
        links = [stack.enter_context(channel(server.address))
                 for _ in range(CONNECTIONS)]
        for link in links:
            grpc.channel_ready_future(link).result(timeout=10)
        serve = [stubs.TensorServiceStub(link).Transpose for link in links]
        os.kill(server.process.pid, signal.SIGSTOP)  # so that all of them wait
        try:
            calls = [method.future(request, timeout=60)
                     for _ in range(BURST) for method in serve]
            time.sleep(0.5)
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
        found = collections.Counter(call.code().name for call in calls)
    check("none of a burst of calls is lost", set(found) == {"OK"}, found)


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
        check_burst(check, server)
    check.finish(f"Python calls, {len(methods)} methods")


if __name__ == "__main__":
    main()

"""Replays golden calls: replay.py HOST:PORT GOLDEN.jsonl"""

import json
import sys

import grpc
from axis.v1 import tensor_service_pb2 as messages
from axis.v1 import tensor_service_pb2_grpc
from google.protobuf import json_format


def answer(service, call: dict):
    """The response of a call, or the name of the code it failed with."""
    request = json_format.ParseDict(
        call["request"], getattr(messages, call["method"] + "Request")())
    try:
        return getattr(service, call["method"])(request, timeout=60)
    except grpc.RpcError as error:
        return error.code().name


def main() -> None:
    passed = failed = 0
    with grpc.insecure_channel(sys.argv[1]) as channel, \
            open(sys.argv[2], encoding="utf-8") as golden:
        service = tensor_service_pb2_grpc.TensorServiceStub(channel)
        for call in map(json.loads, golden):
            wanted = call.get("error") or json_format.ParseDict(
                call["response"],
                getattr(messages, call["method"] + "Response")())
            if answer(service, call) == wanted:
                passed += 1
            else:
                failed += 1
                print("FAILED", call["name"])
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

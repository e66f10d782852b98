#!/usr/bin/python3
"""Compressed requests of both services, up to the limit and past it.

Usage: compressed.py AXISD
"""

import sys

import grpc
import numpy as np
from harness import MIB, Axisd, Checks, Refusal, oip, outcome, pb

LIMIT = 8 * MIB
ALGORITHMS = {"gzip": grpc.Compression.Gzip,
              "deflate": grpc.Compression.Deflate}


def numbers(size: int) -> np.ndarray:
    return np.arange(size, dtype=np.uint32).astype(np.uint8).reshape(2, -1)


def transpose(x: np.ndarray):
    return pb.TransposeRequest(
        input=pb.Tensor(data_type="DATA_TYPE_U8", shape=x.shape,
                        data=x.tobytes()), op=pb.Transpose())


def pieces(x: np.ndarray, size: int):
    """The requests of a stream that turns `x`."""
    data = x.tobytes()
    for at in range(0, len(data), size):
        request = pb.StreamPipelineRequest(
            input=pb.Tensor(data=data[at:at + size]))
        if at == 0:
            request.input.data_type = pb.DataType.Value("DATA_TYPE_U8")
            request.input.shape[:] = x.shape
            request.ops.add().transpose.order[:] = [1, 0]
        yield request


def check_unary(check: Checks, server: Axisd, name: str) -> None:
    algorithm = ALGORITHMS[name]
    # Around where the server makes room for more, and at the limit; the rest
    # of a message takes fewer than 64 bytes.
    for size in (1000, *range(16370, 16390, 2), 49152, 100000, 114640, 3 * MIB,
                 LIMIT - 64):
        x = numbers(size)
        answer = outcome(server.stub.Transpose, transpose(x),
                         compression=algorithm)
        check(f"{name}, {size} bytes: served", not isinstance(answer, Refusal)
              and answer.output.data == x.T.tobytes(), answer)
    answer = outcome(server.stub.Transpose, transpose(numbers(LIMIT)),
                     compression=algorithm)
    check(f"{name}, past the limit: RESOURCE_EXHAUSTED names the flag",
          isinstance(answer, Refusal) and answer.code == "RESOURCE_EXHAUSTED"
          and "--max_message_bytes" in answer.message, answer)
    x = numbers(3 * MIB)
    request = oip.ModelInferRequest(
        model_name="Transpose", raw_input_contents=[x.tobytes(), b""])
    request.inputs.add(name="arg", datatype="UINT8", shape=x.shape)
    request.inputs.add(name="input_order", datatype="INT64", shape=[0])
    answer = outcome(server.inference.ModelInfer, request,
                     compression=algorithm)
    check(f"{name}, ModelInfer: served", not isinstance(answer, Refusal) and
          answer.raw_output_contents[0] == x.T.tobytes())
    answers = list(server.inference.ModelStreamInfer(
        iter([request] * 3), compression=algorithm, timeout=30))
    check(f"{name}, ModelStreamInfer: served", [
        a.infer_response.raw_output_contents[0] == x.T.tobytes()
        for a in answers] == [True] * 3)


def check_stream(check: Checks, server: Axisd, name: str) -> None:
    x = numbers(48 * MIB)
    for size in (100000, 4 * MIB):
        answers = server.stub.StreamPipeline(
            pieces(x, size), compression=ALGORITHMS[name], timeout=60)
        data = b"".join(a.output.data for a in answers)
        check(f"{name}, a stream in pieces of {size}: served",
              data == x.T.tobytes(), len(data))


def main() -> None:
    check = Checks()
    with Axisd(sys.argv[1], f"--max_message_bytes={LIMIT}") as server:
        for name in ALGORITHMS:
            check_unary(check, server, name)
            check_stream(check, server, name)
        held = server.metrics()["axisd_inflight_bytes"]
        check("nothing is held in the end", held == 0, held)
    check.finish("compressed requests")


if __name__ == "__main__":
    main()

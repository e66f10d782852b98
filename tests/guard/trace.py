#!/usr/bin/python3
"""One call, traced by its id: through its answer, the access log and the line
of a slow call; and where calls stopped that were given up.

Usage: trace.py AXISD
"""

import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import grpc
from harness import Axisd, Checks, oip, pb

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
PHASES = ("unpack", "compile", "copy", "pack")


def lines(server: Axisd, event: str) -> list:
    return [entry for line in server.output().splitlines()
            if line.startswith("{") and
            (entry := json.loads(line))["event"] == event]


def wait_for(server: Axisd, event: str, **fields) -> dict:
    """The line of `event` with these fields."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        for line in lines(server, event):
            if all(line.get(k) == v for k, v in fields.items()):
                return line
        time.sleep(0.02)
    return {}


def transpose(rows: int, columns: int) -> pb.TransposeRequest:
    return pb.TransposeRequest(
        input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[rows, columns],
                        data=bytes(rows * columns)), op=pb.Transpose())


def long_pipeline() -> pb.RunPipelineRequest:
    """64 passes over 48 MB, more than caches hold."""
    return pb.RunPipelineRequest(
        inputs=[pb.Tensor(data_type="DATA_TYPE_U8", shape=[1250, 38400],
                          data=bytes(48_000_000))],
        ops=[pb.Op(shuffle_channels=pb.ShuffleChannels(group=group))
             for group in 32 * (160, 100)])


def answered(method, request, *metadata) -> dict:
    _, call = method.with_call(request, metadata=metadata, timeout=60)
    return dict(call.initial_metadata())


def check_ids(check: Checks, server: Axisd) -> None:
    ids = (("x-request-id", "order-66"), ("traceparent", PARENT))
    # Twice: the second one is served by a recipe.
    for _ in range(2):
        got = answered(server.stub.Transpose, transpose(2, 3), *ids)
        check("the ids come back", got.get("x-request-id") == "order-66" and
              got.get("traceparent") == PARENT, got)
    line = wait_for(server, "call", request_id="order-66")
    for key, want in (("method", "Transpose"), ("trace_id", TRACE),
                      ("code", "OK"), ("inputs", "U8[2,3]"), ("strided", 1)):
        check(f"the log has its {key}", line.get(key) == want, line)
    check("and the rest", line.get("peer", "").startswith("ipv4:127.0.0.1:") and
          line["received_bytes"] > 6 and line["sent_bytes"] > 6 and
          line["seconds"] > 0 and "stopped_in" not in line, line)
    parts = [line.get(f"{p}_seconds", -1) for p in PHASES]
    check("phases are part of the time", min(parts) >= 0 and
          sum(parts) <= line["seconds"] + 1e-5, line)
    # Lines are written behind our back: ask until the next call has its own.
    answered(server.stub.Transpose, transpose(2, 3), ("x-request-id", "next"))
    wait_for(server, "call", request_id="next")
    check("the second line is as the first", len(
        [c for c in lines(server, "call") if c["request_id"] == "order-66" and
         c["inputs"] == "U8[2,3]"]) == 2)
    check("no ids, none back", not answered(
        server.stub.Transpose, transpose(2, 3)).keys() &
        {"x-request-id", "traceparent"})
    for bad in ("nonsense", "00-" + "0" * 32 + "-00f067aa0ba902b7-01",
                f"ff-{TRACE}-00f067aa0ba902b7-01", PARENT.upper(),
                PARENT + "-more", f"00-{TRACE}-{'0' * 16}-01", PARENT[:-1]):
        got = answered(server.stub.Transpose, transpose(2, 3),
                       ("traceparent", bad))
        check(f"traceparent {bad[:40]} is none", "traceparent" not in got, got)
    later = "01" + PARENT[2:] + "-more"
    got = answered(server.stub.Transpose, transpose(2, 3),
                   ("traceparent", later))
    check("one of a later version is cut to what is known",
          got.get("traceparent") == later[:55], got)
    long = answered(server.stub.Transpose, transpose(2, 3),
                    ("x-request-id", "x" * 1000))
    check("a long id is cut", long.get("x-request-id") == "x" * 128)


def check_other_ways(check: Checks, server: Axisd) -> None:
    request = oip.ModelInferRequest(
        model_name="Transpose", id="oip-7",
        inputs=[oip.ModelInferRequest.InferInputTensor(
            name="arg", datatype="FP32", shape=[2, 2])],
        raw_input_contents=[bytes(16)])
    request.inputs.add(name="input_order", datatype="INT64", shape=[0])
    request.raw_input_contents.append(b"")
    server.inference.ModelInfer(request, timeout=10)
    line = wait_for(server, "call", request_id="oip-7")
    check("the id of an inference request is in the log",
          line.get("method") == "ModelInfer" and
          line.get("inputs") == "F32[2,2]", line)
    stream = server.stub.StreamPipeline(iter([pb.StreamPipelineRequest(
        input=transpose(2, 3).input,
        ops=[pb.Op(transpose=pb.Transpose())])]), timeout=10,
        metadata=(("x-request-id", "stream-1"), ("traceparent", PARENT)))
    list(stream)
    check("a stream has them too", dict(stream.initial_metadata()).get(
        "x-request-id") == "stream-1")
    line = wait_for(server, "call", request_id="stream-1")
    check("and its line", line.get("trace_id") == TRACE and
          line.get("inputs") == "U8[2,3]", line)


def check_slow(check: Checks, server: Axisd) -> None:
    answered(server.stub.RunPipeline, long_pipeline(),
             ("x-request-id", "slow-1"), ("traceparent", PARENT))
    line = wait_for(server, "slow call", request_id="slow-1")
    check("a slow call has a line that says where the time went",
          line.get("trace_id") == TRACE and line["copy_seconds"] >
          line["seconds"] / 2 and line["inputs"] == "U8[1250,38400]", line)


def check_given_up(check: Checks, server: Axisd) -> None:
    request = long_pipeline()
    start = time.monotonic()
    server.stub.RunPipeline(request, timeout=60)
    seconds = time.monotonic() - start
    call = server.stub.RunPipeline.future(
        request, metadata=(("x-request-id", "gone-1"),), timeout=60)
    deadline = time.monotonic() + 10
    while server.metrics()["axisd_counted_requests"] == 0:
        if time.monotonic() > deadline:
            break
    time.sleep(seconds / 5)
    call.cancel()
    line = wait_for(server, "call", request_id="gone-1")
    check("a cancelled call stopped in copy", line.get("code") == "CANCELLED"
          and line.get("stopped_in") == "copy" and line["strided"] < 64, line)
    # The first call was a slow one, and an answer may come too late.
    for part in (0.7, 0.6, 0.5, 0.4, 0.3):
        name, code = f"late-{part}", "OK"
        try:
            server.stub.RunPipeline(request, timeout=seconds * part,
                                    metadata=(("x-request-id", name),))
        except grpc.RpcError as error:
            code = error.code().name
        line = wait_for(server, "call", request_id=name)
        if line.get("code") != "OK":
            break
    check("the call is late", code == "DEADLINE_EXCEEDED", code)
    # What came when its time was up already never began. The clock of a client
    # began earlier: it may give up before the server knows that it is late.
    check("an expired one says where, too",
          line.get("code") in ("DEADLINE_EXCEEDED", "CANCELLED") and
          line.get("stopped_in") in ("copy", "queue"), line)
    try:
        server.stub.Transpose(pb.TransposeRequest(),
                              metadata=(("x-request-id", "wrong-1"),))
    except grpc.RpcError:
        pass
    line = wait_for(server, "call", request_id="wrong-1")
    check("a wrong one stopped in unpack", line.get("stopped_in") == "unpack"
          and line.get("code") == "INVALID_ARGUMENT", line)


def main() -> None:
    check = Checks()
    with Axisd(sys.argv[1], "--access_log=true", "--log_format=json",
               "--log_slower_than=50ms") as server:
        check_ids(check, server)
        check_other_ways(check, server)
        check_slow(check, server)
        check_given_up(check, server)
    check.finish("trace")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Every way to be wrong is refused with the right code and the right field.

Usage: errors.py AXISD

Values at a bound are accepted, those one past it are not; and the server is
as well after all of it as before.
"""

import sys
import time

import http2
from harness import MIB, Axisd, Checks, Refusal, channel, outcome, pb
from limits import PIPELINES, RIGHT, WRONG, X, f32, u8

TRANSPOSE = "/axis.v1.TensorService/Transpose"


def within(found: str, field: str) -> bool:
    """Whether the path `found` is `field` or leads into it."""
    return found == field or found.startswith((field + "[", field + "."))


def judge(check: Checks, claim: str, answer, field: str | None) -> None:
    """Checks a refusal, or an answer for no field."""
    if field is None:
        check(claim, not isinstance(answer, Refusal), answer)
    else:
        check(f"{claim} -> {field}", isinstance(answer, Refusal) and
              answer.code == "INVALID_ARGUMENT" and len(answer.message) > 0
              and any(within(f, field) for f in answer.fields)
              and not answer.retry, answer)


def build(method: str, tensor: dict | None, op: dict | None):
    request = getattr(pb, method + "Request")()
    if tensor is not None:
        request.input.CopyFrom(pb.Tensor(**tensor))
    if op is not None:
        request.op.CopyFrom(getattr(pb, method)(**op))
    return request


def check_requests(check: Checks, stub) -> None:
    for method, tensor, op, *field in WRONG + RIGHT:
        shape = tensor and list(tensor["shape"])
        answer = outcome(getattr(stub, method), build(method, tensor, op))
        judge(check, f"{method} {shape} {str(op)[:60]}", answer,
              field[0] if field else None)
    for inputs, ops, field in PIPELINES:
        answer = outcome(stub.RunPipeline, pb.RunPipelineRequest(
            inputs=[pb.Tensor(**t) for t in inputs],
            ops=[pb.Op(**o) for o in ops]))
        judge(check, f"RunPipeline of {len(inputs)} inputs, {len(ops)} ops",
              answer, field)


def check_truncations(check: Checks, address: str) -> None:
    """A message cut short anywhere is refused: it lacks at least its op."""
    whole = build("Transpose", f32(2, 3), {"order": [1, 0]})
    whole = whole.SerializeToString()
    with channel(address) as link:
        method = link.unary_unary(TRANSPOSE)
        found = [outcome(method, whole[:n]) for n in range(len(whole))]
    bad = [n for n, a in enumerate(found)
           if not isinstance(a, Refusal) or a.code != "INVALID_ARGUMENT"]
    check(f"{len(whole)} truncations are refused", not bad,
          [(n, found[n]) for n in bad[:2]])


def check_size_limit(check: Checks, axisd: str) -> None:
    """The limit is that of the whole message, to the byte."""
    with Axisd(axisd, "--max_message_bytes=1MiB") as server:
        guess = MIB - 64
        around = build("Transpose", u8(guess), {}).ByteSize() - guess
        answer = outcome(server.stub.Transpose,
                         build("Transpose", u8(MIB - around), {}))
        check("1 MiB is taken", not isinstance(answer, Refusal), answer)
        answer = outcome(server.stub.Transpose,
                         build("Transpose", u8(MIB - around + 1), {}))
        check("one byte more is refused, and why",
              isinstance(answer, Refusal)
              and answer.code == "RESOURCE_EXHAUSTED"
              and "max_message_bytes" in answer.message and not answer.retry,
              answer)


def wait_for_inflight(server: Axisd, enough, seconds: float = 10) -> bool:
    """Until /metrics says that as much is held as `enough` asks for."""
    deadline = time.monotonic() + seconds
    while not enough(server.metrics().get("axisd_inflight_bytes", -1)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def check_load_limit(check: Checks, axisd: str) -> None:
    """A full server turns calls away, and tells them to come back.

    Clients that ask and do not listen fill it: their answers stay with it.
    """
    with Axisd(axisd, "--max_message_bytes=4MiB",
               "--max_inflight_bytes=10MiB") as server:
        request = build("Transpose", f32(512, 1024), {})  # 2 MiB, both ways
        data = request.SerializeToString()
        deaf = [http2.Call(server.port, TRANSPOSE) for _ in range(2)]
        for call in deaf:
            call.send([http2.message(len(data)) + data])
        check("calls that nobody reads hold memory",
              wait_for_inflight(server, lambda held: held >= 8 * MIB),
              server.metrics().get("axisd_inflight_bytes"))
        answer = outcome(server.stub.Transpose, request)
        check("a full server turns calls away, and says why",
              isinstance(answer, Refusal)
              and answer.code == "RESOURCE_EXHAUSTED"
              and "max_inflight_bytes" in answer.message and answer.retry,
              answer)
        answer = outcome(server.stub.Transpose, build("Transpose", X, {}))
        check("it answers what fits", not isinstance(answer, Refusal), answer)
        found = server.metrics()
        rejected = sum(v for k, v in found.items()
                       if k.startswith("axisd_rejected_total"))
        check("/metrics counts one", rejected == 1, rejected)
        for call in deaf:
            call.socket.close()
        check("it gets the memory back",
              wait_for_inflight(server, lambda held: held == 0),
              server.metrics().get("axisd_inflight_bytes"))
        answer = outcome(server.stub.Transpose, request)
        check("then it answers", not isinstance(answer, Refusal), answer)


def main() -> None:
    check = Checks()
    with Axisd(sys.argv[1]) as server:
        check_requests(check, server.stub)
        check_truncations(check, server.address)
        answer = outcome(server.stub.Transpose, build("Transpose", X, {}))
        check("the server is well", not isinstance(answer, Refusal), answer)
    check_size_limit(check, sys.argv[1])
    check_load_limit(check, sys.argv[1])
    check.finish("errors")


if __name__ == "__main__":
    main()

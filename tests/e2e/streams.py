#!/usr/bin/python3
"""Streams larger than what the server may hold: right, and within its memory.

Usage: streams.py AXISD [MIB]

MIB is the size of each stream, 512 unless given; gigabytes take a while. What
the server takes depends on the op, not on the size: it is held to a quarter of
a stream, where a cgroup can be made.
"""

import sys
import time

import numpy as np
from cgroup import NoCgroup, cgroup
from harness import MIB, Axisd, Checks, pb, refusal

import grpc

IMAGE = (256, 256, 4)  # H, W, C of f32: 1 MiB
INFLIGHT = 64 * MIB
GROWTH = 96 * MIB  # what is admitted, and gRPC's own buffers
PIXELS = np.random.default_rng(1).random(IMAGE, dtype=np.float32)


def image(n: int) -> np.ndarray:
    """An image that is like no other one."""
    out = PIXELS.copy()
    out[n % 256, :, n % 4] = n
    return out


def run(server, shape, ops, pieces, take):
    """Streams `pieces` through `ops`; calls take(output, shape, data)."""
    def requests():
        yield pb.StreamPipelineRequest(
            input=pb.Tensor(data_type="DATA_TYPE_F32", shape=shape), ops=ops)
        for piece in pieces:
            yield pb.StreamPipelineRequest(input=pb.Tensor(data=piece))
    output = -1
    for response in server.stub.StreamPipeline(requests(), timeout=600):
        piece = response.output
        output += piece.data_type != 0
        take(output, tuple(piece.shape), piece.data)


class Expect:
    """Compares what comes, piece by piece, with images one after the other."""

    def __init__(self, check, claim, shapes, arrange):
        self.check, self.claim = check, claim
        self.shapes, self.arrange = shapes, arrange
        self.seen = []         # the shapes that came
        self.left = b""        # of the image that is due
        self.next = 0
        self.bytes = 0
        self.wrong = 0

    def __call__(self, output, shape, data):
        if output == len(self.seen):
            self.seen.append(shape)
        self.bytes += len(data)
        view = memoryview(data)
        while view:
            if not self.left:
                self.left = memoryview(
                    self.arrange(image(self.next)).tobytes())
                self.next += 1
            n = min(len(view), len(self.left))
            self.wrong += view[:n] != self.left[:n]
            view, self.left = view[n:], self.left[n:]

    def finish(self, total):
        self.check(f"{self.claim}: all bytes come", self.bytes == total,
                   self.bytes)
        self.check(f"{self.claim}: every byte is right", self.wrong == 0,
                   f"{self.wrong} wrong pieces")
        self.check(f"{self.claim}: the shapes are right",
                   self.seen == self.shapes, self.seen)


def check_windows(check, axisd, mib, **how):
    """Ops that keep the outer axis, within a quarter of the stream."""
    shape = (mib, *IMAGE)
    first = mib // 3
    cases = {
        "identity": ([], [shape], lambda x: x),
        "outer split": (
            [pb.Op(variadic_split=pb.VariadicSplit(
                axis=0, split_lengths=[first, -1]))],
            [(first, *IMAGE), (mib - first, *IMAGE)], lambda x: x),
        "NHWC to NCHW": (
            [pb.Op(transpose=pb.Transpose(order=[0, 3, 1, 2]))],
            [(mib, 4, 256, 256)], lambda x: np.transpose(x, (2, 0, 1))),
        "NHWC to NCHW of an outer split": (
            [pb.Op(variadic_split=pb.VariadicSplit(
                axis=0, split_lengths=[first, -1])),
             pb.Op(transpose=pb.Transpose(order=[0, 3, 1, 2]))],
            [(first, 4, 256, 256), (mib - first, 4, 256, 256)],
            lambda x: np.transpose(x, (2, 0, 1))),
    }
    for claim, (ops, shapes, arrange) in cases.items():
        with Axisd(axisd, f"--max_inflight_bytes={INFLIGHT}",
                   f"--max_message_bytes={4 * MIB}", **how) as server:
            idle, copies = server.memory(), server.copies()
            expect = Expect(check, claim, shapes, arrange)
            start = time.monotonic()
            run(server, shape, ops, (image(n).tobytes() for n in range(mib)),
                expect)
            seconds = time.monotonic() - start
            grown = server.memory("VmHWM") - idle
            copies = {k: int(v - copies[k])
                      for k, v in server.copies().items()}
            held = server.metrics().get("axisd_inflight_bytes")
        expect.finish(mib * MIB)
        check(f"{claim}: takes less than {GROWTH // MIB} MiB",
              grown < GROWTH, f"{grown / MIB:.0f} MiB")
        check(f"{claim}: nothing is held afterwards", held == 0, held)
        kind = "strided" if "NCHW" in claim else "shared"
        check(f"{claim}: each output is {kind}", copies[kind] == len(shapes),
              copies)
        print(f"{claim}: {mib} MiB in {seconds:.2f} s from Python, "
              f"+{grown / MIB:.0f} MiB, copies {copies}")


def check_whole(check, axisd, mib):
    """A full transpose: held once, and refused where it does not fit."""
    rows, columns = mib, MIB // 4
    ops = [pb.Op(transpose=pb.Transpose())]
    rng = np.random.default_rng(2)
    row = rng.permutation(columns).astype(np.float32)
    pieces = ((row + n).tobytes() for n in range(rows))
    with Axisd(axisd, f"--max_inflight_bytes={(mib + 64) * MIB}",
               f"--max_message_bytes={4 * MIB}") as server:
        idle = server.memory()
        out = bytearray()
        start = time.monotonic()
        run(server, (rows, columns), ops, pieces,
            lambda output, shape, data: out.extend(data))
        seconds = time.monotonic() - start
        grown = server.memory("VmHWM") - idle
    got = np.frombuffer(out, np.float32).reshape(columns, rows)
    check("a full transpose is right",
          all(np.array_equal(got[:, n], row + n) for n in range(rows)))
    check("a full transpose takes its output and little more",
          grown < mib * MIB * 1.2 + 64 * MIB, f"{grown / MIB:.0f} MiB")
    print(f"full transpose: {mib} MiB in {seconds:.2f} s from Python, "
          f"+{grown / MIB:.0f} MiB")

    with Axisd(axisd, f"--max_inflight_bytes={INFLIGHT}",
               f"--max_message_bytes={4 * MIB}") as server:
        idle = server.memory()
        try:
            run(server, (rows, columns), ops,
                (bytes(MIB) for _ in range(rows)), lambda *_: None)
            error = None
        except grpc.RpcError as e:
            error = refusal(e)
        check("what does not fit is refused, not tried",
              error is not None and error.code == "RESOURCE_EXHAUSTED"
              and "--max_inflight_bytes" in error.message, error)
        check("and costs nothing", server.memory("VmHWM") - idle < 32 * MIB)


def main() -> None:
    check = Checks()
    mib = int(sys.argv[2]) if len(sys.argv) > 2 else 512
    try:
        with cgroup(mib // 4 * MIB) as limited:
            check_windows(check, sys.argv[1], mib, preexec_fn=limited.join)
            check("with a quarter of the memory", limited.peak() < mib // 4 * MIB,
                  limited.peak())
    except NoCgroup as why:
        print(f"SKIPPED the kernel's limit of memory: {why}")
        check_windows(check, sys.argv[1], mib)
    check_whole(check, sys.argv[1], min(mib, 3072))
    check.finish(f"streams of {mib} MiB")


if __name__ == "__main__":
    main()

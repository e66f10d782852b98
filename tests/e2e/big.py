#!/usr/bin/python3
"""Messages of many MiB in one call: right, in one pass, and what it takes.

Usage: big.py AXISD
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
from harness import MIB, Axisd, Checks, pb

SHAPE = (16, 256, 256, 16)  # N, H, W, C: 64 MiB of f32


def check_pieces(check: Checks, server: Axisd) -> None:
    """What of a message in pieces is hard: lines that are made of several,
    runs that are longer than one, elements that begin inside a byte."""
    rng = np.random.default_rng(2)
    photos = rng.integers(0, 256, (4, 3, 1080, 1920), np.uint8)
    output = server.stub.Transpose(pb.TransposeRequest(
        input=pb.Tensor(data_type="DATA_TYPE_U8", shape=photos.shape,
                        data=photos.tobytes()),
        op=pb.Transpose(order=[0, 2, 3, 1])), timeout=60).output
    check("NCHW photos come out as NHWC",
          output.data == np.transpose(photos, (0, 2, 3, 1)).tobytes())
    outputs = server.stub.VariadicSplit(pb.VariadicSplitRequest(
        input=pb.Tensor(data_type="DATA_TYPE_U8", shape=photos.shape,
                        data=photos.tobytes()),
        op=pb.VariadicSplit(axis=1, split_lengths=[1, 2])), timeout=60).outputs
    check("channels are split", [o.data for o in outputs] == [
        photos[:, :1].tobytes(), photos[:, 1:].tobytes()])
    nibbles = rng.integers(0, 256, 16 * MIB, np.uint8)
    outputs = server.stub.VariadicSplit(pb.VariadicSplitRequest(
        input=pb.Tensor(data_type="DATA_TYPE_U4", shape=[2 * nibbles.size],
                        data=nibbles.tobytes()),
        op=pb.VariadicSplit(axis=0, split_lengths=[1, -1])), timeout=60).outputs
    # The first element is in the lower half of the first byte.
    want = (nibbles >> 4) | np.append(nibbles[1:] << 4, np.uint8(0))
    check("elements that begin inside a byte are split",
          outputs[1].data == want.tobytes())


def check_workers(check: Checks, server: Axisd) -> None:
    """Who computes: up to 2 MiB the thread that polls, alone; more than that
    workers, which the kernel lets wait for it."""
    def transpose(columns: int) -> None:
        data = bytes(1024 * columns)
        server.stub.Transpose(pb.TransposeRequest(
            input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[1024, columns],
                            data=data), op=pb.Transpose()), timeout=60)

    def own_threads() -> list[int]:
        """The niceness of each thread that gRPC has not named."""
        tasks = Path(f"/proc/{server.process.pid}/task")
        return [os.getpriority(os.PRIO_PROCESS, int(task.name))
                for task in tasks.iterdir()
                if (task / "comm").read_text() == "axisd\n"]

    transpose(1)
    before = own_threads()
    for _ in range(20):
        transpose(1536)
    check("1.5 MiB wake no worker", own_threads() == before, own_threads())
    transpose(8192)
    check("8 MiB are computed by workers, which are nice",
          max(own_threads()) > max(before), own_threads())


def main() -> None:
    check = Checks()
    image = np.random.default_rng(1).random(SHAPE, dtype=np.float32)
    request = pb.TransposeRequest(
        input=pb.Tensor(data_type="DATA_TYPE_F32", shape=SHAPE,
                        data=image.tobytes()),
        op=pb.Transpose(order=[0, 3, 1, 2]))
    with Axisd(sys.argv[1]) as server:
        check_workers(check, server)
        before, idle = server.copies(), server.memory()
        start = time.monotonic()
        output = server.stub.Transpose(request, timeout=60).output
        seconds = time.monotonic() - start
        after, peak = server.copies(), server.memory("VmHWM")
        # The answer is here a moment before its memory is given back.
        deadline = time.monotonic() + 5
        while (held := server.metrics().get("axisd_inflight_bytes")) != 0:
            if time.monotonic() > deadline:
                break
        check_pieces(check, server)
    want = np.transpose(image, (0, 3, 1, 2))
    got = np.frombuffer(output.data, np.float32)
    check("the shape is right", tuple(output.shape) == want.shape,
          output.shape)
    check("every element is right",
          np.array_equal(got, np.ravel(want)), "another order")
    copies = {kind: int(after[kind] - before[kind]) for kind in after}
    check("one strided copy", copies["strided"] == 1, copies)
    check("at most one joined copy", copies["joined"] <= 1, copies)
    check("nothing is held afterwards", held == 0, held)
    print(f"64 MiB NHWC -> NCHW in {seconds:.3f} s from Python; copies "
          f"{copies}; peak RSS {peak / MIB:.0f} MiB, idle {idle / MIB:.0f}")
    check.finish("one call of 64 MiB")


if __name__ == "__main__":
    main()

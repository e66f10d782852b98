#!/usr/bin/python3
"""What the Python client costs beside bare grpcio, and what both copy.

Usage: overhead.py HOST:PORT|unix:PATH

Bare: the generated messages and `tobytes`, as client/examples/python has it.
Calls of both take turns, so that what else the machine does hits both; the
ratio is of their median times. Copies, of which a call makes at least one on
the way into gRPC and one on the way out, are counted if tests/bench/rpc's
copy_counter is preloaded: AXIS_COPY_COUNTER=FILE LD_PRELOAD=copy_counter.so.
"""

import asyncio
import math
import os
import statistics
import sys
import time

import package  # noqa: F401  makes `import axisd` work
import axisd
import grpc
import numpy as np
from harness import channel, pb, stubs

ORDER = (1, 0)


def bare(stub, x):
    reply = stub.Transpose(pb.TransposeRequest(
        input=pb.Tensor(data_type="DATA_TYPE_F32", shape=x.shape,
                        data=x.tobytes()),
        op=pb.Transpose(order=ORDER)), timeout=60)
    return np.frombuffer(reply.output.data, "<f4").reshape(reply.output.shape)


def copied(act) -> float:
    """The bytes that `act` copies in this process; NaN if nobody counts."""
    path = os.environ.get("AXIS_COPY_COUNTER")
    if not path:
        return math.nan
    act()
    before = np.fromfile(path, np.uint64)[0]
    act()
    return float(np.fromfile(path, np.uint64)[0] - before)


def compare(client, stub, size: int, calls: int) -> None:
    x = np.arange(size // 4, dtype="<f4").reshape(-1, 16)
    both = {"bare": lambda: bare(stub, x),
            "axisd": lambda: client.transpose(x, ORDER)}
    times: dict = {name: [] for name in both}
    for k in range(calls + 3):
        for name, act in both.items():
            begin = time.perf_counter()
            act()
            if k >= 3:
                times[name].append(time.perf_counter() - begin)
    median = {n: statistics.median(t) for n, t in times.items()}
    copies = {n: copied(act) / size for n, act in both.items()}
    print(f"{size:>9} bytes: bare {median['bare'] * 1e6:9.0f} us, axisd "
          f"{median['axisd'] * 1e6:9.0f} us, throughput "
          f"{median['bare'] / median['axisd']:.2f} of bare; copies "
          f"{copies['bare']:.1f} and {copies['axisd']:.1f}", flush=True)


async def together(address: str, size: int, flights: int, calls: int) -> None:
    x = np.arange(size // 4, dtype="<f4").reshape(-1, 16)
    most = now = 0

    async with axisd.connect_async(address) as client:
        async def flight():
            nonlocal most, now
            for _ in range(calls):
                now += 1
                most = max(most, now)
                y = await client.transpose(x, ORDER)
                now -= 1
            assert np.array_equal(y, x.T)

        begin = time.perf_counter()
        await asyncio.gather(*(flight() for _ in range(flights)))
        took = time.perf_counter() - begin
    print(f"async: {most} calls of {size} bytes in flight, "
          f"{flights * calls / took:.0f} calls/s")


def main() -> None:
    address = sys.argv[1]
    with axisd.connect(address) as client, channel(address) as connection:
        stub = stubs.TensorServiceStub(connection)
        print(f"Python {sys.version.split()[0]}, grpcio {grpc.__version__}")
        compare(client, stub, 1024, 2000)
        compare(client, stub, 16 << 20, 30)
    asyncio.run(together(address, 1024, 64, 50))


if __name__ == "__main__":
    main()

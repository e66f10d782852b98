#!/usr/bin/python3
"""Does the Python client send again what a server turned away, and no more?

Usage: retries.py
"""

import asyncio
from concurrent import futures

import package  # noqa: F401  makes `import axisd` work
import axisd
import grpc
import numpy as np
from axisd import wire
from harness import Checks

AWAY = (grpc.StatusCode.UNAVAILABLE, "going away")
GONE = (grpc.StatusCode.CANCELLED, "gone")


class Fake(grpc.GenericRpcHandler):
    """A server that turns the first calls away as `refusals` says, and echoes
    the rest; with `late`, after it has begun to answer."""

    def __init__(self):
        self.calls, self.refusals, self.late = 0, [], False

    def service(self, details):
        if details.method.endswith("/StreamPipeline"):
            return grpc.stream_stream_rpc_method_handler(self._stream)
        if details.method.endswith("/Transpose"):
            return grpc.unary_unary_rpc_method_handler(
                lambda request, context: self._turn_away(context) or request)
        return None  # health is not implemented: then a server is ready

    def _turn_away(self, context) -> None:
        self.calls += 1
        if self.refusals:
            context.abort(*self.refusals.pop(0))

    def _stream(self, requests, context):
        first = next(requests)
        if self.late:
            yield first
        self._turn_away(context)
        yield first
        yield from requests


def outcome(act):
    try:
        return act()
    except axisd.Error as error:
        return error.code


def check_stream(check: Checks, name: str, fake: Fake, transpose) -> None:
    """`transpose` sends a stream of 301 messages that goes and comes back."""
    for k in range(20):
        fake.calls, fake.refusals = 0, [AWAY]
        found = outcome(transpose)
        if not check(f"{name} {k} goes again, whole",
                     isinstance(found, np.ndarray) and found.size == 300 and
                     fake.calls == 2, found):
            return
    fake.calls, fake.refusals = 0, [AWAY, GONE, AWAY, GONE, AWAY]
    check(f"{name}: four times at most", outcome(transpose) == "CANCELLED" and
          fake.calls == 4, fake.calls)
    fake.calls, fake.refusals = 0, [(grpc.StatusCode.INTERNAL, "broken")]
    check(f"{name}: not what is broken", outcome(transpose) == "INTERNAL" and
          fake.calls == 1, fake.calls)
    fake.calls, fake.refusals, fake.late = 0, [AWAY], True
    check(f"{name}: not once it is answered",
          outcome(transpose) == "UNAVAILABLE" and fake.calls == 1, fake.calls)
    fake.late = False


def main() -> None:
    check = Checks()
    wire.PIECE_BYTES = 1  # many messages
    fake = Fake()
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers([fake])
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    x = np.arange(300, dtype="u1")
    with axisd.connect(address, stream_above=10, timeout=20) as client:
        check_stream(check, "a stream", fake, lambda: client.transpose(x))
        fake.calls, fake.refusals = 0, [AWAY, GONE]
        found = outcome(lambda: client.transpose(x[:5]))
        check("a call goes again", isinstance(found, np.ndarray) and
              np.array_equal(found, x[:5]) and fake.calls == 3, found)

    async def run():
        async with axisd.connect_async(address, stream_above=10,
                                       timeout=20) as client:
            return await client.transpose(x)
    check_stream(check, "an async stream", fake, lambda: asyncio.run(run()))
    server.stop(None)
    check.finish("retries of the Python client")


if __name__ == "__main__":
    main()

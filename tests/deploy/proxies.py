#!/usr/bin/python3
"""Two attacks, headers over many CONTINUATION frames and streams that are opened
and reset: what they cost axisd as it is, and behind the proxies of deploy/proxy,
where who attacks shares connections to axisd with everybody.

Usage: proxies.py AXISD

A proxy that is not installed is skipped, loudly.
"""

import os
import pathlib
import socket
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import http2
from harness import (MIB, Axisd, Checks, channel, health_pb2, health_pb2_grpc,
                     outcome, pb, stubs)
from scale import balanced

HEADER_BYTES = 4 * MIB
PART_BYTES = 1024  # in a frame: the more frames, the worse
RESET_SECONDS = 2.0
FLAGS = ("--max_message_bytes=4MiB", "--max_inflight_bytes=64MiB",
         "--max_idle_bytes=16MiB")
BOUND = 64 * MIB + 2 * (64 + 4) * MIB + 16 * MIB  # by README.md, of no connection
CONTINUATION = 9
CALL = b"".join(http2.literal(k, v) for k, v in (
    (":method", "POST"), (":scheme", "http"),
    (":path", "/axis.v1.TensorService/Transpose"), (":authority", "axisd"),
    ("te", "trailers"), ("content-type", "application/grpc")))


def connect(port: int) -> socket.socket:
    link = socket.create_connection(("127.0.0.1", port), 10)
    link.sendall(http2.PREFACE)
    return link


def send_headers(port: int) -> float:
    """One header of many MiB, a frame at a time; gives the bytes it sent."""
    sent = 0
    with connect(port) as link:
        # A literal whose value is said to be as long: 127 + n in 7-bit digits.
        n, digits = HEADER_BYTES - 127, []
        while n >= 128:
            digits.append(n % 128 + 128)
            n //= 128
        block = CALL + b"\0\5x-bad\x7f" + bytes([*digits, n])
        link.sendall(http2.frame(http2.HEADERS, 0, 1, block))
        try:
            while sent < HEADER_BYTES:
                link.sendall(http2.frame(CONTINUATION, 0, 1, b"a" * PART_BYTES))
                sent += PART_BYTES
        except OSError:
            pass  # they have seen enough
    return sent


def reset_streams(port: int) -> float:
    """Opens and resets streams; gives how many."""
    stream, end = 1, time.monotonic() + RESET_SECONDS
    message = http2.message(0)
    while time.monotonic() < end:
        try:
            with connect(port) as link:
                link.settimeout(0.2)
                while time.monotonic() < end:
                    burst = b""
                    for _ in range(50):
                        burst += (
                            http2.frame(http2.HEADERS, http2.END_HEADERS,
                                        stream, CALL) +
                            http2.frame(http2.DATA, http2.END_STREAM, stream,
                                        message) +
                            http2.frame(http2.RST_STREAM, 0, stream,
                                        b"\0\0\0\x08"))
                        stream += 2
                    link.sendall(burst)
        except OSError:
            stream |= 1  # a new connection, from where we were
    return stream // 2


def cpu(server: Axisd) -> float:
    """Seconds of CPU so far."""
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text()
    user, system = fields.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def is_well(server: Axisd) -> float:
    """The seconds until a newcomer learns that all is well, or infinity. What
    nginx still has open may be all that it may be, and a newcomer turned away."""
    start = time.monotonic()
    request = pb.TransposeRequest(input=pb.Tensor(
        data_type="DATA_TYPE_U8", shape=[2, 2], data=b"abcd"))
    request.op.SetInParent()
    while time.monotonic() < start + 20:
        with channel(server.address) as link:
            health = outcome(health_pb2_grpc.HealthStub(link).Check,
                             health_pb2.HealthCheckRequest(), timeout=20)
            answer = outcome(stubs.TensorServiceStub(link).Transpose, request,
                             timeout=20)
        if (getattr(health, "status", 0) == 1 and
                getattr(answer, "output", pb.Tensor()).data == b"acbd"):
            return time.monotonic() - start
    return float("inf")


def attack(check: Checks, server: Axisd, way: str, port: int) -> None:
    for name, how in (("headers", send_headers), ("resets", reset_streams)):
        before = cpu(server)
        done = how(port)
        seconds = is_well(server)
        time.sleep(0.3)
        cost = cpu(server) - before
        peak = server.memory("VmHWM")
        what = (f"{done / MIB:.1f} MiB of headers" if name == "headers" else
                f"{done} streams reset")
        print(f"{way}, {what}: {cost:.2f} s of CPU, "
              f"peak {peak / MIB:.0f} MiB, a newcomer is answered in "
              f"{seconds * 1e3:.0f} ms", flush=True)
        check(f"{way}, {name}: axisd is well", seconds < 20, seconds)
        check(f"{way}, {name}: memory is bounded", peak < BOUND, peak)


def main() -> None:
    check = Checks()
    with Axisd(sys.argv[1], *FLAGS) as server:
        attack(check, server, "no proxy", server.port)
    for way in ("nginx", "haproxy"):
        with (Axisd(sys.argv[1], *FLAGS) as server,
              balanced(way, [server.port] * 3) as target):
            if target is None:
                continue
            attack(check, server, way, int(target.rpartition(":")[2]))
    check.finish("floods through proxies")


if __name__ == "__main__":
    main()

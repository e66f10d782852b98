#!/usr/bin/python3
"""The attacks of messages.py and floods.py, and what honest clients do meanwhile, in a memory
limit of 256 MiB that the kernel keeps: axisd must live.

Usage: small.py AXISD

Skipped, loudly, where this process may not make a cgroup.
"""

import contextlib
import socket
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import http2
from floods import FLOODS
from messages import (STREAM, TRANSPOSE, bomb, check_corrupt_compression,
                      check_noise, check_slow_scrapers, is_well)
from cgroup import NoCgroup, cgroup
from harness import MIB, SKIP, Axisd, Checks, Refusal, outcome, pb

LIMIT = 256 * MIB
# 64 MiB + 2 x (32 + 8) MiB + 16 MiB + 256 x 256 KiB = 224 MiB, by README.md.
FLAGS = ("--max_message_bytes=8MiB", "--max_inflight_bytes=32MiB",
         "--max_idle_bytes=16MiB", "--max_connections=256")


def half_sent(server: Axisd, count: int) -> None:
    """Streams that send all of 64 MiB but the last byte, each on its own."""
    def send() -> None:
        with contextlib.suppress(OSError):
            with http2.Call(server.port, TRANSPOSE) as call:
                call.socket.settimeout(3)
                call.send([http2.message(64 * MIB)] + [bytes(MIB)] * 63 +
                          [bytes(MIB - 1)])

    threads = [threading.Thread(target=send) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def flooded(server: Axisd) -> None:
    """Every flood, from ten connections at once."""
    def send(data: bytes) -> None:
        with contextlib.suppress(OSError):
            with socket.create_connection(("127.0.0.1", server.port)) as link:
                link.settimeout(3)
                link.sendall(data)

    for flood in FLOODS:
        data = http2.PREFACE + b"".join(map(flood.frames, range(20_000)))
        threads = [threading.Thread(target=send, args=(data,))
                   for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def honest(server: Axisd, stop: threading.Event, found: list) -> None:
    """Small calls throughout: answered rightly, or refused with a reason."""
    request = pb.TransposeRequest(
        input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[256, 256],
                        data=bytes(65536)), op=pb.Transpose())
    while not stop.wait(0.02):
        answer = outcome(server.stub.Transpose, request, timeout=20)
        found.append(answer.code if isinstance(answer, Refusal) else
                     "OK" if answer.output.data == bytes(65536) else "WRONG")


def attack(check: Checks, axisd: str) -> None:
    with cgroup(LIMIT) as limited:
        with Axisd(axisd, *FLAGS, preexec_fn=limited.join) as server:
            stop, found = threading.Event(), []
            caller = threading.Thread(target=honest, args=(server, stop, found))
            caller.start()
            packed = bomb(512 * MIB)
            for path in (TRANSPOSE, STREAM):
                with http2.Call(server.port, path,
                                grpc_encoding="gzip") as call:
                    call.send([http2.message(len(packed), compressed=True) +
                               packed])
                    call.wait()
            check("bombs leave it well", is_well(server))
            half_sent(server, 16)
            check("messages of which the end never comes leave it well",
                  is_well(server))
            flooded(server)
            check("floods of frames leave it well", is_well(server))
            check_noise(check, server)
            check_corrupt_compression(check, server)
            check_slow_scrapers(check, server)
            stop.set()
            caller.join()
            check("it is well at the end", is_well(server))
            most = limited.peak()
            print(f"peak {most / MIB:.0f} MiB of {LIMIT >> 20}; honest calls: "
                  f"{ {code: found.count(code) for code in set(found)} }")
            check("no honest call is answered wrongly", "WRONG" not in found)
            check("most are answered", found.count("OK") > len(found) * 0.8,
                  len(found))
            check("the limit was not reached", most < LIMIT, most)


def main() -> None:
    check = Checks()
    try:
        attack(check, sys.argv[1])
    except NoCgroup as why:
        print(f"SKIPPED: {why}")
        sys.exit(SKIP)
    check.finish("attacks in 256 MiB")


if __name__ == "__main__":
    main()

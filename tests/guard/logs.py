#!/usr/bin/python3
"""Whatever becomes of its log, axisd serves on: a full disk, a closed standard
error, a pipe that nobody reads, one that is read slowly. And what gRPC has to say
is part of it, not more than a line a second.

Usage: logs.py AXISD
"""

import json
import os
import pathlib
import socket
import ssl
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from certificates import Authority
from harness import Axisd, Checks, pb
from tls import serving

REQUEST = pb.TransposeRequest(
    input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[2, 3], data=b"abcdef"),
    op=pb.Transpose())
CALLS = 6000  # of about 400 bytes of log each: more than is kept waiting
FLAGS = ("--access_log=true", "--log_format=json")
STRANGERS = 600  # gRPC would write 170 bytes for each: more than a pipe takes
DROPPED = "axisd_log_dropped_total"


def slowest(server: Axisd, count: int) -> float:
    """Makes calls; the seconds that the slowest hundredth took at least."""
    took = []
    for _ in range(count):
        start = time.monotonic()
        assert server.stub.Transpose(REQUEST,
                                     timeout=20).output.data == b"adbecf"
        took.append(time.monotonic() - start)
    return sorted(took)[-count // 100]


def check_case(check: Checks, axisd: str, claim: str, drops: bool,
               **how) -> None:
    with Axisd(axisd, *FLAGS, **how) as server:
        seconds = slowest(server, CALLS)
        dropped = server.metrics()[DROPPED]
        memory = server.memory()
        print(f"{claim}: p99 of {CALLS} calls {seconds * 1e3:.1f} ms, "
              f"{dropped:.0f} lines dropped")
        check(f"{claim}: no call waits", seconds < 0.1, seconds)
        check(f"{claim}: drops are counted", (dropped > 0) == drops, dropped)
        check(f"{claim}: what waits is bounded", memory < 128 << 20, memory)
        start = time.monotonic()
    took = time.monotonic() - start
    check(f"{claim}: it ends in time", took < 8, took)


def check_nobody_reads(check: Checks, axisd: str) -> None:
    read, write = os.pipe()
    try:
        check_case(check, axisd, "a pipe that nobody reads", True,
                   stderr=write)
    finally:
        os.close(read)
        os.close(write)


def check_slow_reader(check: Checks, axisd: str) -> None:
    read, write = os.pipe()
    text, stop = [], threading.Event()

    def reader() -> None:
        while part := os.read(read, 4096):
            text.append(part)
            if not stop.is_set():
                time.sleep(0.01)

    thread = threading.Thread(target=reader)
    thread.start()
    with Axisd(axisd, *FLAGS, stderr=write) as server:
        seconds = slowest(server, 1000)
        check("a slow reader: no call waits", seconds < 0.1, seconds)
        stop.set()
        deadline = time.monotonic() + 10
        while (b"".join(text).count(b'"event":"call"') < 1000 and
               time.monotonic() < deadline):
            time.sleep(0.05)
    os.close(write)
    thread.join()
    os.close(read)
    whole = b"".join(text).decode().splitlines()
    calls = [e for e in map(json.loads, whole) if e["event"] == "call"]
    check("a slow reader gets every line, whole", len(calls) == 1000,
          len(calls))
    check("the last line too", json.loads(whole[-1])["event"] == "bye",
          whole[-1])


def answers(port: int) -> bool:
    """Whether it says something to bytes that are not TLS, or hangs up."""
    with socket.create_connection(("127.0.0.1", port), 10) as link:
        link.sendall(b"GET / HTTP/1.1\r\n\r\n" * 4)
        try:
            link.recv(1)
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        return True


def check_strangers(check: Checks, axisd: str, folder: pathlib.Path) -> None:
    authority = Authority(folder, "authority")
    read, write = os.pipe()
    with serving(axisd, folder, authority, *FLAGS, stderr=write) as (server, _):
        start = time.monotonic()
        check("who does not speak TLS is sent away",
              all(answers(server.port) for _ in range(STRANGERS)))
        context = ssl.create_default_context(cafile=authority.certificate)
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", server.port), 10) as link:
            with context.wrap_socket(link, server_hostname="127.0.0.1") as tls:
                check("who does is served after them", len(tls.recv(9)) > 0)
        seconds = time.monotonic() - start
    os.close(write)
    with open(read) as log:
        events = [json.loads(line) for line in log]
    told = [e for e in events if e["event"] == "grpc"]
    print(f"{STRANGERS} strangers in {seconds:.1f} s: {len(told)} lines")
    check("gRPC's complaints are lines of the log, one a second at most",
          1 <= len(told) <= seconds + 2, told)
    check("they say what, where and how often", all(
        "Handshake failed" in e["message"] and ".cc:" in e["at"] and
        e["times"] >= 1 for e in told), told)


def main() -> None:
    check, axisd = Checks(), sys.argv[1]
    with open("/dev/full", "w") as full:
        check_case(check, axisd, "a full disk", True, stderr=full)
    # All three, or a socket would be given the number of the log.
    check_case(check, axisd, "closed standard streams", True, stdin=None,
               stdout=None, stderr=None,
               preexec_fn=lambda: os.closerange(0, 3))
    gone, write = os.pipe()
    os.close(gone)
    check_case(check, axisd, "a reader that went", True, stderr=write)
    os.close(write)
    check_nobody_reads(check, axisd)
    check_slow_reader(check, axisd)
    with tempfile.TemporaryDirectory() as folder:
        check_strangers(check, axisd, pathlib.Path(folder))
    check.finish("logs")


if __name__ == "__main__":
    main()

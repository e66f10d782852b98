#!/usr/bin/python3
"""Floods of HTTP/2 frames, with TLS and without: each is cut off, in bounded
memory, while others are served; and honest clients are never taken for one.

Usage: floods.py AXISD
"""

import collections
import contextlib
import pathlib
import socket
import ssl
import sys
import tempfile
import threading
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "guard")]

import http2
from certificates import Authority
from harness import MIB, Axisd, Checks, channel, outcome, pb, stubs
from tls import secure, serving, until

STREAMS = 1000            # that a client is told it may have open
STREAM_BYTES = 38 << 10   # what gRPC keeps for one at most, by SECURITY.md
CONNECTION_BYTES = 128 << 10
FLAGS = ("--max_connections=64", "--max_inflight_bytes=64MiB",
         "--max_message_bytes=16MiB", "--max_idle_bytes=0")
HUNG_UP = 'axisd_rejected_total{reason="streams"}'
CONTINUATION = 9
REQUEST = pb.TransposeRequest(
    input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[2, 2], data=b"abcd"),
    op=pb.Transpose())


def opening(stream: int, path: str, flags: int = 0) -> bytes:
    block = b"".join(http2.literal(k, v) for k, v in (
        (":method", "POST"), (":scheme", "http"), (":path", path),
        (":authority", "axisd"), ("te", "trailers"),
        ("content-type", "application/grpc")))
    return http2.frame(http2.HEADERS, http2.END_HEADERS | flags, stream, block)


def call(i: int) -> bytes:
    return opening(2 * i + 1, "/axis.v1.TensorService/Transpose")


def reset(i: int) -> bytes:
    return call(i) + http2.frame(http2.RST_STREAM, 0, 2 * i + 1, b"\0\0\0\x08")


def watch(i: int) -> bytes:
    return (opening(2 * i + 1, "/grpc.health.v1.Health/Watch") +
            http2.frame(http2.DATA, http2.END_STREAM, 2 * i + 1,
                        http2.message(0)))


def unread(i: int) -> bytes:
    return opening(2 * i + 1, "/nobody/knows", http2.END_STREAM)


def ping(_: int) -> bytes:
    return http2.frame(http2.PING, 0, 0, b"are you?")


def settings(_: int) -> bytes:
    return http2.frame(http2.SETTINGS, 0, 0, b"")


def header(i: int) -> bytes:
    """Of one call, the headers never end."""
    if i == 0:
        return http2.frame(http2.HEADERS, 0, 1, http2.literal("a", "b"))
    return http2.frame(CONTINUATION, 0, 1, http2.literal("a", "b" * 100) * 9)


class Flood(typing.NamedTuple):
    what: str
    frames: typing.Callable[[int], bytes]
    count: int
    by_us: bool = True  # cut off by us, not by gRPC where that is first


FLOODS = (
    Flood("calls without a message", call, 40_000),
    Flood("streams that are reset", reset, 100_000),
    Flood("watches of health", watch, 40_000),
    Flood("answers that are not read", unread, 40_000),
    Flood("pings", ping, 400_000, by_us=False),
    Flood("settings", settings, 400_000, by_us=False),
    Flood("headers that do not end", header, 8_000),
)


class Target(typing.NamedTuple):
    """An axisd, how to connect to it, and a channel to it."""

    server: Axisd
    connect: typing.Callable[[], socket.socket]
    channel: typing.Callable

    def hung_up(self, least: float = 0) -> float:
        """How often it has hung up, once that is so often: it tells of it every
        second."""
        until(lambda: self.server.metrics()[HUNG_UP] >= least, 3)
        return self.server.metrics()[HUNG_UP]

    def forget_peak(self) -> int:
        """From now on VmHWM is of what comes; gives what there is, in bytes."""
        process = self.server.process.pid
        pathlib.Path(f"/proc/{process}/clear_refs").write_text("5")
        return self.server.memory()


def is_hung_up(link: socket.socket, seconds: float = 10) -> bool:
    """Whether the other side closes within that time; reads what it says."""
    link.settimeout(seconds)
    try:
        while link.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except (ConnectionError, ssl.SSLError):
        pass
    return True


class Honest:
    """A client that calls all the time; what became of its calls, and how long
    the longest took."""

    def __init__(self, target: Target):
        self.target, self.codes, self.longest = target, collections.Counter(), 0.0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        with self.target.channel() as link:
            stub = stubs.TensorServiceStub(link)
            while not self.stopped.wait(0.005):
                start = time.monotonic()
                answer = outcome(stub.Transpose, REQUEST, timeout=20)
                self.codes[getattr(answer, "code", "OK")] += 1
                self.longest = max(self.longest, time.monotonic() - start)

    def __enter__(self) -> "Honest":
        self.thread.start()
        time.sleep(0.3)
        return self

    def __exit__(self, *_) -> None:
        self.stopped.set()
        self.thread.join()


def check_flood(check: Checks, target: Target, way: str, flood: Flood) -> None:
    data = b"".join(map(flood.frames, range(flood.count)))
    before, hung_up = target.forget_peak(), target.hung_up()
    with Honest(target) as honest, target.connect() as link:
        with contextlib.suppress(OSError):
            link.sendall(http2.PREFACE + data)
        ended = is_hung_up(link)
        time.sleep(0.3)
    grown = target.server.memory("VmHWM") - before
    print(f"{way}, {flood.count} {flood.what}: +{grown / MIB:.0f} MiB, an honest "
          f"call took {honest.longest * 1e3:.0f} ms at most", flush=True)
    what = f"{way}, {flood.what}"
    check(f"{what}: it is cut off", ended)
    # Awaited of every flood: told later, it would count as the next one's.
    counted = target.hung_up(hung_up + 1) - hung_up
    check(f"{what}: and counted", counted == 1 or counted == flood.by_us, counted)
    # Twice as many as it was told.
    check(f"{what}: in bounded memory",
          grown < 2 * STREAMS * STREAM_BYTES + CONNECTION_BYTES, grown)
    check(f"{what}: honest calls are served", set(honest.codes) == {"OK"},
          honest.codes)
    check(f"{what}: within a second", honest.longest < 1, honest.longest)


def check_many(check: Checks, target: Target, way: str) -> None:
    """Connections, each of which asks for no more than it may alone."""
    before, hung_up = target.forget_peak(), target.hung_up()
    asked = 40
    with contextlib.ExitStack() as stack, Honest(target) as honest:
        for _ in range(asked):
            link = stack.enter_context(target.connect())
            with contextlib.suppress(OSError):
                link.sendall(http2.PREFACE +
                             b"".join(map(call, range(STREAMS))))
        time.sleep(1)
        grown = target.server.memory("VmHWM") - before
    least = asked - 1  # all together may have what one may
    cut = target.hung_up(hung_up + least) - hung_up
    print(f"{way}, {asked} x {STREAMS} calls: {cut:.0f} cut off, "
          f"+{grown / MIB:.0f} MiB", flush=True)
    what = f"{way}, {asked} connections at once"
    check(f"{what}: who asks for more than its part is cut off",
          cut >= least, cut)
    check(f"{what}: memory is bounded",
          grown < 2 * STREAMS * STREAM_BYTES + asked * CONNECTION_BYTES,
          grown)
    check(f"{what}: who asks for little is served",
          set(honest.codes) == {"OK"}, honest.codes)


def check_honest(check: Checks, target: Target, way: str) -> None:
    """More calls at a time than may be open, and many that are given up."""
    before = target.hung_up()
    with target.channel() as link:
        stub = stubs.TensorServiceStub(link)
        calls = [stub.Transpose.future(REQUEST, timeout=30)
                 for _ in range(4 * STREAMS)]
        good = sum(each.exception() is None and
                   each.result().output.data == b"acbd" for each in calls)
        check(f"{way}: thousands of calls at once are served",
              good == len(calls), good)
        for _ in range(2):
            given_up = [stub.Transpose.future(REQUEST, timeout=30)
                        for _ in range(STREAMS)]
            for each in given_up:
                each.cancel()
        answer = outcome(stub.Transpose, REQUEST)
        check(f"{way}: so is who gives up thousands",
              getattr(answer, "output", pb.Tensor()).data == b"acbd", answer)
    check(f"{way}: neither is hung up on", target.hung_up() == before)


def check_all(check: Checks, target: Target, way: str) -> None:
    check_honest(check, target, way)
    for flood in FLOODS:
        check_flood(check, target, way, flood)
    check_many(check, target, way)
    log = target.server.output()
    check(f"{way}: the log tells of it", "connections hung up" in log, log)
    # What was counted is forgotten with those who asked for it, once gRPC has
    # done with them.
    time.sleep(2)
    check_honest(check, target, f"{way}, afterwards")


def main() -> None:
    check, axisd = Checks(), sys.argv[1]
    with Axisd(axisd, *FLAGS) as server:
        check_all(check, Target(
            server,
            lambda: socket.create_connection(("127.0.0.1", server.port), 10),
            lambda: channel(server.address)), "plaintext")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        authority = Authority(folder, "authority")
        context = ssl.create_default_context(cafile=authority.certificate)
        context.set_alpn_protocols(["h2"])
        with serving(axisd, folder, authority, *FLAGS) as (server, _):
            check_all(check, Target(
                server,
                lambda: context.wrap_socket(
                    socket.create_connection(("127.0.0.1", server.port), 10),
                    server_hostname="127.0.0.1"),
                lambda: secure(server.address, authority.certificate)), "TLS")
    check.finish("floods of frames")


if __name__ == "__main__":
    main()

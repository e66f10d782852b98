#!/usr/bin/python3
"""Connections: those of clients that vanished end, those of others stay.

Usage: keepalive.py AXISD
"""

import ctypes
import errno
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import MIB, Axisd, Checks, pb  # noqa: E402
from http2 import (ACK, DATA, END_STREAM, GOAWAY, PING,  # noqa: E402
                   SETTINGS, WINDOW_UPDATE, Call, frame, message)

TRANSPOSE = "/axis.v1.TensorService/Transpose"
SYS_PIDFD_GETFD = 438  # of Linux, on every architecture
PINGS = 4            # gRPC closes at the third that it finds too early
PING_SECONDS = 5.2   # the server allows one every 5 s
REQUEST = pb.TransposeRequest(
    input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[MIB // 2],
                    data=bytes(MIB // 2)),
    op=pb.Transpose()).SerializeToString()


def seconds_until_closed(call: Call, patience: float) -> float:
    """Reads and never answers, as a network that has lost the client would."""
    start = time.monotonic()
    call.socket.settimeout(patience)
    try:
        while call.socket.recv(65536):
            pass
    except ConnectionError:
        pass
    except socket.timeout:
        return float("inf")
    return time.monotonic() - start


def check_vanished(check: Checks, axisd: str) -> None:
    with Axisd(axisd, "--keepalive=1s") as server:
        with Call(server.port, TRANSPOSE) as call:
            # The client goes away in the middle of a message of 1 MiB.
            call.socket.sendall(frame(0, 0, 1, message(1 << 20) + b"x" * 100))
            seconds = seconds_until_closed(call, 15)
    print(f"a client that vanished is let go after {seconds:.1f} s")
    check("--keepalive=1s ends it within 10 s", seconds < 10, seconds)


def check_careful(check: Checks, axisd: str) -> None:
    """A client that asks every few seconds, without a call, may do so."""
    with Axisd(axisd) as server, Call(server.port, TRANSPOSE) as call:
        answers, goaways = 0, 0
        for _ in range(PINGS):
            time.sleep(PING_SECONDS)
            call.socket.sendall(frame(PING, 0, 0, b"12345678"))
            for _ in range(20):
                try:
                    head = call.read(9)
                    call.read(int.from_bytes(head[:3], "big"))
                except ConnectionError:
                    break
                goaways += head[3] == GOAWAY
                if head[3] == PING and head[4] & ACK:
                    answers += 1
                    break
        check("every ping is answered", answers == PINGS, answers)
        check("no GOAWAY", goaways == 0, goaways)


class NotAllowed(Exception):
    """Containers without CAP_SYS_PTRACE do not show us another's sockets."""


def socket_of(server: Axisd, is_wanted) -> socket.socket:
    """A connection of the server, as one of our own sockets."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(server.process.pid)
    for entry in os.listdir(f"/proc/{server.process.pid}/fd"):
        ours = libc.syscall(SYS_PIDFD_GETFD, process, int(entry), 0)
        if ours < 0:
            if ctypes.get_errno() == errno.EBADF:
                continue  # closed meanwhile
            raise NotAllowed(os.strerror(ctypes.get_errno()))
        try:
            link = socket.socket(fileno=ours)
            link.getpeername()
            if is_wanted(link):
                return link
        except OSError:
            pass  # it is no connection
    raise LookupError("no such connection")


def held(server: Axisd, calls: int) -> float:
    """How many calls `server` holds: `calls`, if they come to that in 10 s."""
    for _ in range(100):
        now = server.metrics()["axisd_inflight_requests"]
        if now == calls:
            break
        time.sleep(0.1)
    return now


def check_reset(check: Checks, axisd: str) -> None:
    """A reset that is read together with the bytes before it ends the call,
    whose answer the client has made no room for.

    Here gRPC most often notices by itself. Where it does not, it is told by
    recvmsg(), as sockets_test shows; so that has to be ours.
    """
    symbols = subprocess.run(["readelf", "-W", "--dyn-syms", axisd],
                             check=True, capture_output=True, text=True).stdout
    ours = [line.split()[7] for line in symbols.splitlines()
            if " FUNC " in line and " UND " not in line]
    check("gRPC reads through us", "recvmsg" in ours)
    with Axisd(axisd) as server, Call(server.port, TRANSPOSE) as call:
        call.send([message(len(REQUEST)) + REQUEST])
        check("an answer waits for its client", held(server, 1) == 1)
        server.process.send_signal(signal.SIGSTOP)
        call.socket.sendall(frame(PING, ACK, 0, b"12345678"))
        call.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               struct.pack("ii", 1, 0))
        call.socket.close()
        server.process.send_signal(signal.SIGCONT)
        check("and goes with its reset", held(server, 0) == 0)


def check_unix(check: Checks, axisd: str) -> None:
    """Unix sockets have room for a large answer, as far as Linux lets them."""
    most = int(Path("/proc/sys/net/core/wmem_max").read_text())
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/axisd.sock"
        with (Axisd(axisd, f"--listen=unix:{path}") as server,
              socket.socket(socket.AF_UNIX) as link):
            link.connect(path)
            link.recv(1)  # it is accepted
            room = socket_of(
                server, lambda link: link.family == socket.AF_UNIX
            ).getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    # Linux says twice what was asked for.
    check("1 MiB for answers", room == 2 * min(MIB, most), room)


def take(call: Call) -> tuple[int, int, bytes]:
    """A frame as it is: kind, flags, payload."""
    head = call.read(9)
    return head[3], head[4], call.read(int.from_bytes(head[:3], "big"))


def check_slow_reader(check: Checks, axisd: str) -> None:
    """Of a connection that ends of old age a last answer still arrives.

    The client makes room for more of it, as all do, when the server has closed.
    """
    room = frame(WINDOW_UPDATE, 0, 0, (64 * MIB).to_bytes(4, "big"))
    with Axisd(axisd, "--max_connection_age=1s") as server:
        with Call(server.port, TRANSPOSE) as call:
            call.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            call.socket.sendall(room + frame(
                SETTINGS, 0, 0, b"\0\4" + (64 * MIB).to_bytes(4, "big")))
            call.room = {0: MIB, 1: MIB}  # what axisd grants to begin with
            ping = None
            while ping is None:  # with it comes the GOAWAY
                kind, flags, payload = take(call)
                if kind == SETTINGS and not flags & ACK:
                    call.socket.sendall(frame(SETTINGS, ACK, 0, b""))
                if kind == PING and not flags & ACK:
                    ping = payload
            call.send([message(len(REQUEST)) + REQUEST])
            call.socket.sendall(frame(PING, ACK, 0, ping))
            time.sleep(0.5)
            call.socket.sendall(room)
            time.sleep(0.1)
            got, ended = 0, False
            try:
                while not ended:
                    kind, flags, payload = take(call)
                    got += len(payload) if kind == DATA else 0
                    ended = bool(flags & END_STREAM) and kind != PING
            except ConnectionError as error:
                print(f"after {got} bytes: {error}")
            check("an answer on its way arrives, whole", ended and
                  got > MIB // 2, got)


def main() -> None:
    check = Checks()
    try:
        check_unix(check, sys.argv[1])
    except NotAllowed as why:
        print(f"SKIPPED check_unix: pidfd_getfd: {why}")
    check_reset(check, sys.argv[1])
    check_slow_reader(check, sys.argv[1])
    check_vanished(check, sys.argv[1])
    check_careful(check, sys.argv[1])
    check.finish("keepalive")


if __name__ == "__main__":
    main()

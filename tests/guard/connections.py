#!/usr/bin/python3
"""Connections are bounded, in number and in what each takes, whatever they are used
for; no address takes all places; and who says nothing does not keep one.

Usage: connections.py AXISD
"""

import pathlib
import socket
import ssl
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import http2
from certificates import Authority
from harness import Axisd, Checks, channel, outcome, pb, stubs
from tls import secure, serving, until

ALL = 225         # --max_connections
MOST = 200        # of them, one address may have
OTHERS = 4        # connections that are there before, of the test itself
EACH = 128 << 10  # bytes, as README.md has it
SILENCE = 20      # seconds until those who say nothing are hung up on
REFUSED = 'axisd_rejected_total{reason="connections"}'
FLAGS = (f"--max_connections={ALL}", "--max_inflight_bytes=16MiB",
         "--max_message_bytes=4MiB", "--max_idle_bytes=0")
REQUEST = pb.TransposeRequest(
    input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[2, 2], data=b"abcd"),
    op=pb.Transpose())
# The head of a TLS record of 16 KiB, and of a hello that fills it, and nearly all
# of that.
HALF_HELLO = b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc" + bytes(16000)


def is_open(link: socket.socket) -> bool:
    """Whether the other side has not hung up; reads what it said."""
    link.settimeout(0)
    try:
        while link.recv(1 << 14):
            pass
        return False
    except (BlockingIOError, ssl.SSLWantReadError):
        return True
    except OSError:
        return False


def connect(server: Axisd, say) -> list:
    """Twice as many connections as there may be, each of which did `say`: those
    that are still there."""
    links = []
    for _ in range(2 * MOST):
        link = socket.create_connection(("127.0.0.1", server.port), 10)
        try:
            links.append(say(link))
        except OSError:
            link.close()
    time.sleep(1)
    return [link for link in links if is_open(link)]


def is_served(stub) -> bool:
    answer = outcome(stub.Transpose, REQUEST, timeout=5)
    return getattr(answer, "output", None) is not None


def check_many(check: Checks, server: Axisd, what: str, stub, newcomer,
               say) -> list:
    """`stub` is of somebody who is connected; newcomer() connects."""
    check(f"{what}: calls are served before", is_served(stub))
    before = server.memory()
    links = connect(server, say)
    each = (server.memory() - before) / max(1, len(links))
    print(f"{what}: {len(links)} of {2 * MOST}, {each / 1024:.0f} KiB each")
    check(f"{what}: as many as may be",
          MOST - OTHERS <= len(links) <= MOST, len(links))
    check(f"{what}: each takes what was said at most", each < EACH, each)
    check(f"{what}: who was there before is served", is_served(stub))
    check(f"{what}: newcomers are not", not newcomer())
    other = say(socket.create_connection(("127.0.0.1", server.port), 10,
                                         source_address=("127.0.0.2", 0)))
    time.sleep(0.5)
    check(f"{what}: but those of another address are", is_open(other))
    other.close()
    told = until(lambda: server.metrics().get(REFUSED, 0) >= MOST, 5)
    check(f"{what}: whom it turns away is counted", told < 5, server.metrics())
    return links


def leave(check: Checks, what: str, links: list, newcomer) -> None:
    for link in links:
        link.close()
    check(f"{what}: newcomers are served when they have gone",
          until(newcomer, 10) < 10)


def check_plaintext(check: Checks, axisd: str) -> None:
    def preface(link: socket.socket) -> socket.socket:
        link.sendall(http2.PREFACE)
        return link

    with Axisd(axisd, *FLAGS) as server:
        def newcomer() -> bool:
            with channel(server.address) as link:
                return is_served(stubs.TensorServiceStub(link))

        what = "plaintext"
        leave(check, what, check_many(check, server, what, server.stub,
                                      newcomer, preface), newcomer)


def check_tls(check: Checks, axisd: str, folder: pathlib.Path) -> None:
    authority = Authority(folder, "authority")
    context = ssl.create_default_context(cafile=authority.certificate)
    context.set_alpn_protocols(["h2"])

    def half(link: socket.socket) -> socket.socket:
        link.sendall(HALF_HELLO)
        return link

    def whole(link: socket.socket) -> socket.socket:
        link = context.wrap_socket(link, server_hostname="127.0.0.1")
        link.sendall(http2.PREFACE)
        return link

    for what, say in ("TLS", whole), ("half a TLS handshake", half):
        with serving(axisd, folder, authority, *FLAGS) as (server, _), \
             secure(server.address, authority.certificate) as link:
            silent = [context.wrap_socket(
                          socket.create_connection(("127.0.0.1", server.port)),
                          server_hostname="127.0.0.1"),
                      socket.create_connection(
                          server.health_address.split(":"))]

            def newcomer() -> bool:
                with secure(server.address, authority.certificate) as fresh:
                    return is_served(stubs.TensorServiceStub(fresh))

            links = check_many(check, server, what,
                               stubs.TensorServiceStub(link), newcomer, say)
            if say == half:
                took = until(newcomer, 2 * SILENCE)
                print(f"newcomers were served after {took:.0f} s")
                check(f"{what} is waited for so long, and no longer",
                      SILENCE / 2 < took < SILENCE + 5, took)
                check("nor is silence, with TLS or where health is told",
                      not any(map(is_open, silent)))
            leave(check, what, links, newcomer)


def main() -> None:
    check, axisd = Checks(), sys.argv[1]
    check_plaintext(check, axisd)
    with tempfile.TemporaryDirectory() as folder:
        check_tls(check, axisd, pathlib.Path(folder))
    check.finish("connections")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""TLS: who gets in, what a rotation costs, and who may ask without it.

Usage: tls.py AXISD AXISCTL
"""

import contextlib
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import grpc
from certificates import Authority
from harness import (Axisd, Checks, Refusal, channel, free_port, health_pb2,
                     health_pb2_grpc, outcome, pb, stubs)

REQUEST = pb.TransposeRequest(
    input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[2, 2], data=b"abcd"),
    op=pb.Transpose())
GARBAGE = b"-----BEGIN CERTIFICATE-----\nbm9uc2Vuc2U=\n"
ROTATIONS = 3      # good pairs that follow each other, garbage between them
SEEN_WITHIN = 5.0  # seconds until every new handshake has the new pair


def secure(address: str, ca: pathlib.Path, pair: tuple = ()) -> grpc.Channel:
    certificate, key = (p.read_bytes() for p in pair) if pair else (None, None)
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(
        ca.read_bytes(), key, certificate))


def replace(target: pathlib.Path, content: bytes) -> None:
    """As a careful operator does: at once."""
    fresh = target.with_suffix(".new")
    fresh.write_bytes(content)
    os.replace(fresh, target)


class Handshakes:
    """Threads that connect without pause, and see whom they met."""

    def __init__(self, port: int, ca: pathlib.Path, pair: tuple):
        self.port = port
        self.context = ssl.create_default_context(cafile=ca)
        self.context.set_alpn_protocols(["h2"])
        if pair:
            self.context.load_cert_chain(*pair)
        self.met, self.failed = {}, []
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(3)]

    def once(self) -> str:
        with socket.create_connection(("127.0.0.1", self.port), 10) as link:
            with self.context.wrap_socket(
                    link, server_hostname="127.0.0.1") as tls:
                subject = dict(x[0] for x in tls.getpeercert()["subject"])
                # In TLS 1.3 a client is done before the server has looked at
                # it: what the server says next shows that it was let in.
                if not tls.recv(9):
                    raise ConnectionError("closed after the handshake")
                return subject["commonName"]

    def run(self) -> None:
        while not self.stopped.is_set():
            try:
                name = self.once()
                self.met[name] = self.met.get(name, 0) + 1
            except OSError as error:
                self.failed.append(repr(error))

    def __enter__(self) -> "Handshakes":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join()


def until(claim, seconds: float) -> float:
    """The seconds until `claim()` holds, or infinity."""
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        if claim():
            return time.monotonic() - start
        time.sleep(0.05)
    return float("inf")


@contextlib.contextmanager
def serving(axisd: str, folder: pathlib.Path, authority: Authority,
            *flags: str, **how):
    """A server with TLS, of which health is asked in plaintext; `how` as Axisd
    has it."""
    pair = authority.issue("first")
    live = folder / "tls.crt", folder / "tls.key"
    for target, source in zip(live, pair):
        replace(target, source.read_bytes())
    health = f"127.0.0.1:{free_port()}"
    server = Axisd(axisd, f"--tls_certificate={live[0]}",
                   f"--tls_key={live[1]}", f"--health_listen={health}", *flags,
                   **how)
    server.health = health_pb2_grpc.HealthStub(channel(health))
    server.health_address = health
    with server:
        yield server, live


def call(address: str, ca: pathlib.Path, pair: tuple = ()):
    with secure(address, ca, pair) as link:
        return outcome(stubs.TensorServiceStub(link).Transpose, REQUEST,
                       timeout=10)


def refused(answer) -> bool:
    return isinstance(answer, Refusal) and answer.code == "UNAVAILABLE"


def check_rotation(check: Checks, axisd: str, folder: pathlib.Path) -> None:
    authority = Authority(folder, "authority")
    client = authority.issue("client")
    with serving(axisd, folder, authority,
                 f"--tls_client_ca={authority.certificate}") as (server, live):
        with Handshakes(server.port, authority.certificate, client) as shakes:
            for i in range(ROTATIONS):
                replace(live[0], GARBAGE)
                seen = until(lambda: server.metrics()[
                    'axisd_reload_successful{files="certificate"}'] == 0,
                             SEEN_WITHIN)
                check("garbage is seen and told", seen < SEEN_WITHIN, seen)
                time.sleep(1.5)  # gRPC itself would take it within a second
                name = f"next{i}"
                # One file after the other, as a mount of a secret may look.
                fresh = authority.issue(name)
                replace(live[1], fresh[1].read_bytes())
                time.sleep(1.2)
                replace(live[0], fresh[0].read_bytes())
                seconds = until(lambda: name in shakes.met, SEEN_WITHIN)
                print(f"pair {i + 1} is shown after {seconds:.1f} s")
                check("a good pair is taken", seconds < SEEN_WITHIN, seconds)
        total = sum(shakes.met.values())
        print(f"{total} handshakes under {ROTATIONS} rotations with garbage "
              f"in between, {len(shakes.failed)} failed: {shakes.met}")
        check("0 handshakes failed", not shakes.failed, shakes.failed[:3])
        check("there were many", total > 200, total)
        said = server.output()
        # Once alone, and once more with the next key if that is seen first.
        times = said.count("--tls_certificate: must be")
        check("each garbage is logged, and not every second",
              ROTATIONS <= times <= 2 * ROTATIONS, times)
        check("no key is in the log", "PRIVATE" not in said)
        metrics = server.metrics()
        check("the gauge is back", metrics[
            'axisd_reload_successful{files="certificate"}'] == 1)
        days = (metrics["axisd_certificate_expiry_timestamp_seconds"] -
                time.time()) / 86400
        check("the expiry is told", 1 < days < 2.1, days)


def check_who_gets_in(check: Checks, axisd: str, axisctl: str,
                      folder: pathlib.Path) -> None:
    authority = Authority(folder, "authority")
    stranger = Authority(folder, "stranger")
    friend, foe = authority.issue("friend"), stranger.issue("foe")
    ca = authority.certificate
    with serving(axisd, folder, authority,
                 f"--tls_client_ca={ca}") as (server, _):
        address = server.address
        answer = call(address, ca, friend)
        check("a client with a certificate is served", not isinstance(
            answer, Refusal) and answer.output.data == b"acbd", answer)
        check("one without is not", refused(call(address, ca)))
        check("nor one of another authority", refused(call(address, ca, foe)))
        with channel(address) as plain:
            check("nor one without TLS", refused(outcome(
                stubs.TensorServiceStub(plain).Transpose, REQUEST, timeout=10)))
        old = ssl.create_default_context(cafile=ca)
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        old.set_ciphers("ALL:@SECLEVEL=0")
        try:
            with socket.create_connection(("127.0.0.1", server.port)) as link:
                old.wrap_socket(link, server_hostname="127.0.0.1")
            check("TLS 1.1 is refused", False)
        except OSError:
            check("TLS 1.1 is refused", True)
        with channel(server.health_address) as plain:
            health = health_pb2_grpc.HealthStub(plain)
            answer = health.Check(health_pb2.HealthCheckRequest(
                service="readiness"), timeout=5)
            check("health is told in plaintext", answer.status == 1, answer)
            # UNIMPLEMENTED is what gRPC answers for a method that no service of
            # a port has: the tensors are not behind this one. A code of access,
            # as UNAUTHENTICATED, would say that they are, for some.
            answer = outcome(stubs.TensorServiceStub(plain).Transpose, REQUEST)
            check("and nothing else", isinstance(answer, Refusal) and
                  answer.code == "UNIMPLEMENTED", answer)
            watch = health.Watch(health_pb2.HealthCheckRequest(
                service="readiness"), timeout=20)
            check("a watch is told", next(watch).status == 1)
            ran = [subprocess.run(
                [axisctl, f"--server={address}", f"--tls_ca={ca}", *words],
                capture_output=True, timeout=30).returncode for words in (
                    (f"--tls_cert={friend[0]}", f"--tls_key={friend[1]}",
                     "health", "readiness"),
                    ("health", "readiness"))]
            check("axisctl gets in with its certificate alone", ran == [0, 2],
                  ran)
            server.process.terminate()
            check("and of the end", next(watch).status == 2)


def check_bad_starts(check: Checks, axisd: str, folder: pathlib.Path) -> None:
    authority = Authority(folder, "authority")
    one, other = authority.issue("one"), authority.issue("other")
    garbage = folder / "garbage"
    garbage.write_bytes(GARBAGE)
    locked = folder / "locked"
    subprocess.run(["openssl", "ec", "-aes128", "-passout", "pass:x", "-in",
                    one[1], "-out", locked], check=True, capture_output=True)
    for flags, said in (
            ((f"--tls_certificate={one[0]}",), "must be given together"),
            ((f"--tls_client_ca={one[0]}",), "--tls_client_ca"),
            ((f"--tls_certificate={one[0]}", f"--tls_key={other[1]}"),
             "--tls_key: must be the key of --tls_certificate"),
            ((f"--tls_certificate={garbage}", f"--tls_key={one[1]}"),
             "--tls_certificate: must be"),
            ((f"--tls_certificate={one[0]}", f"--tls_key={locked}"),
             "without a password"),
            ((f"--tls_certificate={one[0]}", f"--tls_key={one[1]}",
              f"--tls_client_ca={garbage}"), "--tls_client_ca: must be"),
            ((f"--tls_certificate={folder}/absent", f"--tls_key={one[1]}"),
             "absent cannot be opened")):
        ran = subprocess.run([axisd, "--listen=127.0.0.1:0", "--metrics=",
                              *flags], capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, timeout=20)
        check(f"refuses to start: {said}", ran.returncode in (1, 2) and
              said in ran.stderr, (ran.returncode, ran.stderr))


def main() -> None:
    check = Checks()
    axisd, axisctl = sys.argv[1:3]
    for part in (check_bad_starts, check_rotation):
        with tempfile.TemporaryDirectory() as folder:
            part(check, axisd, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        check_who_gets_in(check, axisd, axisctl, pathlib.Path(folder))
    check.finish("TLS")


if __name__ == "__main__":
    main()

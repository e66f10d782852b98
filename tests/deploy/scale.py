#!/usr/bin/python3
"""Three replicas behind each way to balance: shares, restarts, kills.

Usage: scale.py AXISD [--bare] [RESTARTS [KILLS]] [WAY...]

The ways are the client's own round_robin, and nginx, haproxy and Envoy with
the configurations of deploy/proxy; a proxy that is not installed is skipped,
loudly. AXIS_ENVOY names the Envoy to run. Threads call without pause, with
messages small and large; replicas are told to go, one after the other, and
killed; then it is counted what the callers saw. Clients have the service config
that deploy/README.md gives to callers, and call again, once, what ended
UNAVAILABLE, or UNKNOWN as haproxy has it (gRPC retries nothing whose answer had
begun): after a kill that may be needed, after a restart it is a failure. With
--bare they have only the balancing of it, and what they lose is printed and no
failure.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import grpc

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from harness import (Axisd, Checks, Refusal, free_port,  # noqa: E402
                     outcome, pb, stubs)

REPLICAS = 3
THREADS = 12
SIZES = (1 << 10, 64 << 10, 1 << 20)  # bytes of a tensor
FLAGS = ("--drain_delay=1500ms", "--max_connection_age=5s")


def service_config(bare: bool) -> str:
    """The one of deploy/README.md, or only how it balances."""
    readme = (ROOT / "deploy" / "README.md").read_text()
    config = json.loads(re.search(r"```json\n(\{.*?\n\})\n```", readme,
                                  re.S)[1])
    if bare:
        del config["methodConfig"], config["healthCheckConfig"]
    return json.dumps(config)


class Load:
    """Threads that call and count how it went, until told to stop."""

    def __init__(self, target: str, bare: bool):
        self.channel = grpc.insecure_channel(target, options=[
            ("grpc.service_config", service_config(bare)),
            ("grpc.enable_retries", int(not bare)),
            ("grpc.per_rpc_retry_buffer_size", 8 << 20),
            ("grpc.max_receive_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 100)])
        self.transpose = stubs.TensorServiceStub(self.channel).Transpose
        self.again = 0 if not bare else None
        self.counts = collections.Counter()
        self.seconds = []
        self.examples = {}
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(k,))
                        for k in range(THREADS)]

    def __enter__(self) -> "Load":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        self.channel.close()

    def run(self, number: int) -> None:
        rows = SIZES[number % len(SIZES)] // 2
        request = pb.TransposeRequest(
            input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[rows, 2],
                            data=bytes([number, 99]) * rows),
            op=pb.Transpose(order=[1, 0]))
        right = bytes([number]) * rows + bytes([99]) * rows
        while not self.stopping.is_set():
            start = time.monotonic()
            answer = outcome(self.transpose, request, timeout=20)
            if (self.again is not None and isinstance(answer, Refusal) and
                    answer.code in ("UNAVAILABLE", "UNKNOWN")):
                with self.lock:
                    self.again += 1
                answer = outcome(self.transpose, request, timeout=20)
            seconds = time.monotonic() - start
            if isinstance(answer, Refusal):
                how = answer.code
            else:
                how = "OK" if answer.output.data == right else "WRONG"
            with self.lock:
                self.counts[how] += 1
                self.seconds.append(seconds)
                self.examples.setdefault(how, str(answer)[:200])

    def lost(self) -> dict:
        return {how: n for how, n in self.counts.items() if how != "OK"}

    def quantile(self, q: float) -> float:
        return sorted(self.seconds)[int(q * (len(self.seconds) - 1))]


class Replicas:
    """Axisds that keep their ports when they are replaced."""

    def __init__(self, axisd: str):
        self.axisd = axisd
        self.servers = [Axisd(axisd, *FLAGS) for _ in range(REPLICAS)]

    def __enter__(self) -> "Replicas":
        for server in self.servers:
            server.wait_until_serving()
        return self

    def __exit__(self, *_) -> None:
        for server in self.servers:
            server.stop()

    def served(self) -> list:
        return [sum(n for name, n in server.metrics().items() if
                    name.startswith("axisd_requests_total"))
                for server in self.servers]

    def replace(self, k: int, kill: bool) -> None:
        old = self.servers[k]
        if kill:
            old.process.kill()
            old.process.wait()
        old.stop()
        self.servers[k] = Axisd(self.axisd, *FLAGS, port=old.port)
        self.servers[k].wait_until_serving()
        # A rollout waits for readiness, and for minReadySeconds.
        time.sleep(1.2)


def configured(template: str, folder: pathlib.Path, ports: list,
               listen: int) -> str:
    """A file of deploy/proxy with the addresses of this test."""
    text = (ROOT / "deploy" / "proxy" / template).read_text()
    for k, port in enumerate(ports):
        text = text.replace(f"axisd-{k}.axisd:8001", f"127.0.0.1:{port}")
        text = text.replace(
            f"address: axisd-{k}.axisd, port_value: 8001",
            f"address: 127.0.0.1, port_value: {port}")
    text = text.replace("bind :8080", f"bind 127.0.0.1:{listen}")
    text = text.replace("listen 8080", f"listen 127.0.0.1:{listen}")
    text = text.replace("0.0.0.0, port_value: 8080",
                        f"127.0.0.1, port_value: {listen}")
    assert ".axisd:" not in text and "8080" not in text
    path = folder / template
    path.write_text(text)
    return str(path)


def proxy_command(name: str, folder: pathlib.Path, ports: list,
                  listen: int) -> list | None:
    program = os.environ.get("AXIS_ENVOY") if name == "envoy" else None
    program = program or shutil.which(name, path=os.environ["PATH"] +
                                      ":/usr/sbin")
    if program is None:
        print(f"SKIPPED {name}: it is not installed", flush=True)
        return None
    if name == "nginx":
        return [program, "-c", configured("nginx.conf", folder, ports, listen),
                "-e", "stderr", "-g",
                f"daemon off; pid {folder}/pid; error_log stderr warn;"]
    if name == "haproxy":
        return [program, "-db", "-f",
                configured("haproxy.cfg", folder, ports, listen)]
    return [program, "--concurrency", "1", "--use-dynamic-base-id", "-l",
            "warn", "-c", configured("envoy.yaml", folder, ports, listen)]


@contextlib.contextmanager
def balanced(way: str, ports: list):
    """Gives the target that clients call, or None if the way is not here."""
    if way == "round_robin":
        yield "ipv4:" + ",".join(f"127.0.0.1:{p}" for p in ports)
        return
    with tempfile.TemporaryDirectory() as name:
        folder, listen = pathlib.Path(name), free_port()
        folder.chmod(0o755)
        command = proxy_command(way, folder, ports, listen)
        if command is None:
            yield None
            return
        log = open(folder / "log", "w+")
        process = subprocess.Popen(command, stdout=log, stderr=log,
                                   cwd=folder)
        try:
            with grpc.insecure_channel(f"127.0.0.1:{listen}") as channel:
                grpc.channel_ready_future(channel).result(20)
            time.sleep(1.5)  # its first health checks
            yield f"127.0.0.1:{listen}"
        finally:
            process.terminate()
            process.wait(30)
            log.seek(0)
            if "--log" in sys.argv:
                print(log.read()[-3000:])


def check_way(check: Checks, axisd: str, way: str, restarts: int,
              kills: int, bare: bool) -> None:
    with Replicas(axisd) as replicas, balanced(
            way, [s.port for s in replicas.servers]) as target:
        if target is None:
            return
        with Load(target, bare) as load:
            time.sleep(1)
            before = replicas.served()
            time.sleep(2)
            shares = [b - a for a, b in zip(before, replicas.served())]
            for k in range(restarts):
                replicas.replace(k % REPLICAS, kill=False)
            rolled, again = load.lost(), load.again
            for k in range(kills):
                replicas.replace(k % REPLICAS, kill=True)
        lost = load.lost()
        print(f"{way}{' (bare clients)' * bare}: shares {[int(s) for s in shares]}, "
              f"{restarts} restarts and {kills} kills: {load.counts['OK']} "
              f"calls answered, lost {lost or 0}, called again "
              f"{load.again}, p50 "
              f"{load.quantile(0.5) * 1000:.1f} ms, p99 "
              f"{load.quantile(0.99) * 1000:.1f} ms, most "
              f"{load.quantile(1) * 1000:.0f} ms", flush=True)
        for how in lost:
            print(f"  {how}: {load.examples[how]}")
        check(f"{way}: every replica has its share",
              max(shares) <= 1.3 * min(shares), shares)
        check(f"{way}: no answer is wrong", "WRONG" not in lost, lost)
        check(f"{way}: there was load", load.counts["OK"] > 100, load.counts)
        if not bare:
            check(f"{way}: no call is lost to restarts", not rolled, rolled)
            check(f"{way}: none is called again for them", again == 0, again)
            check(f"{way}: no call is lost to kills", not lost, lost)


def main() -> None:
    words = [w for w in sys.argv[2:] if not w.startswith("--")]
    numbers = [int(w) for w in words if w.isdigit()]
    restarts, kills = (numbers + [3, 2][len(numbers):])
    check = Checks()
    ways = [w for w in words if not w.isdigit()] or [
        "round_robin", "nginx", "haproxy", "envoy"]
    for way in ways:
        check_way(check, sys.argv[1], way, restarts, kills,
                  "--bare" in sys.argv)
    check.finish(f"{REPLICAS} replicas behind {', '.join(ways)}")


if __name__ == "__main__":
    main()

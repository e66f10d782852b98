#!/usr/bin/python3
"""Restarts that lose nothing, for a client that watches health.

Usage: restarts.py AXISD

64 threads call two replicas without pause and without retries, while the
replicas are restarted in turn. The client is told to balance and to watch
health, so it leaves a replica that drains before that stops to serve.
"""

import collections
import json
import sys
import threading
import time

import grpc
from harness import Axisd, Checks, Refusal, outcome, pb, stubs

RESTARTS = 20
THREADS = 64
DRAIN_DELAY = "--drain_delay=300ms"

SERVICE_CONFIG = {
    "loadBalancingConfig": [{"round_robin": {}}],
    "healthCheckConfig": {"serviceName": "readiness"},
}


def connect(ports: list) -> grpc.Channel:
    return grpc.insecure_channel(
        "ipv4:" + ",".join(f"127.0.0.1:{port}" for port in ports), options=[
            ("grpc.service_config", json.dumps(SERVICE_CONFIG)),
            ("grpc.enable_retries", 0),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 100)])


class Load:
    """Threads that call and count how it went, until told to stop."""

    def __init__(self, ports: list):
        self.channel = connect(ports)
        self.transpose = stubs.TensorServiceStub(self.channel).Transpose
        self.counts = collections.Counter()
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
        rows = [bytes([number, k]) for k in range(256)]
        request = pb.TransposeRequest(
            input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[256, 2],
                            data=b"".join(rows)),
            op=pb.Transpose(order=[1, 0]))
        right = bytes([number]) * 256 + bytes(range(256))
        while not self.stopping.is_set():
            answer = outcome(self.transpose, request, timeout=20)
            if isinstance(answer, Refusal):
                how = answer.code
            else:
                how = "OK" if answer.output.data == right else "WRONG"
            with self.lock:
                self.counts[how] += 1
                self.examples.setdefault(how, str(answer)[:200])


def requests_served(server: Axisd) -> float:
    return sum(value for name, value in server.metrics().items()
               if name.startswith("axisd_requests_total"))


def wait_for_work(server: Axisd, seconds: float = 20) -> bool:
    """Until the client has found a replica."""
    deadline = time.monotonic() + seconds
    while requests_served(server) == 0:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def main() -> None:
    check, axisd, start = Checks(), sys.argv[1], time.monotonic()
    servers = [Axisd(axisd, DRAIN_DELAY) for _ in range(2)]
    try:
        for server in servers:
            server.wait_until_serving()
        with Load([s.port for s in servers]) as load:
            for k in range(RESTARTS):
                check("a replica gets calls", wait_for_work(servers[k % 2]))
                check("the other, too", wait_for_work(servers[1 - k % 2]))
                check("it ends with 0", servers[k % 2].stop() == 0)
                servers[k % 2] = Axisd(axisd, DRAIN_DELAY,
                                       port=servers[k % 2].port)
                servers[k % 2].wait_until_serving()
            check("the last one gets calls",
                  wait_for_work(servers[(RESTARTS - 1) % 2]))
    finally:
        for server in servers:
            server.stop()
    lost = {how: n for how, n in load.counts.items() if how != "OK"}
    for how in lost:
        print(f"{how}: {load.examples[how]}")
    seconds = time.monotonic() - start
    print(f"{RESTARTS} restarts under {THREADS} calls in flight: "
          f"{load.counts['OK']} calls answered, {sum(lost.values())} lost, "
          f"in {seconds:.0f} s")
    check("no call is lost", not lost, lost)
    check("there was load", load.counts["OK"] > 100 * RESTARTS, load.counts)
    check.finish(f"{RESTARTS} restarts under load, "
                 f"{load.counts['OK']} calls, {sum(lost.values())} lost")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Polling: one thread serves a client that waits for itself, more serve clients
that keep it busy; all answers are right, also beside clients that give up at
once, and afterwards one is left.

Usage: polling.py AXISD
"""

import pathlib
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))

from harness import Axisd, Checks, channel, pb  # noqa: E402

SPLIT = "/axis.v1.TensorService/VariadicSplit"
STREAMS = ["/axis.v1.TensorService/StreamPipeline",
           "/grpc.health.v1.Health/Watch",
           "/inference.GRPCInferenceService/ModelStreamInfer"]
OUTPUTS = 500  # keep who polls busy for a millisecond; of more it does none
CLIENTS = 4
THREADS = 8  # of which half as many may poll
PATIENCE = 120  # seconds: other tests may have the CPUs


def request() -> pb.VariadicSplitRequest:
    tensor = pb.Tensor(data_type="DATA_TYPE_U16", shape=[2, OUTPUTS],
                       data=bytes(k % 251 for k in range(4 * OUTPUTS)))
    return pb.VariadicSplitRequest(
        input=tensor, op=pb.VariadicSplit(axis=1, split_lengths=[1] * OUTPUTS))


def is_right(answer: bytes) -> bool:
    """Whether output k is the k-th column."""
    source = request().input.data
    outputs = pb.VariadicSplitResponse.FromString(answer).outputs
    columns = [source[2 * k:2 * k + 2] + source[2 * (OUTPUTS + k):][:2]
               for k in range(OUTPUTS)]
    return [output.data for output in outputs] == columns


class Load:
    """Clients that call all the time, for the length of a `with`."""

    def __init__(self, address: str, clients: int, give_up: bool = False):
        self.address, self.calls, self.answers = address, 0, set()
        self.given_up = 0
        self.enough = threading.Event()
        self.pool = ThreadPoolExecutor(clients + 1)
        self.clients = [self.pool.submit(self.call) for _ in range(clients)]
        if give_up:
            self.clients.append(self.pool.submit(self.give_up))

    def call(self) -> None:
        message = request().SerializeToString()
        with channel(self.address) as connection:
            serve = connection.unary_unary(SPLIT)
            while not self.enough.is_set():
                self.answers.add(serve(message, timeout=60))
                self.calls += 1

    def give_up(self) -> None:
        """Of the events of a call its end may come first, to another thread."""
        with channel(self.address) as connection:
            while not self.enough.is_set():
                for method in STREAMS:
                    call = connection.stream_stream(method)(iter([b""]))
                    time.sleep(0.001)
                    call.cancel()
                    self.given_up += 1

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, *_) -> None:
        self.enough.set()
        for client in self.clients:
            client.result()


def pollers(server: Axisd) -> float:
    return server.metrics()["axisd_polling_threads"]


def seen_until(server: Axisd, enough) -> list:
    """How many polled, until `enough` of it, or for too long."""
    seen, end = [pollers(server)], time.monotonic() + PATIENCE
    while not enough(seen[-1]) and time.monotonic() < end:
        time.sleep(0.2)
        seen.append(pollers(server))
    return seen


def main() -> None:
    check = Checks()
    with Axisd(sys.argv[1], f"--threads={THREADS}") as server:
        check("one polls at first", pollers(server) == 1)
        with Load(server.address, 1) as alone:
            time.sleep(5)
            seen = pollers(server)
        check("one serves a client that waits for itself", seen == 1, seen)
        with Load(server.address, CLIENTS, give_up=True) as many:
            seen = seen_until(server, lambda count: count > 1)
            check("more serve those that keep it busy", seen[-1] > 1, seen)
            begun = many.calls
            seen += seen_until(server, lambda _: many.calls > begun + 500)
        most = max(seen)
        check("but half of the threads at the most", most <= THREADS / 2, seen)
        seen = seen_until(server, lambda count: count == 1)
        check("one is left", seen[-1] == 1, seen)
        answers = alone.answers | many.answers
        check("all answers are the same", len(answers) == 1, len(answers))
        check("and right", is_right(answers.pop()))
        print(f"summary: {alone.calls} and {many.calls} calls of one client "
              f"and of {CLIENTS}, beside {many.given_up} streams given up; the "
              f"most that polled: {most:.0f}")
    with Axisd(sys.argv[1], "--threads=1") as server, \
            Load(server.address, CLIENTS):
        time.sleep(5)
        check("one thread computes, one polls", pollers(server) == 1)
    check.finish("polling")


if __name__ == "__main__":
    main()

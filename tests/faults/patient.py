"""The server that faults are tried on, and how it is told that it is well.

A row of the table is a function of a `Patient`; it tries things, and after each
group of them `Patient.check()` asks: is health answered, is the next request
right, is everything given back?
"""

import pathlib
import resource
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import (MIB, Axisd, Refusal, channel, health_pb2,  # noqa: E402
                     health_pb2_grpc, outcome, pb, stubs)

TRANSPOSE = "/axis.v1.TensorService/Transpose"
STREAM = "/axis.v1.TensorService/StreamPipeline"
RSS_ROOM = 24 * MIB   # what gRPC and the pool keep of a large call
WAIT_SECONDS = 30     # for calls that were cut off to end
SKIP = "skipped"


class Skipped(Exception):
    """The machine does not allow this fault."""


def transpose(rows: int, columns: int):
    """A request for u8, and the bytes that must come back."""
    data = bytes(range(251)) * (rows * columns // 251 + 1)
    data = data[:rows * columns]
    request = pb.TransposeRequest(
        input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[rows, columns],
                        data=data), op=pb.Transpose())
    return request, b"".join(data[c::columns] for c in range(columns))


SMALL, SMALL_ANSWER = transpose(7, 5)


class Patient:
    """A server under treatment, for the length of a `with`."""

    def __init__(self, binary: str, *flags: str, **how):
        """`how` is of Axisd, such as the environment that it starts in."""
        self.tried = self.survived = 0
        self.flaws = []
        self.start = lambda: Axisd(binary, *flags, **how)
        self.restart()

    def restart(self) -> None:
        self.server = self.start()
        self.server.wait_until_serving()
        for _ in range(20):
            self.ask()
        self.fds, self.threads = self.open_fds(), self.count_threads()
        self.rss = self.server.memory()

    def __enter__(self) -> "Patient":
        return self

    def __exit__(self, kind, *_) -> None:
        try:
            code = self.server.stop()
        except AssertionError as error:
            code = error
        if kind is None and code != 0:
            self.flaws.append(f"ended with {code}: "
                              f"{self.server.output()[-800:]}")
            self.survived = 0

    @property
    def port(self) -> int:
        return self.server.port

    def open_fds(self) -> int:
        return len(list(pathlib.Path(
            f"/proc/{self.server.process.pid}/fd").iterdir()))

    def count_threads(self) -> int:
        return len(list(pathlib.Path(
            f"/proc/{self.server.process.pid}/task").iterdir()))

    def ask(self, timeout: float = 20):
        """What a newcomer finds wrong; None if nothing."""
        with channel(self.server.address) as link:
            health = outcome(health_pb2_grpc.HealthStub(link).Check,
                             health_pb2.HealthCheckRequest(), timeout=timeout)
            if isinstance(health, Refusal) or health.status != 1:
                return f"health says {health}"
            answer = outcome(stubs.TensorServiceStub(link).Transpose, SMALL,
                             timeout=timeout)
        if isinstance(answer, Refusal):
            return f"the next request: {answer}"
        if answer.output.data != SMALL_ANSWER:
            return "the next request: wrong bytes"
        return None

    def unsettled(self):
        """What is not given back yet; None if all is."""
        held = self.server.metrics()
        if held["axisd_inflight_bytes"] or held["axisd_inflight_requests"]:
            return (f"{held['axisd_inflight_requests']} calls hold "
                    f"{held['axisd_inflight_bytes']} bytes")
        if self.open_fds() > self.fds + 4:
            return f"{self.open_fds()} descriptors, {self.fds} before"
        if self.count_threads() > self.threads + 16:
            return f"{self.count_threads()} threads, {self.threads} before"
        if self.server.memory() > self.rss + RSS_ROOM:
            return (f"{self.server.memory() >> 20} MiB resident, "
                    f"{self.rss >> 20} before")
        return None

    def check(self, tried: int, claim: str = "", holds: bool = True) -> None:
        """Counts `tried` faults, all survived if the server is well."""
        self.tried += tried
        flaw = None if holds else claim
        if self.server.process.poll() is not None:
            flaw = f"the server is dead: {self.server.output()[-600:]}"
        flaw = flaw or self.ask()
        deadline = time.monotonic() + WAIT_SECONDS
        while not flaw:
            flaw = self.unsettled()
            if not flaw or time.monotonic() > deadline:
                break
            flaw = None
            time.sleep(0.1)
        if flaw:
            self.flaws.append(flaw)
        else:
            self.survived += tried


def limit_files(count: int):
    """For the server only: how many descriptors it may have."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))

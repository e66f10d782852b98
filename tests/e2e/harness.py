"""Runs axisd for a test and talks to it: what the end-to-end tests share.

Importing it compiles the protos into a throw-away folder, so that the stubs
are those of this checkout: `pb`, `stubs`, `oip`, `health_pb2`, `details_pb2`.
"""

import atexit
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import typing
import urllib.request

import google
import grpc

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto"
SKIP = 77  # the exit status that ctest reads as "skipped"
MIB = 1 << 20


def _compile_protos() -> None:
    out = pathlib.Path(tempfile.mkdtemp(prefix="axisd-stubs-"))
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    subprocess.run(
        ["protoc", f"--proto_path={PROTO}", f"--python_out={out}",
         f"--grpc_out={out}",
         "--plugin=protoc-gen-grpc=" + shutil.which("grpc_python_plugin"),
         *(str(p) for p in PROTO.rglob("*.proto"))], check=True)
    sys.path.insert(0, str(out))
    # `grpc` and `google` are installed packages: ours are more of their parts.
    grpc.__path__.append(str(out / "grpc"))
    google.__path__.append(str(out / "google"))


_compile_protos()
from axis.v1 import ops_pb2, tensor_pb2, tensor_service_pb2  # noqa: E402
from axis.v1 import tensor_service_pb2_grpc as stubs  # noqa: E402
from inference import infer_pb2, inference_service_pb2  # noqa: E402
from inference import model_pb2, shared_memory_pb2  # noqa: E402
from inference import inference_service_pb2_grpc as oip_stubs  # noqa: E402
from google.rpc import error_details_pb2 as details_pb2  # noqa: E402
from google.rpc import status_pb2  # noqa: E402
from grpc.health.v1 import health_pb2, health_pb2_grpc  # noqa: E402


class pb:
    """Every message and enum of axis.v1 under one name."""


class oip:
    """Every message and enum of the Open Inference Protocol."""


for _space, _modules in (
        (pb, (tensor_pb2, ops_pb2, tensor_service_pb2)),
        (oip, (infer_pb2, inference_service_pb2, model_pb2, shared_memory_pb2))):
    for _module in _modules:
        for _name in [*_module.DESCRIPTOR.message_types_by_name,
                      *_module.DESCRIPTOR.enum_types_by_name]:
            setattr(_space, _name, getattr(_module, _name))


class Refusal(typing.NamedTuple):
    """How a call failed, with what the details of its status say."""

    code: str                # "INVALID_ARGUMENT"
    message: str
    fields: tuple = ()       # the paths that BadRequest names
    retry: bool = False      # whether there is a RetryInfo


def refusal(error: grpc.RpcError) -> Refusal:
    fields, retry = [], False
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                bad, again = details_pb2.BadRequest(), details_pb2.RetryInfo()
                if detail.Unpack(bad):
                    fields += [v.field for v in bad.field_violations]
                retry |= detail.Unpack(again)
    return Refusal(error.code().name, error.details() or "", tuple(fields),
                   retry)


def outcome(method, request, timeout: float = 30, **kwargs):
    """The response of a call, or its Refusal."""
    try:
        return method(request, timeout=timeout, **kwargs)
    except grpc.RpcError as error:
        return refusal(error)


_given: set = set()


def free_port() -> int:
    """One that was not given before, nor is by chance to whoever connects."""
    low = int(pathlib.Path(
        "/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(11000, max(low, 12000))
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            if port not in _given:
                _given.add(port)
                return port


def channel(address: str, *options) -> grpc.Channel:
    """A connection of its own that takes messages of any size."""
    return grpc.insecure_channel(address, options=[
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        ("grpc.initial_reconnect_backoff_ms", 50),
        ("grpc.use_local_subchannel_pool", 1), *options])


class Axisd:
    """An axisd on free ports of the loopback, for the length of a `with`."""

    def __init__(self, binary: str, *flags: str, port: int = 0,
                 environment: dict = {}, **how):
        """`how` is of Popen: where the output goes, limits of the process."""
        self.port = port or free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.metrics_port = free_port()
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [binary, f"--listen={self.address}",
             f"--metrics=127.0.0.1:{self.metrics_port}", "--drain_delay=0s",
             *flags],
            env={**os.environ, **environment},
            **{"stdin": subprocess.DEVNULL, "stdout": self.log, "stderr": self.log, **how})
        self.channel = channel(self.address)
        self.stub = stubs.TensorServiceStub(self.channel)
        self.inference = oip_stubs.GRPCInferenceServiceStub(self.channel)
        self.health = health_pb2_grpc.HealthStub(self.channel)

    def __enter__(self) -> "Axisd":
        try:
            self.wait_until_serving()
        except BaseException:
            self.process.kill()
            raise
        return self

    def __exit__(self, *_) -> None:
        code = self.stop()
        if code != 0:
            print(self.output(), file=sys.stderr)
            raise AssertionError(f"axisd ended with {code}, not with 0")

    def wait_until_serving(self, seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                answer = self.health.Check(health_pb2.HealthCheckRequest(),
                                           timeout=1, wait_for_ready=True)
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    return
            except grpc.RpcError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"axisd is not serving:\n{self.output()}")

    def stop(self, seconds: float = 30) -> int:
        """Asks it to go, and returns its exit status."""
        # An idle gRPC client looks at its connections every 5 s only, and a
        # server that goes waits for it to take note.
        self.channel.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"axisd did not stop:\n{self.output()}")

    def output(self) -> str:
        # Not read(): the server writes where we would have left off.
        log = self.log.fileno()
        return os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")

    def metrics(self, timeout: float = 10) -> dict:
        """Every sample of /metrics: 'name{labels}' -> value."""
        url = f"http://127.0.0.1:{self.metrics_port}/metrics"
        text = urllib.request.urlopen(url, timeout=timeout).read().decode()
        return {m[1]: float(m[2])
                for m in re.finditer(r"^([a-z_]\S*) (\S+)$", text, re.M)}

    def copies(self) -> dict:
        """How tensors were moved so far, by kind."""
        found = self.metrics()
        return {kind: found.get(f'axisd_copies_total{{kind="{kind}"}}', 0.0)
                for kind in ("shared", "joined", "strided")}

    def memory(self, field: str = "VmRSS") -> int:
        """Bytes; `VmHWM` is the most there ever were."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) * 1024


class Checks:
    """Counts what held, and says what did not."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def __call__(self, claim: str, holds: bool, found: object = "") -> bool:
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            found = " ".join(str(found).split())[:300]
            print(f"FAILED {claim}" + (f": found {found}" if found else ""),
                  flush=True)
        return bool(holds)

    def finish(self, name: str) -> typing.NoReturn:
        """Prints the line that `./dev test` shows, and ends the script."""
        print(f"summary: {name}: {self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)

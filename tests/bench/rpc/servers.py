"""The processes of the benchmark: the servers, and rpc_load, which calls them.

All of them listen on the loopback and on Unix sockets only, and all of them
are stopped by whoever started them, by `with`.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parents[2] / "proto"

# All that can be done for malloc without touching a program. What is above
# 32 MiB comes from the system every time all the same, but on huge pages.
TUNED_MALLOC = ("glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=33554432:"
                "glibc.malloc.trim_threshold=9223372036854775807:"
                "glibc.malloc.top_pad=67108864")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running(command, env, **streams):
    """A process, killed at the end: nothing of it is to be saved."""
    process = subprocess.Popen([str(word) for word in command],
                               env={**os.environ, **env}, **streams)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Server:
    """A server that listens, on TCP and on a Unix socket."""

    def __init__(self, process, port, path, counter):
        self.process = process
        self.addresses = {"tcp": f"127.0.0.1:{port}", "unix": f"unix:{path}"}
        self.counter = counter

    def copied_bytes(self):
        """What memcpy and memmove have moved, if that is counted."""
        return int.from_bytes(self.counter.read_bytes(), "little")

    def wait(self, path):
        for _ in range(200):
            if self.process.poll() is not None:
                break
            with socket.socket(socket.AF_UNIX) as s:
                if s.connect_ex(str(path)) == 0:
                    return
            time.sleep(0.1)
        raise RuntimeError(f"{self.process.args[0]} does not listen")


def python_modules(folder):
    """Generates the contract for Python; False where that is not possible."""
    plugin = shutil.which("grpc_python_plugin")
    has = subprocess.run(["/usr/bin/python3", "-c", "import grpc, numpy"],
                         capture_output=True).returncode == 0
    if plugin is None or not has:
        return False
    protos = [str(p) for p in (PROTO / "axis").rglob("*.proto")]
    subprocess.run(["protoc", f"--proto_path={PROTO}",
                    f"--python_out={folder}", f"--grpc_out={folder}",
                    f"--plugin=protoc-gen-grpc={plugin}", *protos], check=True)
    return True


@contextlib.contextmanager
def servers(binaries, count_copies=False):
    """Starts every server; {name: Server}. `binaries`: {name: path}."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="rpc-")))
        started = {}

        def start(name, command, env=None, listen=None):
            port, path = free_port(), folder / f"{name}.socket"
            addresses = [f"127.0.0.1:{port}", f"unix:{path}"]
            env, counter = dict(env or {}), folder / f"{name}.copied"
            if count_copies:
                counter.write_bytes(bytes(8))
                env |= {"LD_PRELOAD": str(binaries["copy_counter"]),
                        "AXIS_COPY_COUNTER": str(counter)}
            log = stack.enter_context(open(folder / f"{name}.log", "w"))
            process = stack.enter_context(running(
                [*command, *(listen(addresses) if listen else addresses)], env,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log))
            started[name] = Server(process, port, path, counter)
            started[name].wait(path)

        start("echo", [binaries["echo_server"]])
        # A connection is to last as long as the run.
        start("axisd", [binaries["axisd"], "--metrics=",
                        "--max_message_bytes=2047MiB",
                        "--max_inflight_bytes=8GiB",
                        "--max_connection_age=24h",
                        "--allow_shared_memory"],
              listen=lambda addresses: ["--listen=" + ",".join(addresses)])
        start("protobuf", [binaries["protobuf_server"]])
        start("protobuf_tuned", [binaries["protobuf_server"]],
              {"GLIBC_TUNABLES": TUNED_MALLOC})
        if python_modules(folder):
            start("python", ["/usr/bin/python3", HERE / "peers/python_server.py",
                             folder])
        else:
            print("*** SKIPPED python: needs python3-grpcio, python3-numpy and "
                  "protobuf-compiler-grpc ***", flush=True)
        yield started


class Load:
    """An rpc_load: makes calls and says what they took."""

    def __init__(self, process):
        self.process = process

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("rpc_load died")
        return json.loads(line)


@contextlib.contextmanager
def load(binaries):
    with running([binaries["rpc_load"]], {}, stdin=subprocess.PIPE,
                 stdout=subprocess.PIPE, text=True) as process:
        yield Load(process)

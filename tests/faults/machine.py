"""What the machine may do to a server: no descriptors, no disk, no CPU, another
time, and signals at any moment.
"""

import contextlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import grpc
from patient import (SMALL, SMALL_ANSWER, Axisd, Patient, Refusal, Skipped,
                     channel, limit_files, outcome, stubs, transpose)

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


def is_right(answer) -> bool:
    return (not isinstance(answer, Refusal) and
            answer.output.data == SMALL_ANSWER)


def no_descriptors(binary: str, _) -> Patient:
    """Connections beyond what the process may have."""
    with Patient(binary, preexec_fn=limit_files(64)) as patient:
        for _ in range(3):
            kept = stubs.TensorServiceStub(patient.server.channel)
            outcome(kept.Transpose, SMALL)
            links = []
            for _ in range(150):
                link = socket.socket()
                link.settimeout(2)
                try:
                    link.connect(("127.0.0.1", patient.port))
                except OSError:
                    pass
                links.append(link)
            flaw = outcome(kept.Transpose, SMALL)
            for link in links:
                link.close()
            time.sleep(0.5)
            patient.check(150, f"those already connected: {flaw}",
                          is_right(flaw))
    return patient


def many_requests(patient: Patient, count: int, timeout: float = 20) -> str:
    """What went wrong with `count` requests; "" if nothing."""
    for _ in range(count):
        answer = outcome(patient.server.stub.Transpose, SMALL, timeout)
        if not is_right(answer):
            return str(answer)
    return ""


def log_to(binary: str, claim: str, **how) -> Patient:
    with Patient(binary, "--access_log", **how) as patient:
        flaw = many_requests(patient, 300)
        patient.check(300, f"{claim}: {flaw}", not flaw)
    return patient


def full_disk(binary: str, _) -> Patient:
    with open("/dev/full", "w") as full:
        return log_to(binary, "a full disk", stderr=full)


def log_reader_gone(binary: str, _) -> Patient:
    read, write = os.pipe()
    os.close(read)
    try:
        return log_to(binary, "nobody reads the log", stderr=write)
    finally:
        os.close(write)


def log_reader_stuck(binary: str, _) -> Patient:
    """A pipe that is full, and nobody empties it."""
    read, write = os.pipe()
    try:
        os.set_blocking(write, False)
        with open(write, "wb", 0, closefd=False) as pipe:
            while pipe.write(bytes(4096)):
                pass
        os.set_blocking(write, True)
        return log_to(binary, "the log is stuck", stderr=write)
    finally:
        os.close(read)
        os.close(write)


def clock_jumps(binary: str, _) -> Patient:
    """The time of day jumps by hours and years, there and back."""
    if not pathlib.Path(FAKETIME).exists():
        raise Skipped("libfaketime is not installed")
    with tempfile.NamedTemporaryFile("w") as time_of_day:
        def jump(text: str) -> None:
            pathlib.Path(time_of_day.name).write_text(text + "\n")
        jump("+0")
        with Patient(binary, environment={
                "LD_PRELOAD": FAKETIME, "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_TIMESTAMP_FILE": time_of_day.name}) as patient:
            for text in ("+1h", "-1h", "+10y", "-10y", "+1d", "+0"):
                jump(text)
                flaw = many_requests(patient, 20)
                patient.check(1, f"after {text}: {flaw}", not flaw)
    return patient


class Load:
    """Threads that call a port without pause, and count what they see."""

    def __init__(self, port: int, threads: int = 4):
        self.port, self.stopping = port, threading.Event()
        self.right = self.wrong = self.refused = 0
        self.example = None
        self.threads = [threading.Thread(target=self.run, daemon=True)
                        for _ in range(threads)]

    def __enter__(self) -> "Load":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def run(self) -> None:
        request, wanted = transpose(64, 333)
        with channel(f"127.0.0.1:{self.port}") as link:
            method = stubs.TensorServiceStub(link).Transpose
            while not self.stopping.is_set():
                answer = outcome(method, request, timeout=20)
                if not isinstance(answer, Refusal):
                    if answer.output.data == wanted:
                        self.right += 1
                    else:
                        self.wrong += 1
                elif answer.code in ("UNAVAILABLE", "CANCELLED"):
                    self.refused += 1
                    time.sleep(0.01)
                else:
                    self.wrong += 1
                    self.example = answer


def signals(binary: str, which: signal.Signals, count: int) -> Patient:
    """Ends the server under load at any moment, and starts it again."""
    rng = random.Random(int(which))
    patient = Patient(binary, "--drain_timeout=5s")
    port = patient.port
    with patient, Load(port) as load:
        patient.start = lambda: Axisd(binary, "--drain_timeout=5s", port=port)
        for _ in range(count):
            before, deadline = load.right, time.monotonic() + 10
            while load.right <= before + 5 and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(rng.random() * 0.2)
            process = patient.server.process
            process.send_signal(which)
            code = process.wait(60)
            good = code == (0 if which == signal.SIGTERM else -which)
            patient.server.channel.close()
            patient.restart()
            good = good and not load.wrong and load.right > before
            patient.tried += 1
            flaw = patient.ask()
            if good and not flaw:
                patient.survived += 1
            else:
                patient.flaws.append(f"exit {code}, {load.wrong} wrong, "
                                     f"{load.example}; {flaw}")
    print(f"  {which.name}: {load.right} right, {load.wrong} wrong, "
          f"{load.refused} refused")
    return patient


def terminated(binary: str, _) -> Patient:
    return signals(binary, signal.SIGTERM, 15)


def killed(binary: str, _) -> Patient:
    return signals(binary, signal.SIGKILL, 15)


def signals_while_starting(binary: str, _) -> Patient:
    """SIGTERM before, while and just after the server comes up."""
    with Patient(binary) as patient:
        for k in range(30):
            process = subprocess.Popen(
                [binary, "--listen=127.0.0.1:0", "--metrics=",
                 "--drain_delay=0s"], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            time.sleep(k * 0.004)
            process.terminate()
            try:
                code = process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                code = "none: it hangs"
            patient.check(1, f"SIGTERM after {k * 4} ms: {code}",
                          code in (0, -signal.SIGTERM))
    return patient


def signals_as_clients_leave(binary: str, _) -> Patient:
    """SIGTERM as clients that watch health and call hang up, where the server
    gets to what they did too late: no other CPU is free."""
    with Patient(binary) as patient, spinning(os.cpu_count()):
        for k in range(12):
            server = Axisd(binary)
            server.wait_until_serving()
            # A connection for each.
            links = [grpc.insecure_channel(server.address, [
                ("grpc.use_local_subchannel_pool", 1)]) for _ in range(8)]
            for link in links:
                next(link.unary_stream("/grpc.health.v1.Health/Watch")(b""))
                for _ in range(30):
                    stubs.TensorServiceStub(link).Transpose.future(SMALL)
            leaving = threading.Thread(target=lambda: (
                time.sleep(random.uniform(0, 0.003)),
                [link.close() for link in links]))
            leaving.start()
            code = server.stop()
            leaving.join()
            patient.check(1, f"SIGTERM, {code}: {server.output()[-300:]}",
                          code == 0)
    return patient


@contextlib.contextmanager
def spinning(count: int, *prefix: str):
    """So many processes that do nothing, and want a CPU for it."""
    spin = [subprocess.Popen([*prefix, sys.executable, "-c",
                              "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in spin:
            process.kill()
            process.wait()


def starved(binary: str, _) -> Patient:
    """One CPU, shared with eight that spin and are given priority."""
    cpu = min(os.sched_getaffinity(0))
    with spinning(8, "taskset", "-c", str(cpu)), Patient(
            binary, preexec_fn=lambda: (os.sched_setaffinity(0, [cpu]),
                                        os.nice(10))) as patient:
        flaw = many_requests(patient, 60, timeout=60)
        patient.check(60, f"starved: {flaw}", not flaw)
    return patient


def stopped(binary: str, _) -> Patient:
    """SIGSTOP in the middle of calls, and SIGCONT later."""
    with Patient(binary) as patient, Load(patient.port) as load:
        for k in range(10):
            patient.server.process.send_signal(signal.SIGSTOP)
            time.sleep(0.05 * k)
            patient.server.process.send_signal(signal.SIGCONT)
            time.sleep(0.05)
        load.stopping.set()
        patient.check(10, f"{load.wrong} wrong, {load.example}",
                      not load.wrong and load.right > 0)
    return patient


ROWS = {"no descriptors left": no_descriptors,
        "full disk for the log": full_disk,
        "nobody reads the log any more": log_reader_gone,
        "the log is stuck": log_reader_stuck,
        "the clock jumps": clock_jumps,
        "SIGTERM at random under load": terminated,
        "SIGTERM while starting": signals_while_starting,
        "SIGTERM as clients leave": signals_as_clients_leave,
        "SIGKILL at random under load": killed,
        "CPU starvation": starved,
        "stopped and continued": stopped}

"""A network between two namespaces that delays, loses, cuts and goes away.

Needs the right to make namespaces. Where the kernel has no netem, a relay
stands in for it: it delays, cuts segments anywhere, and drops connections.
"""

import os
import pathlib
import random
import select
import shutil
import socket
import subprocess
import threading
import time

from patient import Patient, Skipped
from harness import free_port

NAMESPACE = f"axis{os.getpid()}"
HOST, GUEST = "10.213.77.1", "10.213.77.2"


def do(*command: str) -> bool:
    if not shutil.which(command[0]):
        raise Skipped(f"{command[0]} is not installed")
    return subprocess.run(command, capture_output=True).returncode == 0


class Link:
    """A veth pair whose far end lies in a namespace of its own."""

    def __enter__(self) -> "Link":
        made = (do("ip", "netns", "add", NAMESPACE) and
                do("ip", "link", "add", NAMESPACE[:14], "type", "veth",
                   "peer", "name", "eth0", "netns", NAMESPACE) and
                do("ip", "addr", "add", HOST + "/30", "dev", NAMESPACE[:14]) and
                do("ip", "link", "set", NAMESPACE[:14], "up") and
                self.inside("ip", "addr", "add", GUEST + "/30", "dev", "eth0")
                and self.inside("ip", "link", "set", "eth0", "up") and
                self.inside("ip", "link", "set", "lo", "up"))
        if not made:
            self.__exit__()
            raise Skipped("namespaces or veth are not allowed here")
        return self

    def __exit__(self, *_) -> None:
        do("ip", "link", "del", NAMESPACE[:14])
        do("ip", "netns", "del", NAMESPACE)

    def inside(self, *command: str) -> bool:
        return do("ip", "netns", "exec", NAMESPACE, *command)

    def shape(self, *netem: str) -> bool:
        return (do("tc", "qdisc", "replace", "dev", NAMESPACE[:14], "root",
                   "netem", *netem) and
                self.inside("tc", "qdisc", "replace", "dev", "eth0", "root",
                            "netem", *netem))

    def set(self, state: str) -> None:
        do("ip", "link", "set", NAMESPACE[:14], state)


CLIENT = """
import sys, time
sys.path.insert(0, {faults!r})
from patient import *
request, wanted = transpose(300, 1000)
right = refused = wrong = 0
deadline = time.monotonic() + {seconds}
with channel({address!r}) as link:
    method = stubs.TensorServiceStub(link).Transpose
    while time.monotonic() < deadline:
        answer = outcome(method, request, timeout=15)
        if isinstance(answer, Refusal):
            refused += answer.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")
            wrong += answer.code not in ("UNAVAILABLE", "DEADLINE_EXCEEDED")
        else:
            right += answer.output.data == wanted
            wrong += answer.output.data != wanted
print(right, refused, wrong)
"""


def call_from_inside(address: str, seconds: float) -> subprocess.Popen:
    faults = str(pathlib.Path(__file__).resolve().parent)
    return subprocess.Popen(
        ["ip", "netns", "exec", NAMESPACE, "/usr/bin/python3", "-c",
         CLIENT.format(faults=faults, address=address, seconds=seconds)],
        stdout=subprocess.PIPE, text=True)


def settle(patient: Patient, client: subprocess.Popen, claim: str) -> None:
    right, refused, wrong = map(int, client.communicate()[0].split())
    print(f"  {claim}: {right} right, {refused} refused, {wrong} wrong")
    patient.check(right, f"{claim}: {right} right, {wrong} wrong",
                  right > 0 and wrong == 0)


class Relay:
    """Passes bytes on as a bad network would, from HOST to the server."""

    def __init__(self, port: int, delay: float, loss: float):
        self.port, self.delay, self.loss = port, delay, loss
        self.rng = random.Random(1)
        self.socket = socket.create_server((HOST, 0))
        self.address = f"{HOST}:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                near, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(near,),
                             daemon=True).start()

    def serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self.port)) as far:
            while True:
                for link in select.select([near, far], [], [])[0]:
                    try:
                        data = link.recv(self.rng.randrange(1, 65536))
                        if not data or self.rng.random() < self.loss:
                            return
                        time.sleep(self.delay * self.rng.random())
                        (far if link is near else near).sendall(data)
                    except OSError:
                        return


def bad_network(binary: str, _) -> Patient:
    with Link() as link:
        port = free_port()
        with Patient(binary, f"--listen={HOST}:{port}") as patient:
            for delay, loss in (("20ms", "0%"), ("5ms", "3%"), ("1ms", "20%")):
                if link.shape("delay", delay, "loss", loss):
                    address = f"{HOST}:{port}"
                    name = f"netem, delay {delay}, loss {loss}"
                else:
                    relay = Relay(patient.port, float(delay[:-2]) / 500,
                                  float(loss[:-1]) / 1000)
                    address = relay.address
                    name = (f"no netem here, a relay instead: delay {delay}, "
                            f"{loss} of connections dropped at a time")
                settle(patient, call_from_inside(address, 6), name)
            relay = Relay(patient.port, 0, 0)
            client = call_from_inside(relay.address, 10)
            for _ in range(3):
                time.sleep(1.5)
                link.set("down")
                time.sleep(0.5)
                link.set("up")
            settle(patient, client, "the link goes down and up")
    return patient


ROWS = {"network delay and loss between namespaces": bad_network}

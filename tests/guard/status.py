#!/usr/bin/python3
"""axisctl status and top: what they say is what there is.

Usage: status.py AXISD AXISCTL
"""

import pathlib
import re
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import Axisd, Checks, channel, free_port, outcome, pb, stubs

RATE = 50


def call(server: Axisd, stop: threading.Event) -> None:
    """RATE calls a second, every fifth of them wrong."""
    tensor = pb.Tensor(data_type="DATA_TYPE_U8", shape=[2, 3], data=b"abcdef")
    with channel(server.address) as link:
        stub = stubs.TensorServiceStub(link)
        due, n = time.monotonic(), 0
        while not stop.is_set():
            n += 1
            outcome(stub.Transpose, pb.TransposeRequest(
                input=tensor, op=pb.Transpose(order=[0, 7 if n % 5 == 0
                                                     else 1])))
            due += 1 / RATE
            time.sleep(max(0.0, due - time.monotonic()))


def run(axisctl: str, server: Axisd, *words: str, **how):
    return subprocess.run(
        [axisctl, f"--server={server.address}",
         f"--metrics=127.0.0.1:{server.metrics_port}", *words],
        capture_output=True, text=True, timeout=30, **how)


def main() -> None:
    check, (axisd, axisctl) = Checks(), sys.argv[1:3]
    with Axisd(axisd, "--max_inflight_calls=77") as server:
        stop = threading.Event()
        caller = threading.Thread(target=call, args=(server, stop))
        caller.start()
        time.sleep(0.5)
        ran = run(axisctl, server, "status")
        said = ran.stdout
        check("status succeeds", ran.returncode == 0, ran)
        for part in ("SERVING", "gRPC 1.", "of 2 GiB in flight",
                     "of 77 large calls"):
            check(f"it says '{part}'", part in said, said)
        found = re.search(r"calls +([\d.]+)/s, ([\d.]+)/s of them not OK", said)
        rates = [float(g) for g in found.groups()] if found else [0, 0]
        check("the rates are those of the calls",
              abs(rates[0] - RATE) < RATE / 3 and
              abs(rates[1] - RATE / 5) < RATE / 8, said)
        row = re.search(r"^Transpose +([\d.]+) +([\d.]+) +(\S+ \S+) +(\S+ \S+)$",
                        said, re.M)
        check("and there is a row for the method", row and
              abs(float(row[1]) - RATE) < RATE / 3, said)
        check("no row for those that are not called",
              "RunPipeline" not in said, said)
        top = subprocess.Popen(
            [axisctl, f"--server={server.address}", "--every=300ms",
             f"--metrics=127.0.0.1:{server.metrics_port}", "top"],
            stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        top.terminate()
        shown = top.communicate()[0]
        check("top shows it again and again", 3 <= shown.count("server ") <= 8,
              shown.count("server "))
        stop.set()
        caller.join()
        ran = run(axisctl, server, f"--metrics=127.0.0.1:{free_port()}",
                  "status")
        check("no metrics are told", ran.returncode == 2 and
              "no metrics at --metrics=" in ran.stderr, ran)
        ran = run(axisctl, server, f"--metrics={server.address}",
                  "--timeout=2s", "status")
        check("so is what is none", ran.returncode == 2 and
              "--metrics=" in ran.stderr, ran)
    check.finish("axisctl status and top")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Every kind of client at once, for a while: mixed sizes, types, ops, errors,
cancellations; each answer verified, and what the server takes sampled.

Usage: run.py AXISD [MINUTES] [FOLDER]

Writes soak.json and soak.svg to FOLDER. Ends with an error if an answer is
wrong or lost, or if memory, descriptors or threads grow after warming up; the
memory of a build with a sanitizer may, since that keeps what it has seen.
"""

import collections
import json
import pathlib
import random
import re
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
for _folder in ("e2e", "oip", "conformance"):
    sys.path.insert(0, str(ROOT / _folder))

from harness import (MIB, Axisd, Refusal, channel, oip_stubs,  # noqa: E402
                     outcome, pb, stubs)

from chart import chart  # noqa: E402
from traffic import TIMEOUT, Inference, all_cells  # noqa: E402

WARM = 0.25          # of the time, before growth counts
GROWTH = 20 * MIB


class Soak:
    def __init__(self, server: Axisd, seconds: float):
        self.server, self.seconds = server, seconds
        self.cells = all_cells()
        self.counts, self.examples = collections.Counter(), {}
        self.samples, self.lock = [], threading.Lock()
        self.start = time.monotonic()

    def count(self, kind: str, how: str, example="") -> None:
        with self.lock:
            self.counts[f"{kind} {how}"] += 1
            if how != "right":
                self.examples.setdefault(f"{kind} {how}", str(example)[:300])

    def attempt(self, kind: str, call, *arguments) -> None:
        try:
            right = call(*arguments)
            self.count(kind, "right" if right else "wrong", arguments)
        except Exception as error:  # whatever it is, the call was lost
            self.count(kind, "lost", error)

    def is_over(self) -> bool:
        return time.monotonic() > self.start + self.seconds

    def native(self, seed: int) -> None:
        rng = random.Random(seed)
        with channel(self.server.address) as link:
            stub = stubs.TensorServiceStub(link)
            while not self.is_over():
                self.attempt("native", rng.choice(self.cells).run, stub)

    def small(self, seed: int) -> None:
        """Many small calls in flight on one connection."""
        rng = random.Random(seed)
        mine = [c for c in self.cells if c.method == "Transpose" and
                len(c.tensor.data) < 4096]
        with channel(self.server.address) as link:
            method = stubs.TensorServiceStub(link).Transpose
            while not self.is_over():
                batch = [rng.choice(mine) for _ in range(64)]
                futures = [(c, method.future(c.request, timeout=TIMEOUT))
                           for c in batch]
                for cell, future in futures:
                    self.attempt("native small", lambda: [
                        (list(o.shape), o.data)
                        for o in [future.result().output]] == cell.wanted)

    def inference(self, seed: int) -> None:
        rng = random.Random(seed)
        with channel(self.server.address) as link:
            inference = Inference(oip_stubs.GRPCInferenceServiceStub(link))
            while not self.is_over():
                kind = rng.choice(["infer", "stream", "share"])
                self.attempt("OIP " + kind, getattr(inference, kind))
            inference.close()

    def trouble(self, seed: int) -> None:
        """Wrong requests, and right ones that are cancelled."""
        rng = random.Random(seed)
        while not self.is_over():
            with channel(self.server.address) as link:
                stub = stubs.TensorServiceStub(link)
                for _ in range(20):
                    cell = rng.choice(self.cells)
                    if cell.method == "StreamPipeline":
                        call = stub.StreamPipeline(cell.messages(),
                                                   timeout=TIMEOUT)
                        time.sleep(rng.random() * 0.01)
                        call.cancel()
                        self.count("cancelled", "right")
                    elif cell.method == "Transpose":
                        future = stub.Transpose.future(cell.request,
                                                       timeout=TIMEOUT)
                        time.sleep(rng.random() * 0.003)
                        future.cancel()
                        self.count("cancelled", "right")
                    else:
                        wrong = pb.TransposeRequest(
                            input=cell.tensor, op=pb.Transpose(order=[7]))
                        answer = outcome(stub.Transpose, wrong, TIMEOUT)
                        good = (isinstance(answer, Refusal) and
                                answer.code == "INVALID_ARGUMENT" and
                                answer.fields[0].startswith("op.order"))
                        self.count("refused", "right" if good else "wrong",
                                   answer)

    def sample(self) -> None:
        folder = pathlib.Path(f"/proc/{self.server.process.pid}")
        while not self.is_over():
            self.samples.append({
                "seconds": round(time.monotonic() - self.start, 1),
                "rss": self.server.memory(),
                "fds": len(list((folder / "fd").iterdir())),
                "threads": len(list((folder / "task").iterdir())),
                "answers": sum(self.counts.values())})
            time.sleep(max(0.5, self.seconds / 400))

    def run(self) -> None:
        work = [self.native, self.native, self.small, self.inference,
                self.trouble]
        threads = [threading.Thread(target=f, args=(k,))
                   for k, f in enumerate(work)]
        threads.append(threading.Thread(target=self.sample))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    folder = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else ".")
    with Axisd(sys.argv[1], "--allow_shared_memory",
               "--max_inflight_bytes=512MiB", "--max_message_bytes=64MiB",
               "--max_connection_age=1h",
               "--threads=8") as server:  # so that several poll
        soak = Soak(server, minutes * 60)
        soak.run()
        time.sleep(1)
        held = server.metrics()["axisd_inflight_bytes"]
    after = [s for s in soak.samples if s["seconds"] > minutes * 60 * WARM]
    third = max(1, len(after) // 3)
    middle = lambda rows, key: sorted(r[key] for r in rows)[len(rows) // 2]
    growth = {key: middle(after[-third:], key) - middle(after[:third], key)
              for key in ("rss", "fds", "threads")}
    bad = {k: n for k, n in soak.counts.items() if not k.endswith("right")}
    answers = sum(n for k, n in soak.counts.items() if k.endswith("right"))
    for kind, n in sorted(soak.counts.items()):
        print(f"{n:>10} {kind}" + (f": {soak.examples[kind]}"
                                   if kind in bad else ""))
    result = {"minutes": minutes, "answers": answers, "bad": bad,
              "counts": soak.counts, "growth": growth, "held": held,
              "rss_max": max(s["rss"] for s in soak.samples)}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "soak.json").write_text(json.dumps(result, indent=1))
    (folder / "soak.svg").write_text(chart(soak.samples))
    sanitized = re.search(rb"__[at]san_init",
                          pathlib.Path(sys.argv[1]).read_bytes())
    good = (not bad and not held and
            (sanitized or growth["rss"] < GROWTH) and
            growth["fds"] <= 8 and growth["threads"] <= 8)
    print(f"summary: soak of {minutes:g} minutes: {answers} answers verified, "
          f"{sum(bad.values())} wrong or lost, RSS grew by "
          f"{growth['rss'] / MIB:.1f} MiB after warming up, "
          f"{growth['fds']} descriptors, {growth['threads']} threads")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

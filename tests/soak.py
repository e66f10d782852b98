#!/usr/bin/python3
"""Every kind of client at once, for a while: mixed sizes, types, ops, errors,
cancellations; each answer verified, and what the server takes sampled.

Usage: soak.py AXISD [MINUTES] [FOLDER]

Writes soak.json and soak.svg to FOLDER. Ends with an error if an answer is
wrong or lost, or if memory, descriptors or threads grow after warming up.
"""

import collections
import json
import pathlib
import random
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent
for _folder in ("e2e", "oip", "conformance"):
    sys.path.insert(0, str(ROOT / _folder))

from harness import (MIB, Axisd, Refusal, channel, oip,  # noqa: E402
                     oip_stubs, outcome, pb, stubs)

import cells  # noqa: E402
import numpy as np  # noqa: E402
from memory import SharedMemory  # noqa: E402

TIMEOUT = 600        # seconds; a call is lost after that, and only then
WARM = 0.25          # of the time, before growth counts
GROWTH = 20 * MIB
TYPES = ["U8", "F32", "F64", "BF16", "U4", "U1", "C128", "STRING"]
SHAPES = [(3, 12, 5), (1, 20, 3, 2), (2, 17), (4, 32, 28, 28)]


class Cell:
    """A call and its answer, made once and sent often."""

    def __init__(self, name: str, shape: tuple, layout: str, call: tuple):
        method, fields, op = call
        index = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
        elements = cells.Elements(name, index.size)
        kind = "NCX" if layout == "UNSPECIFIED" else layout
        self.method = method
        self.tensor = pb.Tensor(data_type="DATA_TYPE_" + name, shape=shape,
                                layout="LAYOUT_" + layout,
                                data=elements.stored(index, kind, 0xA5))
        self.fields = fields
        self.wanted = [(list(e.shape), elements.stored(e, kind, 0))
                       for e in op(index)]
        self.pieces = [self.tensor]
        if method == "StreamPipeline":
            data = self.tensor.data
            header = pb.Tensor()
            header.CopyFrom(self.tensor)
            header.data = b""
            step = len(data) // 5 + 1
            self.pieces = [header] + [pb.Tensor(data=data[at:at + step])
                                      for at in range(0, len(data), step)]
        elif method == "RunPipeline":
            self.request = pb.RunPipelineRequest(inputs=[self.tensor],
                                                 **fields)
        else:
            self.request = getattr(pb, method + "Request")(
                input=self.tensor, **fields)

    def messages(self):
        for k, piece in enumerate(self.pieces):
            yield pb.StreamPipelineRequest(input=piece,
                                           **(self.fields if not k else {}))

    def run(self, stub) -> bool:
        if self.method == "StreamPipeline":
            found = []
            for message in stub.StreamPipeline(self.messages(),
                                               timeout=TIMEOUT):
                piece = message.output
                if piece.data_type:
                    found.append((list(piece.shape), []))
                found[-1][1].append(piece.data)
            return [(s, b"".join(d)) for s, d in found] == self.wanted
        answer = getattr(stub, self.method)(self.request, timeout=TIMEOUT)
        outputs = (answer.outputs if hasattr(answer, "outputs") else
                   [answer.output])
        return [(list(o.shape), o.data) for o in outputs] == self.wanted


def all_cells() -> list:
    found = []
    for shape in SHAPES:
        for call in cells.calls(shape):
            for name in TYPES:
                # Python takes long to spell these.
                if cells.BITS[name] < 8 and np.prod(shape) > 2000:
                    continue
                if name == "STRING" and call[0] == "StreamPipeline":
                    continue
                layouts = ["UNSPECIFIED"]
                if cells.BITS[name] >= 8:
                    layouts += ["NXC", "NCX8C"]
                found += [Cell(name, shape, layout, call)
                          for layout in layouts]
    return found


class Inference:
    """Calls of the Open Inference Protocol, over the wire and in memory."""

    def __init__(self, stub):
        self.stub = stub
        x = np.arange(96 * 4096, dtype=np.float32).reshape(96, 4096)
        self.wanted = x.T.tobytes()
        self.request = oip.ModelInferRequest(model_name="Transpose")
        self.request.inputs.add(name="arg", datatype="FP32", shape=x.shape)
        self.request.inputs.add(name="input_order", datatype="INT64",
                                shape=[2])
        order = np.array([1, 0], np.int64).tobytes()
        self.shared = oip.ModelInferRequest()
        self.shared.CopyFrom(self.request)
        self.request.raw_input_contents.extend([x.tobytes(), order])
        self.shared.raw_input_contents.append(order)
        self.regions = {}
        for name, data in (("in", x.tobytes()), ("out", bytes(x.nbytes))):
            region = self.regions[name] = SharedMemory(data)
            stub.SystemSharedMemoryRegister(
                oip.SystemSharedMemoryRegisterRequest(
                    name=name, key=region.key, byte_size=x.nbytes))
        for target, name in ((self.shared.inputs[0], "in"),
                             (self.shared.outputs.add(name="output"), "out")):
            target.parameters["shared_memory_region"].string_param = name
            target.parameters["shared_memory_byte_size"].int64_param = x.nbytes

    def infer(self) -> bool:
        answer = self.stub.ModelInfer(self.request, timeout=TIMEOUT)
        return list(answer.raw_output_contents) == [self.wanted]

    def stream(self) -> bool:
        answers = list(self.stub.ModelStreamInfer(iter([self.request] * 3),
                                                  timeout=TIMEOUT))
        return [a.infer_response.raw_output_contents[0] for a in answers] == (
            [self.wanted] * 3)

    def share(self) -> bool:
        self.stub.ModelInfer(self.shared, timeout=TIMEOUT)
        return self.regions["out"].read(len(self.wanted)) == self.wanted

    def close(self) -> None:
        for region in self.regions.values():
            region.close()


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


def chart(samples: list) -> str:
    """RSS, descriptors and threads over time, as SVG."""
    width, height, step = 640, 110, 140
    end = max(samples[-1]["seconds"], 1)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 120}" '
           f'height="{3 * step + 20}" font-family="sans-serif" '
           'font-size="12">']
    rows = (("rss", "RSS, MiB", MIB), ("fds", "descriptors", 1),
            ("threads", "threads", 1))
    for k, (key, name, unit) in enumerate(rows):
        top = max(s[key] for s in samples) / unit * 1.1 or 1
        points = " ".join(
            f"{60 + s['seconds'] / end * width:.1f},"
            f"{20 + k * step + height * (1 - s[key] / unit / top):.1f}"
            for s in samples)
        out.append(
            f'<text x="60" y="{14 + k * step}">{name}</text>'
            f'<text x="4" y="{30 + k * step}">{top:.0f}</text>'
            f'<text x="4" y="{20 + k * step + height}">0</text>'
            f'<rect x="60" y="{20 + k * step}" width="{width}" '
            f'height="{height}" fill="none" stroke="#999"/>'
            f'<polyline points="{points}" fill="none" stroke="#06c"/>')
    out.append(f'<text x="{width - 20}" y="{3 * step + 10}">'
               f'{end / 60:.1f} minutes</text></svg>')
    return "\n".join(out)


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    folder = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else ".")
    with Axisd(sys.argv[1], "--allow_shared_memory",
               "--max_inflight_bytes=512MiB", "--max_message_bytes=64MiB",
               "--max_connection_age=1h") as server:
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
    good = (not bad and not held and growth["rss"] < GROWTH and
            growth["fds"] <= 8 and growth["threads"] <= 8)
    print(f"summary: soak of {minutes:g} minutes: {answers} answers verified, "
          f"{sum(bad.values())} wrong or lost, RSS grew by "
          f"{growth['rss'] / MIB:.1f} MiB after warming up, "
          f"{growth['fds']} descriptors, {growth['threads']} threads")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

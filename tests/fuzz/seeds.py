#!/usr/bin/python3
"""Writes the inputs that fuzzing begins with, a folder for each target.

Usage: seeds.py FOLDER

They are the conformance cases and the bounds of axis.v1 as messages, and a
file of each kind that is read; what has no such form is bytes of a fixed seed.
"""

import hashlib
import json
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for _folder in ("e2e", "conformance", "oip"):
    sys.path.insert(0, str(ROOT / "tests" / _folder))

import jobs  # noqa: E402
import limits  # noqa: E402
import models  # noqa: E402
import oip_protocol  # noqa: E402
import run  # noqa: E402
from harness import pb  # noqa: E402

METHODS = ["Transpose", "ShuffleChannels", "VariadicSplit", "Shuffle",
           "RunPipeline"]
MAX_BYTES = 4096  # larger inputs only make fuzzing slower


class Seeds:
    def __init__(self, folder: pathlib.Path):
        self.folder, self.count = folder, 0

    def add(self, target: str, data: bytes) -> None:
        if len(data) > MAX_BYTES:
            return
        folder = self.folder / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)
        self.count += 1

    def request(self, method: str, message) -> None:
        self.add("requests", bytes([METHODS.index(method)]) + bytes(8) +
                 message.SerializeToString())

    def infer(self, message) -> None:
        self.add("infer", b"\xff" + message.SerializeToString())


def case_requests() -> list:
    """(method, request) of every call that a conformance case asks for."""
    found = []
    for case in json.loads(
            (ROOT / "tests/conformance/cases.json").read_text())["cases"]:
        try:
            for job in jobs.jobs(case):
                if not isinstance(job, jobs.Unspeakable):
                    found.append((run.METHODS[job.op],
                                  run.request(job, case["in_shape"])))
        except (jobs.Unspeakable, AssertionError):
            pass
    return found


def limit_requests() -> list:
    """Those at and past every bound."""
    found = []
    for method, tensor, op, *_ in limits.WRONG + limits.RIGHT:
        request = getattr(pb, method + "Request")()
        if tensor is not None:
            request.input.CopyFrom(pb.Tensor(**tensor))
        if op is not None:
            request.op.CopyFrom(getattr(pb, method)(**op))
        found.append((method, request))
    for inputs, ops, _ in limits.PIPELINES:
        found.append(("RunPipeline", pb.RunPipelineRequest(
            inputs=[pb.Tensor(**tensor) for tensor in inputs],
            ops=[pb.Op(**op) for op in ops])))
    return found


def message(data: bytes) -> bytes:
    """A message of a stream as its fuzz target reads it."""
    size = min(len(data), 400)
    return bytes([size >> 8, size & 255]) + data[:size]


def stream_of(request, pieces: int) -> bytes:
    out = pb.StreamPipelineRequest(input=request.input)
    for field in ("transpose", "shuffle_channels", "variadic_split", "shuffle"):
        if type(request.op).__name__.lower() == field.replace("_", ""):
            getattr(out.ops.add(), field).CopyFrom(request.op)
    data, out.input.data = out.input.data, b""
    step = max(1, len(data) // pieces)
    return message(out.SerializeToString()) + b"".join(
        message(pb.StreamPipelineRequest(input=pb.Tensor(
            data=data[at:at + step])).SerializeToString())
        for at in range(0, len(data), step))


def add_elements(seeds: Seeds, tensor) -> None:
    head = bytes([tensor.data_type % 29,
                  (tensor.shape[0] if tensor.shape else 1) % 21])
    if tensor.HasField("values"):
        seeds.add("elements", b"\1" + head + bytes(8) +
                  tensor.values.SerializeToString())
    if tensor.data_type == pb.DataType.Value("DATA_TYPE_STRING"):
        seeds.add("elements", b"\3" + head + bytes(8) + tensor.data)


class Recorder:
    """Stands in for a server: keeps what it is asked."""

    def __init__(self, seeds: Seeds):
        self.seeds = seeds
        self.inference = self.channel = self.health = self

    def ModelInfer(self, request, **_):
        self.seeds.infer(request)
        for tensor in request.inputs:
            for count in (1, 2, 6):
                self.seeds.add("elements", bytes([2, 0, count]) + bytes(8) +
                               tensor.contents.SerializeToString())

    def __getattr__(self, _):
        return lambda *args, **kwargs: None


def add_models(seeds: Seeds) -> None:
    for ir_file, _ in [*models.specifications().values(),
                       (models.graph(), None)]:
        seeds.add("models", b"I" + ir_file.text().encode() + b"\0" +
                  ir_file.data)
    for path in sorted((ROOT / "tests/clients/models").glob("*.textproto")):
        seeds.add("models", path.read_bytes())
    for text in ('name: "p" input { name: "x" data_type: DATA_TYPE_U4 '
                 'shape: [2, -1] } ops { transpose {} } '
                 'ops { variadic_split { split_lengths: [1, -1] } } '
                 'ops { shuffle { axis: 1 group_size: 2 '
                 'direction: DIRECTION_BACKWARD } }',
                 'ops { shuffle_channels { axis: -1 group: 3 } }', ""):
        seeds.add("models", text.encode())


def add_npy(seeds: Seeds) -> None:
    import io

    import numpy as np
    for dtype in ("<f4", ">f8", "|u1", "<c16", "|b1", ">i2", "|V2", "<U3"):
        for shape in ((), (2, 3), (0, 4), (2, 1, 2)):
            for order in ("C", "F"):
                file = io.BytesIO()
                np.save(file, np.zeros(shape, dtype, order))
                seeds.add("npy", b"\0" + file.getvalue())
    seeds.add("npy", b"\7\3\1\1\2\2\3" + file.getvalue())


def main() -> None:
    seeds = Seeds(pathlib.Path(sys.argv[1]))
    noise = random.Random(1)
    requests = case_requests() + limit_requests()
    for method, request in requests:
        seeds.request(method, request)
        if method != "RunPipeline" and len(request.input.data) < 2000:
            seeds.add("stream", stream_of(request, noise.randint(1, 4)))
            tensor = request.input
            add_elements(seeds, tensor)
    protocol = oip_protocol.Protocol(Recorder(seeds))
    for name in dir(protocol):
        if name.startswith("infer_"):
            try:
                getattr(protocol, name)()
            except (TypeError, AttributeError):
                pass
    add_models(seeds)
    add_npy(seeds)
    for target in ("program", "plan", "elements"):
        for _ in range(400):
            seeds.add(target, noise.randbytes(noise.randint(8, 80)))
    print(f"summary: fuzzing begins with {seeds.count} seeds")


if __name__ == "__main__":
    main()

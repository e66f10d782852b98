#!/usr/bin/python3
"""Random OpenVINO IR in OpenVINO and in axisd: the same files, equal bytes.

Usage: openvino_ir.py AXISD [GRAPHS]
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "clients")]

from harness import Axisd, Checks, Refusal, oip, outcome  # noqa: E402
from ir import Ir  # noqa: E402
from venv_of import python_with  # noqa: E402

# Element types that NumPy has, by their names in IR and in the protocol.
TYPES = {"u8": "UINT8", "i8": "INT8", "u16": "UINT16", "i16": "INT16",
         "u32": "UINT32", "i32": "INT32", "u64": "UINT64", "i64": "INT64",
         "f16": "FP16", "f32": "FP32", "f64": "FP64", "boolean": "BOOL"}
NUMPY = {"f16": "f2", "f32": "f4", "f64": "f8", "boolean": "?"}
INDEX_TYPES = ["i32", "i64"]  # what OpenVINO's own front ends write


def numpy_type(name: str) -> str:
    return NUMPY.get(name) or name[0] + str(int(name[1:]) // 8)


class RandomGraph:
    """A graph of our ops on a few inputs, some shapes unknown beforehand."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.ir = Ir()
        self.inputs = {}             # name -> array
        self.tensors = []            # (where it comes from, shape)
        self.ends = []               # tensors that nobody reads yet
        for k in range(self.pick(1, 2)):
            self.add_input(f"in{k}")
        for _ in range(self.pick(1, 6)):
            self.add_op()
        for k, (source, _) in enumerate(self.ends[:8]):
            self.ir.result(source, f"out{k}")
        self.outputs = min(len(self.ends), 8)

    def pick(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def index(self, values) -> tuple:
        kind = INDEX_TYPES[self.pick(0, 1)]
        return self.ir.constant(np.array(values, numpy_type(kind)))

    def add_input(self, name: str) -> None:
        kind = list(TYPES)[self.pick(0, len(TYPES) - 1)]
        shape = [self.pick(1, 12) for _ in range(self.pick(1, 5))]
        bits = self.random.integers(0, 2 if kind == "boolean" else 100, shape)
        self.inputs[name] = kind, bits.astype(numpy_type(kind))
        said = [d if self.pick(0, 4) else "?" for d in shape]
        source = self.ir.parameter(name, kind, said)
        self.add_tensor(source, shape)

    def add_tensor(self, source, shape) -> None:
        self.tensors.append((source, list(shape)))
        self.ends.append((source, list(shape)))

    def add_op(self) -> None:
        tensor = self.tensors[self.pick(0, len(self.tensors) - 1)]
        source, shape = tensor
        if tensor in self.ends and self.pick(0, 3):
            self.ends.remove(tensor)
        rank = len(shape)
        axis = self.pick(0, rank - 1)
        said = axis - rank if self.pick(0, 1) else axis
        extent = shape[axis]
        kind = self.pick(0, 3)
        if kind == 0:
            order = self.random.permutation(rank).tolist()
            given = [] if order == order[::-1] or self.pick(0, 4) == 0 else (
                order)
            order = given or list(range(rank))[::-1]
            out = [[shape[a] for a in order]]
            layer = self.ir.add("Transpose", {}, [source, self.index(given)],
                                out)
            ports = 2
        elif kind == 1:
            groups = [g for g in range(1, extent + 1) if extent % g == 0]
            group = groups[self.pick(0, len(groups) - 1)]
            out = [shape]
            layer = self.ir.add("ShuffleChannels",
                                {"axis": said, "group": group}, [source], out)
            ports = 1
        elif kind == 2 and extent > 1:
            cuts = sorted({self.pick(1, extent - 1) for _ in range(2)})
            lengths = np.diff([0, *cuts, extent]).tolist()
            out = [shape[:axis] + [n] + shape[axis + 1:] for n in lengths]
            if self.pick(0, 1):
                lengths[self.pick(0, len(lengths) - 1)] = -1
            layer = self.ir.add("VariadicSplit", {}, [
                source, self.index(said), self.index(lengths)], out)
            ports = 3
        else:
            counts = [n for n in range(1, extent + 1) if extent % n == 0]
            count = counts[self.pick(0, len(counts) - 1)]
            out = [shape[:axis] + [extent // count] + shape[axis + 1:]] * count
            layer = self.ir.add("Split", {"num_splits": count},
                                [source, self.index(said)], out)
            ports = 2
        for k, made in enumerate(out):
            self.add_tensor((layer, ports + k), made)


# Runs in an environment that has OpenVINO: folder, names of the graphs.
IN_OPENVINO = """
import sys
import numpy as np
import openvino
core = openvino.Core()
folder = sys.argv[1]
for name in open(folder + "/names").read().split():
    try:
        model = core.compile_model(core.read_model(f"{folder}/{name}.xml"),
                                   "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        given = np.load(f"{folder}/{name}.in.npz")
        answer = model([given[k] for k in sorted(given)])
        np.savez(f"{folder}/{name}.out.npz",
                 *[answer[k] for k in range(len(model.outputs))])
    except Exception as error:
        print("OpenVINO cannot run", name, " ".join(str(error).split())[-200:])
"""


def request(name: str, graph: RandomGraph):
    out = oip.ModelInferRequest(model_name=name)
    for tensor, (kind, x) in graph.inputs.items():
        out.inputs.add(name=tensor, datatype=TYPES[kind], shape=x.shape)
        out.raw_input_contents.append(x.tobytes())
    return out


def main() -> None:
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    python = python_with("openvino", "openvino", "numpy")
    check, compared = Checks(), 0
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        graphs = {f"graph{k}": RandomGraph(k) for k in range(count)}
        for name, graph in graphs.items():
            graph.ir.write(folder, name)
            np.savez(folder / f"{name}.in.npz",
                     **{n: x for n, (_, x) in graph.inputs.items()})
        (folder / "names").write_text(" ".join(graphs))
        subprocess.run([python, "-c", IN_OPENVINO, path], check=True,
                       timeout=500)
        with Axisd(sys.argv[1], f"--models={path}") as server:
            for name, graph in graphs.items():
                answer = outcome(server.inference.ModelInfer,
                                 request(name, graph))
                if not check(f"{name} runs in axisd",
                             not isinstance(answer, Refusal), answer):
                    continue
                found = folder / f"{name}.out.npz"
                if not found.exists():
                    continue
                compared += 1
                wanted = list(np.load(found).values())
                check(f"{name}: as many outputs, of the same shapes",
                      [list(o.shape) for o in answer.outputs] ==
                      [list(w.shape) for w in wanted], answer)
                check(f"{name}: equal bytes",
                      list(answer.raw_output_contents) ==
                      [w.tobytes() for w in wanted])
    print(f"{compared} of {count} graphs ran in OpenVINO and in axisd")
    check("two thirds of the graphs or more run in both",
          compared >= count * 2 // 3, compared)
    check.finish(f"OpenVINO IR, {compared} graphs in both")


if __name__ == "__main__":
    main()

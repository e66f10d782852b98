#!/usr/bin/python3
"""Programs and OpenVINO IR as models, and what no file of them may do.

Usage: models.py AXISD
"""

import contextlib
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import MIB, Axisd, Checks, Refusal, oip, outcome  # noqa: E402
from broken_models import PROGRAMS, broken_irs  # noqa: E402
from ir import Ir  # noqa: E402
from printed import specifications  # noqa: E402


def request(model: str, x: np.ndarray, name: str = "data",
            datatype: str = "FP32"):
    out = oip.ModelInferRequest(model_name=model)
    out.inputs.add(name=name, datatype=datatype, shape=x.shape)
    out.raw_input_contents.append(x.tobytes())
    return out


def holds(answer, wanted: list) -> bool:
    return (not isinstance(answer, Refusal) and
            [list(o.shape) for o in answer.outputs] ==
            [list(w.shape) for w in wanted] and
            list(answer.raw_output_contents) == [w.tobytes() for w in wanted])


def check_specifications(check: Checks, server: Axisd) -> None:
    for name, (ir, expected) in specifications().items():
        shape = [int(d) for d in ir.layers[0].split('shape="')[1]
                 .split('"')[0].split(",")]
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        answer = outcome(server.inference.ModelInfer, request(name, x))
        check(f"the example {name} of the specification runs",
              holds(answer, expected(x)), answer)


def graph() -> Ir:
    """Two inputs, a constant, an op that two others read, unused pieces."""
    ir = Ir()
    a = ir.parameter("a", "u8", ["?", 6])
    b = ir.parameter("b", "dynamic", ["1..9", 4])
    constant = ir.constant(np.arange(6, dtype=np.int16).reshape(2, 3))
    order = ir.constant(np.array([1, 0], np.int32))
    turned = ir.add("Transpose", {}, [a, order], [[6, -1]]), 2
    axis = ir.constant(np.array([-2], np.int8))
    halves = ir.add("Split", {"num_splits": 2}, [turned, axis],
                    [[3, -1]] * 2)
    shuffled = ir.add("ShuffleChannels", {"axis": 0, "group": 3}, [turned],
                      [[6, -1]]), 1
    back = ir.add("Transpose", {}, [constant, order], [[3, 2]]), 2
    ir.result((halves, 3), "second half")
    ir.result(shuffled, "shuffled")
    ir.result(back, "constant")
    ir.result(b, "b again")
    ir.result(turned, "turned")
    return ir


def check_graph(check: Checks, server: Axisd) -> None:
    a = np.arange(30, dtype=np.uint8).reshape(5, 6)
    b = np.arange(8, dtype=np.float64).reshape(2, 4)
    ask = request("graph", a, "a", "UINT8")
    ask.inputs.add(name="b", datatype="FP64", shape=b.shape)
    ask.raw_input_contents.append(b.tobytes())
    wanted = [a.T[3:], a.T.reshape(3, 2, 5).swapaxes(0, 1).reshape(6, 5),
              np.arange(6, dtype=np.int16).reshape(2, 3).T, b, a.T]
    answer = outcome(server.inference.ModelInfer, ask)
    check("a graph runs", holds(answer, wanted), answer)
    ask.outputs.add(name="turned")
    ask.outputs.add(name="constant")
    answer = outcome(server.inference.ModelInfer, ask)
    check("a part of it too", holds(answer, [wanted[4], wanted[2]]), answer)
    del ask.outputs[:]
    for datatype, shape, data in (("INT8", [5, 6], a.tobytes()),
                                  ("UINT8", [6, 5], a.tobytes()),
                                  ("UINT8", [30], a.tobytes())):
        ask.inputs[0].datatype, ask.inputs[0].shape[:] = datatype, shape
        answer = outcome(server.inference.ModelInfer, ask)
        check(f"the constraints are kept: {datatype} {shape}",
              isinstance(answer, Refusal) and
              answer.code == "INVALID_ARGUMENT" and
              answer.fields[0].startswith("inputs[0]."), answer)


def check_refused(check: Checks, axisd: str, folder: pathlib.Path) -> None:
    said = {}
    for name, (text, data, log) in broken_irs().items():
        (folder / f"{name}.xml").write_text(text)
        if data is not None:
            (folder / f"{name}.bin").write_bytes(data)
        said[f"{name}.xml"] = log
    for name, (text, log) in PROGRAMS.items():
        (folder / f"{name}.textproto").write_text(text)
        said[f"{name}.textproto"] = log
    with open(folder / "big.xml", "wb") as file:
        file.truncate(1 << 30)
    os.mkfifo(folder / "pipe.xml")
    (folder / "folder.xml").mkdir()
    (folder / "nowhere.xml").symlink_to("/nowhere")
    said |= {"big.xml": "at most", "pipe.xml": "regular",
             "folder.xml": "regular", "nowhere.xml": "opened"}
    start = time.monotonic()
    with Axisd(axisd, f"--models={folder}") as server:
        seconds, peak = time.monotonic() - start, server.memory("VmHWM")
        lines = [line for line in server.output().splitlines()
                 if "model not served" in line]
        print(f"{len(said)} files that cannot be served: {seconds:.2f} s, "
              f"{peak / MIB:.0f} MiB")
        check("files that cannot be served take less than 2 s", seconds < 2,
              seconds)
        check("and less than 200 MiB", peak < 200 * MIB, peak)
        for name, log in said.items():
            found = [line for line in lines if f"/{name}" in line]
            check(f"the log names {name} and says why", len(found) == 1 and
                  any(part in found[0] for part in log.split("|")), found)
        check_specifications(check, server)
        check_graph(check, server)
        shutil.rmtree(folder)
        time.sleep(0.1)
        check_graph(check, server)


def check_missing_folder(check: Checks, axisd: str) -> None:
    with Axisd(axisd, "--models=/nowhere/at/all") as server:
        check("a folder that is not there is named in the log",
              "/nowhere/at/all" in server.output(), server.output())
        check("and the ops are served", outcome(
            server.inference.ModelReady,
            oip.ModelReadyRequest(name="Transpose")).ready)
    name = "/nowhere\t" + "\u00e4" * 1000
    with Axisd(axisd, f"--models={name}", "--log_format=json") as server:
        found = [entry for entry in map(json.loads, server.output().splitlines())
                 if "folder" in entry and "reason" in entry]
        check("a name of any length and letters makes one line of JSON",
              len(found) == 1 and found[0]["folder"].endswith("\u00e4...") and
              name.startswith(found[0]["folder"][:-3]), found)


def check_many(check: Checks, axisd: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for k in range(1030):
            pathlib.Path(folder, f"{k}.textproto").write_text(
                f'name: "m{k}" ops {{ transpose {{}} }}')
        with Axisd(axisd, f"--models={folder}") as server:
            ready = [outcome(server.inference.ModelReady,
                             oip.ModelReadyRequest(name=f"m{k}"))
                     for k in range(1030)]
            served = sum(not isinstance(r, Refusal) and r.ready for r in ready)
            check("of many models 1024 are served, and the log says so",
                  served == 1024 and "more models than" in server.output(),
                  (served, server.output()))


def main() -> None:
    check, axisd = Checks(), sys.argv[1]
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        for name, (ir, _) in specifications().items():
            ir.write(folder, name)
        graph().write(folder, "graph")
        check_refused(check, axisd, folder)
    check_missing_folder(check, axisd)
    check_many(check, axisd)
    check.finish("models from files")


if __name__ == "__main__":
    main()

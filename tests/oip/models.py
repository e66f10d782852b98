#!/usr/bin/python3
"""Programs and OpenVINO IR as models, and what no file of them may do.

Usage: models.py AXISD
"""

import contextlib
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
from ir import Ir, as_printed  # noqa: E402

TRANSPOSE = """<layer ... type="Transpose">
     <input>
         <port id="0"><dim>2</dim><dim>3</dim><dim>4</dim></port>
         <port id="1"><dim>{}</dim>  < !-- {} -->
         </port>
     </input>
     <output>
         <port id="2">{}</port>
     </output>
 </layer>"""
SHUFFLE = """<layer ... type="ShuffleChannels" ...>
     <data group="3" axis="1"/>
     <input>
         <port id="0">
             <dim>5</dim> <dim>12</dim> <dim>200</dim> <dim>400</dim>
         </port>
     </input>
     <output>
         <port id="1">
             <dim>5</dim> <dim>12</dim> <dim>200</dim> <dim>400</dim>
         </port>
     </output>
 </layer>"""
SPLIT = """<layer id="1" type="VariadicSplit" ...>
<input>
<port id="0">            <!-- some data -->
<dim>6</dim> <dim>12</dim> <dim>10</dim> <dim>24</dim>
</port>
<port id="1">            <!-- axis: 0 -->
</port>
<port id="2">
<dim>{}</dim>
</port>
</input>
<output>{}</output>
</layer>"""


def dims(*extents: int) -> str:
    return "".join(f"<dim>{n}</dim>" for n in extents)


def split_layer(*lengths: int) -> str:
    return SPLIT.format(len(lengths), "".join(
        f'<port id="{3 + k}">{dims(n, 12, 10, 24)}</port>'
        for k, n in enumerate(lengths)))


def specifications() -> dict:
    """name -> (IR, shape of the input, NumPy that does the same)."""
    i64 = np.int64
    return {
        "transpose_1": (as_printed(
            TRANSPOSE.format(3, "[2, 0, 1]", dims(4, 2, 3)), [2, 3, 4],
            [np.array([2, 0, 1], i64)], 1), lambda x: [x.transpose(2, 0, 1)]),
        "transpose_2": (as_printed(
            TRANSPOSE.format(0, "input_order is an empty 1D tensor",
                             dims(4, 3, 2)), [2, 3, 4],
            [np.zeros(0, i64)], 1), lambda x: [x.transpose()]),
        "shuffle_channels": (as_printed(SHUFFLE, [5, 12, 200, 400], [], 1),
                             lambda x: [x.reshape(5, 3, 4, -1).swapaxes(1, 2)
                                        .reshape(x.shape)]),
        "variadic_split_1": (as_printed(
            split_layer(1, 2, 3), [6, 12, 10, 24],
            [np.array(0, i64), np.array([1, 2, 3], i64)], 3),
            lambda x: np.split(x, [1, 3])),
        "variadic_split_2": (as_printed(
            split_layer(4, 2), [6, 12, 10, 24],
            [np.array(0, i64), np.array([-1, 2], i64)], 2),
            lambda x: np.split(x, [4])),
    }


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


def broken_irs() -> dict:
    """name -> (text of the .xml, bytes of the .bin, what the log says)."""
    def built(change) -> Ir:
        ir = Ir()
        x = ir.parameter("data", "f32", [2, 3])
        return change(ir, x) or ir

    def transposed(ir, x, order, out=(3, 2), result=True):
        layer = ir.add("Transpose", {}, [x, order], [list(out)]), 2
        if result:
            ir.result(layer, "out")
        return layer

    def unknown(ir, x):
        ir.result((ir.add("Relu", {}, [x], [[2, 3]], "act"), 1), "out")

    def cycle(ir, x):
        order = ir.constant(np.array([1, 0]))
        a = ir.add("Transpose", {}, [(5, 2), order], [[3, 2]])
        ir.add("Result", {}, [(a, 2)], [])
        ir.add("Transpose", {}, [(a, 2), order], [[2, 3]])
        ir.edges[0] = ir.edges[0].replace('"5"', '"4"')

    def computed_order(ir, x):
        transposed(ir, x, ir.parameter("order", "i64", [2]))

    def bad_order(ir, x):
        transposed(ir, x, ir.constant(np.array([0, 2])))

    def huge(ir, x):
        ir.result(ir.parameter("huge", "f32", [2**40, 2**40]), "out")

    def huge_constant(ir, x):
        order = ir.constant(np.array([1, 0]))
        ir.layers[-1] = ir.layers[-1].replace('shape="2"', f'shape="{2**60}"')
        transposed(ir, x, order)

    def bad_size(ir, x):
        order = ir.constant(np.array([1, 0]))
        ir.layers[-1] = ir.layers[-1].replace('size="16"', 'size="8"')
        transposed(ir, x, order)

    def bad_offset(ir, x):
        order = ir.constant(np.array([1, 0]))
        ir.layers[-1] = ir.layers[-1].replace('offset="0"',
                                              f'offset="{2**63 - 1}"')
        transposed(ir, x, order)

    def dangling(ir, x):
        ir.result(x, "out")
        ir.edges.append('<edge from-layer="0" from-port="0" to-layer="99" '
                        'to-port="0"/>')

    def no_such_port(ir, x):
        ir.result((0, 7), "out")

    def unfed(ir, x):
        ir.result(transposed(ir, x, ir.constant(np.array([1, 0])),
                             result=False), "out")
        del ir.edges[1]

    def two_edges(ir, x):
        ir.result(x, "out")
        ir.edges.append(ir.edges[0])

    def many_splits(ir, x):
        ir.add("Split", {"num_splits": 2**62},
               [x, ir.constant(np.array(0))], [[1, 3]])

    whole = {name: built(f) for name, f in list(locals().items())
             if callable(f) and name not in ("built", "transposed")}
    said = {"unknown": "Relu", "cycle": "cycle", "computed_order": "Const",
            "bad_order": "order", "huge": "2^63", "huge_constant": "63",
            "bad_size": "size", "bad_offset": "bytes", "dangling": "99|end",
            "no_such_port": "not there", "unfed": "no edge",
            "two_edges": "two edges", "many_splits": "num_splits"}
    files = {name: (ir.text(), ir.data, said[name])
             for name, ir in whole.items()}
    good = built(lambda ir, x: transposed(
        ir, x, ir.constant(np.array([1, 0]))) and None)
    bomb = "".join(f'<!ENTITY a{k + 1} "{f"&a{k};" * 10}">' for k in range(20))
    files |= {
        "short_bin": (good.text(), good.data[:-1], "bytes"),
        "no_bin": (good.text(), None, "opened"),
        "cut": (good.text()[:-20], good.data, "XML"),
        "nothing": ("", b"", "XML"),
        "other_xml": ("<html/>", b"", "net"),
        "entity_bomb": (f'<!DOCTYPE net [<!ENTITY a0 "ha">{bomb}]><net>'
                        '<layers><layer id="&a20;" type="&a20;"/></layers>'
                        "</net>", b"", "&a20;"),
        "external_entity": (
            '<!DOCTYPE net [<!ENTITY x SYSTEM "file:///etc/passwd">]><net>'
            '<layers><layer id="1" type="&x;"/></layers></net>', b"", "&x;"),
        "nested": ("<a>" * 600000, b"", "XML"),
        "nested_layers": ("<net><layers>" * 100000, b"", "XML"),
        "many_layers": ("<net><layers>" + "".join(
            f'<layer id="{k}" type="Const"/>' for k in range(20000)) +
            "</layers></net>", b"", "at most"),
        "binary": (os.urandom(4096).decode("latin1"), b"", ""),
    }
    return files


PROGRAMS = {  # name of the file -> (text, what the log says)
    "not_a_program": ("hello {", "line 1"),
    "unknown_op": ('name: "x" ops { relu {} }', "relu"),
    "no_name": ("ops { transpose {} }", "name"),
    "name_taken": ('name: "Transpose" ops { transpose {} }', "Transpose"),
    "op_unset": ('name: "unset" ops {}', "ops"),
    "many_ops": ('name: "many" ' + "ops { transpose {} } " * 65, "ops"),
    "many_outputs": ('name: "outputs" ' + "ops { variadic_split { axis: 0 "
                     "split_lengths: [1, -1] } } " * 13, "tensors"),
    # Sixteen gigabytes if they were counted one by one.
    "outputs_squared": ('name: "squared" ops { variadic_split { split_lengths: '
                        f"[{'0,' * 4095}-1] }} }} ops {{ variadic_split {{ "
                        f"split_lengths: [{'0,' * 400000}-1] }} }}",
                        "tensors"),
    "contradiction": ('name: "c" input { shape: [2, 3] } ops { transpose '
                      "{ order: [0, 2] } }", "order"),
    "overflow": ('name: "o" input { shape: [4611686018427387904, 4] '
                 "data_type: DATA_TYPE_F32 }", "2^63"),
    "deep": ('name: "deep" ops ' + "{ transpose " * 100000, ""),
}


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
    check.finish("models from files")


if __name__ == "__main__":
    main()

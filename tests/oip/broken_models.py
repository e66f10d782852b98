"""Files of models that cannot be served, and what the log says of each."""

import os

import numpy as np
from ir import Ir


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

    def edited(ir, before: str, after: str) -> None:
        """Writes `after` for `before`, wherever a layer has it."""
        ir.layers = [layer.replace(before, after) for layer in ir.layers]

    def many_extents(ir, x):
        ir.result(ir.parameter("x", "f32", [1] * 33), "out")

    def no_number(ir, x):
        ir.add("Split", {}, [x, ir.constant(np.array(0))], [[2, 3]])

    def word_for_number(ir, x):
        ir.add("ShuffleChannels", {"group": "many"}, [x], [[2, 3]])

    def two_names(ir, x):
        ir.result(x, "out")
        ir.result(x, "out")

    def two_inputs(ir, x):
        ir.result(ir.parameter("data", "f32", [1]), "out")

    def dynamic_constant(ir, x):
        order = ir.constant(np.array([1, 0]))
        edited(ir, '"i64"', '"dynamic"')
        transposed(ir, x, order)

    def big_constants(ir, x):
        order = ir.constant(np.array([1, 0]))
        edited(ir, 'shape="2"', f'shape="{9 << 20}"')
        edited(ir, 'size="16"', f'size="{72 << 20}"')
        transposed(ir, x, order)

    def no_second_input(ir, x):
        ir.add("Transpose", {}, [x], [[3, 2]])

    def third_input(ir, x):
        order = ir.constant(np.array([1, 0]))
        ir.add("Transpose", {}, [x, order, order], [[3, 2]])

    def second_output(ir, x):
        ir.add("Transpose", {}, [x, ir.constant(np.array([1, 0]))],
               [[3, 2], [3, 2]])

    def same_ports(ir, x):
        ir.add("Split", {"num_splits": 2}, [x, ir.constant(np.array(0))],
               [[1, 3], [1, 3]])
        edited(ir, 'id="3"', 'id="2"')

    def two_axes(ir, x):
        ir.add("Split", {"num_splits": 2}, [x, ir.constant(np.array([0, 1]))],
               [[1, 3], [1, 3]])

    def order_of_rank_2(ir, x):
        transposed(ir, x, ir.constant(np.array([[1, 0]])))

    def long_order(ir, x):
        transposed(ir, x, ir.constant(np.zeros(4097, np.int64)))

    def float_order(ir, x):
        transposed(ir, x, ir.constant(np.array([1.0, 0.0])))

    def same_layers(ir, x):
        ir.result(x, "out")
        ir.layers.append(ir.layers[0])

    def many_ports(ir, x):
        ir.add("Split", {"num_splits": 1}, [x, ir.constant(np.array(0))],
               [[2, 3]] * 4097)

    def no_result(ir, x):
        pass

    whole = {name: built(f) for name, f in list(locals().items())
             if callable(f) and name not in ("built", "edited", "transposed")}
    said = {"unknown": "Relu", "cycle": "cycle", "computed_order": "Const",
            "bad_order": "order", "huge": "2^63", "huge_constant": "63",
            "bad_size": "size", "bad_offset": "bytes", "dangling": "99|end",
            "no_such_port": "not there", "unfed": "no edge",
            "two_edges": "two edges", "many_splits": "num_splits",
            "many_extents": "at most 32 extents",
            "no_number": "has no num_splits",
            "word_for_number": "group must be a number, is many",
            "two_names": "two outputs are called out",
            "two_inputs": "two inputs", "dynamic_constant": "fixed width",
            "big_constants": "at most 67108864 bytes",
            "no_second_input": "no input port 1",
            "third_input": "2 input ports, has 3",
            "second_output": "1 output ports, has 2",
            "same_ports": "two output ports", "two_axes": "shape [1]",
            "order_of_rank_2": "rank 1", "long_order": "4096 elements",
            "float_order": "integer", "same_layers": "two layers of id 0",
            "many_ports": "4096 ports", "no_result": "no Result"}
    files = {name: (ir.text(), ir.data, said[name])
             for name, ir in whole.items()}
    for name, before, after, log in (
            ("no_shape", 'shape="2,3"', "", "no shape"),
            ("no_type", 'element_type="f32"', "", "no element_type"),
            ("unknown_type", '"f32"', '"f33"', "element_type is unknown: f33"),
            ("word_for_extent", '"2,3"', '"2,three"', "2,three")):
        text = built(lambda ir, x: ir.result(x, "out")).text()
        assert before in text
        files[name] = text.replace(before, after), b"", log
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
    "unknown_type": ('name: "type" input { data_type: 99 }', "DataType"),
    "negative_extent": ('name: "negative" input { shape: [2, -2] }',
                        "-1 or more"),
    "deep": ('name: "deep" ops ' + "{ transpose " * 100000, ""),
}

"""Writes OpenVINO IR for tests: layers that stand as a specification has them,
with the parameters and constants that they need around them.
"""

import pathlib
import re
import typing

import numpy as np

ELEMENT_TYPES = {"i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64",
                 "u1": "u8", "u2": "u16", "u4": "u32", "u8": "u64",
                 "f2": "f16", "f4": "f32", "f8": "f64", "b1": "boolean"}


def text_of(extents) -> str:
    return ",".join(map(str, extents))


def ports(kind: str, numbered: typing.Iterable, element_type: str) -> str:
    """<input> or <output> with (id, extents) in it."""
    precision = {"f": "FP", "b": "BOOL"}.get(element_type[0],
                                             element_type[0].upper())
    precision += "".join(filter(str.isdigit, element_type))
    inner = "".join(
        f'<port id="{port}" precision="{precision}">' +
        "".join(f"<dim>{-1 if d == '?' else d}</dim>" for d in shape) +
        "</port>" for port, shape in numbered)
    return f"<{kind}>{inner}</{kind}>" if inner else ""


class Ir:
    """An IR under construction."""

    def __init__(self):
        self.layers, self.edges, self.data = [], [], b""
        self.types = []  # the element type of the outputs of each layer

    def add(self, layer_type: str, data: dict, inputs: list, outputs: list,
            name: str = "") -> int:
        """Adds a layer that reads (layer, port) and has `outputs` shapes."""
        layer = len(self.layers)
        attributes = "".join(f' {k}="{v}"' for k, v in data.items())
        known = inputs and inputs[0][0] < layer
        self.types.append(self.types[inputs[0][0]] if known else
                          data.get("element_type", "f32"))
        self.layers.append(
            f'<layer id="{layer}" name="{name or f"layer{layer}"}" '
            f'type="{layer_type}" version="opset1"><data{attributes}/>' +
            ports("input", ((i, ()) for i in range(len(inputs))),
                  self.types[-1]) +
            ports("output", ((len(inputs) + i, shape)
                             for i, shape in enumerate(outputs)),
                  self.types[-1]) + "</layer>")
        for port, source in enumerate(inputs):
            self.edge(*source, layer, port)
        return layer

    def edge(self, from_layer, from_port, to_layer, to_port) -> None:
        self.edges.append(
            f'<edge from-layer="{from_layer}" from-port="{from_port}" '
            f'to-layer="{to_layer}" to-port="{to_port}"/>')

    def parameter(self, name: str, element_type: str, shape) -> tuple:
        return self.add("Parameter", {"shape": text_of(shape),
                                      "element_type": element_type},
                        [], [shape], name), 0

    def constant(self, values: np.ndarray) -> tuple:
        kind = ELEMENT_TYPES[values.dtype.kind + str(values.dtype.itemsize)]
        layer = self.add("Const", {
            "element_type": kind, "shape": text_of(values.shape),
            "offset": len(self.data), "size": values.nbytes}, [],
            [values.shape])
        self.data += values.tobytes()
        return layer, 0

    def result(self, source: tuple, name: str) -> None:
        self.add("Result", {}, [source], [], name)

    def text(self) -> str:
        return ('<?xml version="1.0"?><net name="test" version="11"><layers>' +
                "".join(self.layers) + "</layers><edges>" +
                "".join(self.edges) + "</edges></net>")

    def write(self, folder: pathlib.Path, name: str) -> None:
        (folder / f"{name}.xml").write_text(self.text())
        (folder / f"{name}.bin").write_bytes(self.data)


def as_printed(layer: str, shape, constants: list, outputs: int) -> Ir:
    """The IR around a <layer> as a specification prints it.

    What no XML can be read with is put right: the attributes that "..." stands
    for, and "< !--", which is how a page spells a comment.
    """
    ir = Ir()
    sources = [ir.parameter("data", "f32", shape),
               *(ir.constant(c) for c in constants)]
    number = len(ir.layers)
    head = f'<layer id="{number}" name="printed" type='
    layer = re.sub(r"<layer [^>]*?type=", head, layer.replace("< !--", "<!--"))
    layer = layer.replace(" ...>", ">")
    ids = re.findall(r'<port id="(\d+)"', layer)
    ir.layers.append(layer)
    ir.types.append("f32")
    for source, port in zip(sources, ids):
        ir.edge(*source, number, port)
    for k, port in enumerate(ids[len(sources):]):
        ir.result((number, port), f"result_{k}" if outputs > 1 else "result")
    return ir

"""Turns conformance cases into calls of axis.v1 with the answers they need."""

import struct
import typing

import numpy as np
import oracle
import tensors

INT64 = range(-2**63, 2**63)
INTEGERS = {f"{sign}{bits}" for sign in ("INT", "UINT")
            for bits in (8, 16, 32, 64)}


class Unspeakable(Exception):
    """The case asks for what a message of axis.v1 cannot say."""


class Job(typing.NamedTuple):
    """One call: what to send and what must come back."""

    name: str                   # "FP32 nhwc backward"
    op: str                     # "transpose", a field of axis.v1.Op
    attributes: dict
    data_type: str              # "F32"
    layout: str                 # "NCX"; "UNSPECIFIED" is row-major too
    data: bytes
    outputs: list = []          # [(shape, bytes)]
    accept: tuple = ()          # status codes, if it must be refused


def index_tensor(attrs: dict, name: str, values: list, ranks: tuple) -> list:
    """The values of an input that is a field of numbers in axis.v1."""
    dtype = attrs.get(f"{name}_dtype", "INT64")
    shape = attrs.get(f"{name}_shape", [len(values)])
    if dtype not in INTEGERS:
        raise Unspeakable(f"an index tensor of type {dtype}")
    if len(shape) not in ranks:
        raise Unspeakable(f"an index tensor of shape {shape}")
    if any(v not in INT64 for v in values):
        raise Unspeakable("an index that does not fit int64")
    return values


def spell(case: dict) -> tuple:
    """The op of axis.v1 and its attributes."""
    op = case["op"]
    if op == "OIP":
        raise Unspeakable("another protocol, the Open Inference Protocol")
    attrs = case["attrs"]
    if op == "Transpose-1":
        order = index_tensor(attrs, "order", attrs["order"], (1,))
        return "transpose", {"order": order}
    if op == "ShuffleChannels-1":
        unknown = set(attrs) - {"axis", "group"}
        if unknown:
            raise Unspeakable(f"an unknown attribute, {unknown.pop()}")
        return "shuffle_channels", dict(attrs)
    if op == "oneDNN-Shuffle":
        if "dst_tag" in attrs:
            raise Unspeakable("a layout for the output")
        return "shuffle", {"axis": attrs["axis"],
                           "group_size": attrs["group_size"]}
    axis, = index_tensor(attrs, "axis", np.ravel(attrs["axis"]).tolist(),
                         (0, 1))
    if op == "VariadicSplit-1":
        lengths = index_tensor(attrs, "lengths", attrs["split_lengths"], (1,))
    else:
        shape, count = case["in_shape"], attrs["num_splits"]
        legal = -len(shape) <= axis < len(shape)
        if legal and shape[axis] % count:
            raise Unspeakable("pieces that are not equal")
        lengths = [shape[axis] // count if legal else 1] * count
    return "variadic_split", {"axis": axis, "split_lengths": lengths}


def source(case: dict, dtype: str):
    """The elements of the input: rows of bytes, or strings."""
    count = int(np.prod(case["in_shape"], dtype=object))
    width = tensors.TYPES[dtype][1]
    if "in_hex" in case and width:
        given = np.frombuffer(bytes.fromhex(case["in_hex"]), np.uint8)
        return given.reshape(count, width)
    return tensors.elements(count, width) if width else tensors.strings(count)


def join(texts) -> bytes:
    return b"".join(struct.pack("<I", len(t)) + t for t in texts)


def expected_bytes(rows, index, output: dict) -> bytes:
    """What an output holds, by its hex if the case has one."""
    written = output.get("hex", output.get("raw_hex"))
    if written is not None:
        return bytes.fromhex(written)
    if isinstance(rows, list):
        return join(rows[i] for i in index.reshape(-1))
    return tensors.pick(rows, index).tobytes()


def plain_jobs(case: dict, op: str, attributes: dict) -> typing.Iterator[Job]:
    """A case of row-major tensors: each of its types once."""
    indices = oracle.iota(case)
    outputs = case["expect"]["outputs"]
    if len(indices) != len(outputs) or not all(
            map(oracle.matches, indices, outputs)):
        raise AssertionError("our NumPy oracle disagrees with the case")
    for dtype in case["dtypes"]:
        written = case.get("in_hex", case.get("in_raw_hex"))
        rows = None if written else source(case, dtype)
        data = (bytes.fromhex(written) if written else
                join(rows) if isinstance(rows, list) else rows.tobytes())
        yield Job(dtype, op, attributes, tensors.TYPES[dtype][0],
                  "UNSPECIFIED", data,
                  [(o["shape"], expected_bytes(rows, i, o))
                   for i, o in zip(indices, outputs)])


def shuffle_jobs(case: dict, op: str, attributes: dict):
    """A oneDNN case: each type, layout and direction once.

    forward_inference leaves the direction to its default.
    """
    shape, expect = case["in_shape"], case["expect"]
    for tag in case["attrs"]["tags"]:
        layout = tensors.layout_of(tag)
        if not layout:
            yield Unspeakable(f"the layout {tag}")
            continue
        for kind in case["attrs"]["prop_kinds"]:
            forward = kind != "backward"
            way = "forward" if forward else "backward"
            direction = {"forward_training": "DIRECTION_FORWARD",
                         "forward_inference": "DIRECTION_UNSPECIFIED",
                         "backward": "DIRECTION_BACKWARD"}[kind]
            index, = oracle.iota(case, forward)
            if way in expect and not oracle.matches(index, expect[way]):
                raise AssertionError("our NumPy oracle disagrees, " + way)
            for dtype in case["dtypes"]:
                rows = source(case, dtype)
                data = tensors.lay_out(rows, shape, layout, tensors.JUNK)
                moved = tensors.lay_out(tensors.pick(rows, index), shape,
                                        layout, 0)
                if "input_physical" in case:
                    given = tensors.pick(rows, case["input_physical"],
                                         tensors.JUNK).tobytes()
                    if given != data:
                        raise AssertionError("our packing disagrees")
                    moved = tensors.pick(rows,
                                         expect[f"{way}_physical"]).tobytes()
                yield Job(f"{dtype} {tag} {kind}", op,
                          {**attributes, "direction": direction},
                          tensors.TYPES[dtype][0], layout, data,
                          [(shape, moved)])


def jobs(case: dict) -> typing.Iterator:
    """The calls of a case; for a part that cannot be said, an Unspeakable."""
    op, attributes = spell(case)
    if "error" in case["expect"]:
        dtype, = case["dtypes"]
        # Those with a oneDNN tag are row-major too.
        yield Job(dtype, op, attributes, tensors.TYPES[dtype][0],
                  "UNSPECIFIED", source(case, dtype).tobytes(),
                  accept=tuple(case["expect"]["accept"]))
    elif "tags" in case["attrs"]:
        yield from shuffle_jobs(case, op, attributes)
    else:
        yield from plain_jobs(case, op, attributes)

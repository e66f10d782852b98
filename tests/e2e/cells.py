#!/usr/bin/python3
"""Every type in every layout through every op: the table of proto/README.md.

Usage: cells.py AXISD

Elements are random bits, NaNs and all; what is unused or padding is not zero
in the inputs and must be in the outputs. What is expected comes from NumPy.
"""

import pathlib
import struct
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] /
                       "conformance"))

import oracle  # noqa: E402
import tensors  # noqa: E402
from examples import joined  # noqa: E402
from harness import Axisd, Checks, Refusal, outcome, pb  # noqa: E402

WIDTHS = {1: "U1", 2: "U2", 3: "U3", 4: "U4 I4 NF4 F4E2M1", 6: "U6",
          8: "BOOL U8 I8 F8E4M3 F8E5M2 F8E8M0", 16: "U16 I16 F16 BF16",
          32: "U32 I32 F32", 64: "U64 I64 F64 C64", 128: "C128",
          0: "STRING"}
BITS = {name: bits for bits, names in WIDTHS.items()
        for name in names.split()}

# Odd counts, channels that fill no block, one block or several.
SHAPES = [(3, 12, 5), (1, 20, 3, 2), (2, 17), (1, 32, 1, 7)]


def chain(x: np.ndarray, *ops) -> list:
    found = [x]
    for op in ops:
        found = [y for part in found for y in op(part)]
    return found


def calls(shape: tuple) -> list:
    """(method, what to set of the request, what it does) for `shape`."""
    channels = shape[1]
    order = [0, *range(2, len(shape)), 1]
    group = 4 if channels % 4 == 0 else channels
    lengths = [1, channels - 4, 3]
    transpose = (pb.Transpose(order=order),
                 lambda x: oracle.transpose(x, order))
    shuffle_channels = (pb.ShuffleChannels(group=group),
                        lambda x: oracle.shuffle_channels(x, 1, group))
    split = (pb.VariadicSplit(axis=1, split_lengths=lengths),
             lambda x: oracle.split(x, 1, lengths))
    forward = (pb.Shuffle(group_size=group),
               lambda x: oracle.shuffle(x, 1, group, True))
    backward = (pb.Shuffle(group_size=group, direction="DIRECTION_BACKWARD"),
                lambda x: oracle.shuffle(x, 1, group, False))
    ops = [pb.Op(shuffle=backward[0]), pb.Op(variadic_split=split[0]),
           pb.Op(transpose=transpose[0])]
    return [("Transpose", {"op": transpose[0]}, transpose[1]),
            ("ShuffleChannels", {"op": shuffle_channels[0]},
             shuffle_channels[1]),
            ("VariadicSplit", {"op": split[0]}, split[1]),
            ("Shuffle", {"op": forward[0]}, forward[1]),
            ("Shuffle", {"op": backward[0]}, backward[1]),
            *((method, {"ops": ops},
               lambda x: chain(x, backward[1], split[1], transpose[1]))
              for method in ("RunPipeline", "StreamPipeline"))]


def streamed(stub, fields: dict, tensor, pieces: int = 7):
    """The outputs of a tensor that is sent in pieces, or the Refusal."""
    data, tensor.data = tensor.data, b""
    step = len(data) // pieces + 1
    requests = [pb.StreamPipelineRequest(input=tensor, **fields)] + [
        pb.StreamPipelineRequest(input=pb.Tensor(data=data[i:i + step]))
        for i in range(0, len(data), step)]
    return outcome(lambda messages, timeout: joined(
        stub.StreamPipeline(messages, timeout=timeout)), iter(requests))


def pack(codes: np.ndarray, bits: int, unused: int) -> bytes:
    """Elements of `bits` bits in OpenVINO's order, the rest of `unused`."""
    in_unit = 24 // bits if bits in (3, 6) else 8 // bits
    codes = np.append(codes, np.full(-len(codes) % in_unit, unused))
    codes = codes.reshape(-1, in_unit) & ((1 << bits) - 1)
    if bits == 4:
        return bytes(int(c[0] | c[1] << 4) for c in codes)
    low = {3: 2, 6: 4}.get(bits, bits)
    out = bytearray()
    for unit in codes.tolist():
        text = "".join(f"{c & ((1 << low) - 1):0{low}b}" for c in unit)
        if bits != low:
            text += "".join(f"{c >> low:0{bits - low}b}" for c in unit)
        out += int(text, 2).to_bytes(len(text) // 8, "big")
    return bytes(out)


class Elements:
    """Random elements of a type; `stored` spells those that `index` names."""

    def __init__(self, name: str, count: int):
        self.bits = BITS[name]
        if self.bits == 0:
            self.all = tensors.strings(count)
        elif self.bits < 8:
            self.all = tensors.elements(count, 1)[:, 0].astype(np.int64)
        else:
            self.all = tensors.elements(count, self.bits // 8)

    def stored(self, index: np.ndarray, layout: str, unused: int) -> bytes:
        flat = index.reshape(-1)
        if self.bits == 0:
            return b"".join(struct.pack("<I", len(self.all[i])) + self.all[i]
                            for i in flat)
        if self.bits < 8:
            return pack(self.all[flat], self.bits, unused)
        return tensors.lay_out(self.all[flat], index.shape, layout, unused)


def check_cell(stub, name: str, layout: str, method: str, fields: dict,
               index: np.ndarray, expected: list):
    """What is wrong with one call; None if nothing is."""
    elements = Elements(name, index.size)
    plain = layout in ("UNSPECIFIED", "NCX")
    kind = "NCX" if plain else layout
    tensor = pb.Tensor(data_type="DATA_TYPE_" + name, shape=index.shape,
                       layout="LAYOUT_" + layout,
                       data=elements.stored(index, kind, 0xA5))
    if method == "StreamPipeline":
        answer = streamed(stub, fields, tensor)
    else:
        request = getattr(pb, method + "Request")(**fields)
        if method == "RunPipeline":
            request.inputs.append(tensor)
        else:
            request.input.CopyFrom(tensor)
        answer = outcome(getattr(stub, method), request)
    guilty = None
    if method == "StreamPipeline" and elements.bits == 0:
        guilty = "data_type"
    elif not plain and (elements.bits == 0 or elements.bits % 8):
        guilty = "layout"
    if guilty:
        refused = (isinstance(answer, Refusal)
                   and answer.code == "INVALID_ARGUMENT"
                   and answer.fields[0].endswith(guilty))
        return None if refused else answer
    if isinstance(answer, Refusal):
        return answer
    outputs = (answer.outputs if hasattr(answer, "outputs") else
               [answer.output])
    wanted = [pb.Tensor(data_type=tensor.data_type, shape=e.shape,
                        layout=tensor.layout,
                        data=elements.stored(e, kind, 0)) for e in expected]
    return None if list(outputs) == wanted else "other bytes or shapes"


def main() -> None:
    check = Checks()
    with Axisd(sys.argv[1]) as server:
        for shape in SHAPES:
            index = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
            for method, fields, op in calls(shape):
                expected = op(index)
                for name in BITS:
                    for layout in pb.Layout.keys():
                        layout = layout.removeprefix("LAYOUT_")
                        wrong = check_cell(server.stub, name, layout, method,
                                           fields, index, expected)
                        check(f"{name} {layout} {method} {list(shape)}",
                              wrong is None, wrong)
    assert set(pb.DataType.keys()) == {"DATA_TYPE_UNSPECIFIED"} | {
        "DATA_TYPE_" + name for name in BITS}
    check.finish(f"{len(BITS)} types by {len(pb.Layout.keys())} layouts "
                 "through every op")


if __name__ == "__main__":
    main()

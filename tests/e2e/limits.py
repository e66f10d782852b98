"""Requests at and past every bound of axis.v1, with the field to blame."""

MIB = 1 << 20
MAX = 2**63 - 1


def f32(*shape: int, **fields) -> dict:
    """A tensor of zeros; `data` that is too long to send is left empty."""
    size = 4
    for extent in shape:
        size *= extent
    data = bytes(size) if 0 < size < 16 * MIB else b""
    return {"data_type": "DATA_TYPE_F32", "shape": shape, "data": data,
            **fields}


def u8(count: int) -> dict:
    return {"data_type": "DATA_TYPE_U8", "shape": [count],
            "data": bytes(count)}


def stored(shape: list, layout: str, size: int,
           data_type: str = "F32") -> dict:
    """A tensor of `size` bytes in a layout of its own."""
    return {"data_type": "DATA_TYPE_" + data_type, "shape": shape,
            "layout": "LAYOUT_" + layout, "data": bytes(size)}


def strings(count: int, data: bytes, **fields) -> dict:
    return {"data_type": "DATA_TYPE_STRING", "shape": [count], "data": data,
            **fields}


def spelled(data_type: str, *shape: int, **values) -> dict:
    return {"data_type": "DATA_TYPE_" + data_type, "shape": shape,
            "values": values}


X = f32(2, 4, 3)

# (method, input, op, the field that BadRequest must name)
WRONG = [
    # Tensors.
    ("Transpose", None, {}, "input"),
    ("Transpose", f32(2, data_type=0), {}, "input.data_type"),
    ("Transpose", f32(2, data_type=28), {}, "input.data_type"),
    ("Transpose", f32(2, data_type=-1), {}, "input.data_type"),
    ("Transpose", f32(2, 2, layout=6), {}, "input.layout"),
    ("Transpose", f32(2, data=bytes(7)), {}, "input.data"),
    ("Transpose", f32(2, data=bytes(9)), {}, "input.data"),
    ("Transpose", f32(2, data=b""), {}, "input"),
    ("Transpose", f32(0, data=bytes(1)), {}, "input.data"),
    ("Transpose", f32(), None, "op"),
    ("Transpose", f32(-1), {}, "input.shape[0]"),
    ("Transpose", f32(3, -2**63), {}, "input.shape[1]"),
    ("Transpose", f32(65536, 65536, 65536, 65536), {}, "input.shape"),
    ("Transpose", f32(2**62), {}, "input.shape"),
    ("Transpose", f32(2**61), {}, "input.shape"),
    ("Transpose", f32(0, 2**62, 2**62), {}, "input.shape"),
    ("Transpose", f32(2**62, 0, 2**62), {}, "input.shape"),
    ("Transpose", f32(MAX, MAX, 0), {}, "input.shape"),
    ("Transpose", f32(2**60), {}, "input.data"),
    ("Transpose", f32(*[1] * 33), {}, "input.shape"),
    # Layouts: rank 2 or more, whole bytes, data; and padding counts.
    ("Transpose", stored([], "NXC", 4), {}, "input.layout"),
    ("Transpose", stored([2], "NXC", 8), {}, "input.layout"),
    ("Transpose", stored([4], "NCX4C", 16), {}, "input.layout"),
    ("Transpose", stored([2, 2], "NXC", 2, "U4"), {}, "input.layout"),
    ("Transpose", stored([1, 8], "NCX8C", 3, "U3"), {}, "input.layout"),
    ("Transpose", stored([1, 1], "NXC", 4, "STRING"), {}, "input.layout"),
    ("Transpose", {**spelled("F32", 1, 1, floats=[1]),
                   "layout": "LAYOUT_NXC"}, {}, "input.layout"),
    ("Transpose", stored([1, 12, 2], "NCX16C", 96), {}, "input.data"),
    ("Transpose", stored([1, 12, 2], "NCX16C", 129), {}, "input.data"),
    ("Transpose", stored([1, 12, 2], "NXC", 128), {}, "input.data"),
    ("Transpose", stored([1, 9, 1], "NCX8C", 36), {}, "input.data"),
    ("Transpose", stored([2**59, 1], "NCX16C", 0), {}, "input.shape"),
    ("Transpose", stored([2**56, 1], "NCX16C", 0), {}, "input.data"),
    ("Transpose", stored([0, 1, 2**58], "NCX16C", 0), {}, "input.shape"),
    ("Transpose", stored([1, MAX], "NCX4C", 0, "U8"), {}, "input.shape"),
    # Strings: so many, each a length and the bytes, and nothing after.
    ("Transpose", strings(1, b""), {}, "input.data"),
    ("Transpose", strings(1, b"\0\0\0"), {}, "input.data"),
    ("Transpose", strings(2, b"\4\0\0\0abcd"), {}, "input.data"),
    ("Transpose", strings(2, b"\1\0\0\0a\0\0\0"), {}, "input.data"),
    ("Transpose", strings(1, b"\2\0\0\0a"), {}, "input.data"),
    ("Transpose", strings(1, b"\xff\xff\xff\xffa"), {}, "input.data"),
    ("Transpose", strings(1, b"\1\0\0\0ab"), {}, "input.data"),
    ("Transpose", strings(0, b"\0"), {}, "input.data"),
    ("Transpose", strings(MAX // 4, bytes(64)), {}, "input.data"),
    ("Transpose", strings(2**61, bytes(64)), {}, "input.shape"),
    ("Transpose", spelled("STRING", 2, strings=[b"a"]), {}, "input.values"),
    ("Transpose", spelled("STRING", 1, uints=[1]), {}, "input.values"),
    # Spelled elements.
    ("Transpose", spelled("F32", 2, floats=[1]), {}, "input.values"),
    ("Transpose", spelled("F32", 2, floats=[1, 2, 3]), {}, "input.values"),
    ("Transpose", spelled("F32", 2, ints=[1, 2]), {}, "input.values"),
    ("Transpose", spelled("F32", 1, floats=[1], ints=[1]), {},
     "input.values"),
    ("Transpose", spelled("U8", 1, ints=[1]), {}, "input.values"),
    ("Transpose", spelled("I8", 1, uints=[1]), {}, "input.values"),
    ("Transpose", spelled("I8", 2, ints=[1, 128]), {}, "input.values.ints[1]"),
    ("Transpose", spelled("I8", 1, ints=[-129]), {}, "input.values.ints[0]"),
    ("Transpose", spelled("U8", 1, uints=[256]), {}, "input.values.uints[0]"),
    ("Transpose", spelled("U32", 1, uints=[2**32]), {},
     "input.values.uints[0]"),
    ("Transpose", spelled("BOOL", 1, ints=[2]), {}, "input.values.ints[0]"),
    ("Transpose", spelled("U4", 1, uints=[16]), {}, "input.values.uints[0]"),
    ("Transpose", spelled("I4", 1, ints=[8]), {}, "input.values.ints[0]"),
    ("Transpose", spelled("F32", 1, floats=[1e39]), {},
     "input.values.floats[0]"),
    ("Transpose", spelled("F16", 1, floats=[0.1]), {},
     "input.values.floats[0]"),
    ("Transpose", spelled("C64", 1, floats=[1]), {}, "input.values"),
    # Transpose-1.
    ("Transpose", X, {"order": [0, 1]}, "op.order"),
    ("Transpose", X, {"order": [0, 1, 2, 3]}, "op.order"),
    ("Transpose", X, {"order": [0, 1, 3]}, "op.order[2]"),
    ("Transpose", X, {"order": [0, 1, 1]}, "op.order[2]"),
    ("Transpose", X, {"order": [0, -1, 2]}, "op.order[1]"),
    ("Transpose", X, {"order": [-2**63, 1, 2]}, "op.order[0]"),
    ("Transpose", X, {"order": [2**32, 1, 2]}, "op.order[0]"),
    ("Transpose", f32(0, 3), {"order": [0, 0]}, "op.order[1]"),
    ("Transpose", f32(), {"order": [0]}, "op.order"),
    # ShuffleChannels-1.
    ("ShuffleChannels", X, {"axis": 3}, "op.axis"),
    ("ShuffleChannels", X, {"axis": -4}, "op.axis"),
    ("ShuffleChannels", X, {"axis": 2**32}, "op.axis"),
    ("ShuffleChannels", X, {"axis": -2**63}, "op.axis"),
    ("ShuffleChannels", f32(4), {}, "op.axis"),
    ("ShuffleChannels", f32(), {"axis": 0}, "op.axis"),
    ("ShuffleChannels", X, {"group": 0}, "op.group"),
    ("ShuffleChannels", X, {"group": -1}, "op.group"),
    ("ShuffleChannels", X, {"group": 3}, "op.group"),
    ("ShuffleChannels", X, {"group": 8}, "op.group"),
    ("ShuffleChannels", X, {"group": MAX}, "op.group"),
    ("ShuffleChannels", f32(0, 5), {"group": 2}, "op.group"),
    ("ShuffleChannels", f32(3, 0), {"group": 0}, "op.group"),
    # VariadicSplit-1.
    ("VariadicSplit", X, {"axis": 3, "split_lengths": [2]}, "op.axis"),
    ("VariadicSplit", X, {"axis": -4, "split_lengths": [2]}, "op.axis"),
    ("VariadicSplit", X, {"axis": 2**32, "split_lengths": [2]}, "op.axis"),
    ("VariadicSplit", f32(), {"split_lengths": [1]}, "op.axis"),
    ("VariadicSplit", X, {}, "op.split_lengths"),
    ("VariadicSplit", f32(0), {}, "op.split_lengths"),
    ("VariadicSplit", X, {"split_lengths": [1]}, "op.split_lengths"),
    ("VariadicSplit", X, {"split_lengths": [3]}, "op.split_lengths"),
    ("VariadicSplit", f32(6), {"split_lengths": [-1, -1]},
     "op.split_lengths[1]"),
    ("VariadicSplit", f32(6), {"split_lengths": [8, -2]},
     "op.split_lengths"),
    ("VariadicSplit", f32(6), {"split_lengths": [5, -1, 2]},
     "op.split_lengths"),
    ("VariadicSplit", f32(6), {"split_lengths": [9, -1]}, "op.split_lengths"),
    ("VariadicSplit", f32(6), {"split_lengths": [MAX, MAX, 8]},
     "op.split_lengths"),
    ("VariadicSplit", f32(6), {"split_lengths": [2**32 + 3, 3]},
     "op.split_lengths"),
    ("VariadicSplit", f32(0, 4), {"axis": 1, "split_lengths": [1, 1]},
     "op.split_lengths"),
    # oneDNN's shuffle.
    ("Shuffle", X, {"axis": -1, "group_size": 1}, "op.axis"),
    ("Shuffle", X, {"axis": 3, "group_size": 1}, "op.axis"),
    ("Shuffle", f32(4), {"group_size": 1}, "op.axis"),
    ("Shuffle", X, {}, "op.group_size"),
    ("Shuffle", X, {"group_size": -2}, "op.group_size"),
    ("Shuffle", X, {"group_size": 3}, "op.group_size"),
    ("Shuffle", X, {"group_size": 8}, "op.group_size"),
    ("Shuffle", f32(2, 0), {"group_size": 1}, "op.group_size"),
    ("Shuffle", X, {"group_size": 2, "direction": 3}, "op.direction"),
    # One past a limit.
    ("VariadicSplit", u8(4097), {"split_lengths": [1] * 4097}, "op"),
]

# Legal, if only just: each must be answered.
RIGHT = [
    ("Transpose", f32(*[1] * 32), {}),
    ("Transpose", f32(0, 2**40), {"order": [1, 0]}),
    ("Transpose", f32(2**58, 0, 2), {}),
    ("Transpose", {"data_type": "DATA_TYPE_F32", "shape": [0, 2]}, {}),
    ("Transpose", spelled("I8", 2, ints=[-128, 127]), {}),
    ("Transpose", spelled("F32", 1, floats=[0.1]), {}),
    ("Transpose", stored([1, 12, 2], "NCX16C", 128), {}),
    ("Transpose", stored([1, 1], "NXC", 4), {}),
    ("Transpose", stored([2, 0, 3], "NCX8C", 0), {}),
    ("Transpose", stored([0, 2**57, 1], "NCX16C", 0), {"order": [2, 0, 1]}),
    ("Transpose", stored([0, 2**60, 1], "NCX16C", 0), {"order": [0, 2, 1]}),
    ("VariadicSplit", stored([1, 20], "NCX8C", 96),
     {"axis": 1, "split_lengths": [9, -1]}),
    ("Transpose", strings(0, b""), {}),
    ("Transpose", strings(3, bytes(12)), {}),
    ("ShuffleChannels", strings(4, bytes(16)), {"axis": 0, "group": 2}),
    ("ShuffleChannels", f32(3, 0), {"group": 7}),
    ("ShuffleChannels", X, {"axis": -3, "group": 2}),
    ("VariadicSplit", f32(0), {"split_lengths": [0, 0, -1]}),
    ("VariadicSplit", f32(6), {"split_lengths": [6, -1]}),
    ("VariadicSplit", u8(4096), {"split_lengths": [1] * 4096}),
    ("Shuffle", f32(0, 4), {"group_size": 4}),
]

BYTES = u8(5)
IDENTITY = {"transpose": {}}
FIVE = {"variadic_split": {"split_lengths": [1] * 5}}

# (inputs, ops, the field, or None where it is legal)
PIPELINES = [
    ([], [], "inputs"),
    ([BYTES], [{}], "ops[0]"),
    ([BYTES], [IDENTITY, {"transpose": {"order": [7]}}],
     "ops[1].transpose.order[0]"),
    ([BYTES, f32(2, data=b"")], [], "inputs[1]"),
    ([BYTES, f32(2, -2)], [], "inputs[1].shape[1]"),
    ([BYTES], [FIVE, FIVE], "ops[1].variadic_split.split_lengths"),
    ([BYTES], [IDENTITY] * 64, None),
    ([BYTES], [IDENTITY] * 65, "ops"),
    ([BYTES] * 1024, [IDENTITY], None),
    ([BYTES] * 1025, [IDENTITY], "inputs"),
    ([BYTES] * 819, [FIVE], None),
    ([BYTES] * 820, [FIVE], "ops[0]"),
]

"""Types, layouts and bytes of the conformance cases.

An element is a row of bytes here, whatever its type: axisd only moves them.
"""

import re

import numpy as np

# The names of cases.json (those of the Open Inference Protocol; OpenVINO's
# for types of less than a byte) -> (axis.v1.DataType without prefix, bytes).
# The width is None where elements do not begin at a byte or vary in length.
TYPES = {
    "BOOL": ("BOOL", 1), "INT8": ("I8", 1), "UINT8": ("U8", 1),
    "INT16": ("I16", 2), "UINT16": ("U16", 2), "FP16": ("F16", 2),
    "BF16": ("BF16", 2), "INT32": ("I32", 4), "UINT32": ("U32", 4),
    "FP32": ("F32", 4), "INT64": ("I64", 8), "UINT64": ("U64", 8),
    "FP64": ("F64", 8), "BYTES": ("STRING", None),
    "u1": ("U1", None), "u2": ("U2", None), "u3": ("U3", None),
    "u4": ("U4", None), "u6": ("U6", None), "i4": ("I4", None),
    "nf4": ("NF4", None), "f4e2m1": ("F4E2M1", None),
}

# What stands in the padding of inputs; outputs must hold zeros there.
JUNK = 0xA5


def layout_of(tag: str) -> str | None:
    """The axis.v1.Layout that a oneDNN tag means; None if there is none."""
    if tag in ("ab", "abx", "ncw", "nchw", "ncdhw"):
        return "NCX"
    if tag in ("axb", "nwc", "nhwc", "ndhwc"):
        return "NXC"
    block = re.fullmatch(r"(?:aBx(\d+)b|nC[dhw]+?(\d+)c)", tag)
    return f"NCX{block[1] or block[2]}C" if block else None


def elements(count: int, width: int) -> np.ndarray:
    """`count` elements of arbitrary bits, the same ones every time."""
    bits = np.random.default_rng(count).bytes(count * width)
    return np.frombuffer(bits, np.uint8).reshape(count, width)


def strings(count: int) -> list:
    """`count` strings of different lengths, some empty, as bytes."""
    return [str(k).encode() * (k % 4) for k in range(count)]


def pick(source: np.ndarray, index, padding: int = 0) -> np.ndarray:
    """The elements that `index` names; -1 is one of `padding`."""
    index = np.asarray(index, np.int64).reshape(-1)
    picked = np.full((index.size, source.shape[1]), padding, np.uint8)
    real = index >= 0
    picked[real] = source[index[real]]
    return picked


def lay_out(rows: np.ndarray, shape, layout: str, padding: int) -> bytes:
    """`rows`, in row-major order of `shape`, as `layout` stores them."""
    x = rows.reshape(*shape, rows.shape[1])
    if layout == "NXC":
        x = np.moveaxis(x, 1, -2)
    elif layout != "NCX":
        block = int(layout[3:-1])
        missing = -shape[1] % block
        gap = np.full((x.shape[0], missing, *x.shape[2:]), padding, np.uint8)
        x = np.concatenate([x, gap], axis=1)
        x = x.reshape(x.shape[0], -1, block, *x.shape[2:])
        x = np.moveaxis(x, 2, -2)
    return np.ascontiguousarray(x).tobytes()

"""The four operations in NumPy, each from the text of its specification.

`iota(case)` numbers the elements of the input and moves the numbers. The
cases hold these numbers, or their hash where they are many: `matches` tells
whether ours are those, so what a test expects never comes from axisd.
"""

import hashlib

import numpy as np


def transpose(x: np.ndarray, order) -> list:
    return [np.transpose(x, order or None)]


def shuffle_channels(x: np.ndarray, axis: int = 1, group: int = 1) -> list:
    channels = x.shape[axis]
    axis %= x.ndim
    grouped = x.reshape(*x.shape[:axis], group, channels // group,
                        *x.shape[axis + 1:])
    return [np.swapaxes(grouped, axis, axis + 1).reshape(x.shape)]


def split(x: np.ndarray, axis: int, lengths) -> list:
    rest = x.shape[axis] - sum(n for n in lengths if n != -1)
    lengths = [rest if n == -1 else n for n in lengths]
    return np.split(x, np.cumsum(lengths)[:-1], axis=axis)


def shuffle(x: np.ndarray, axis: int, group_size: int, forward: bool) -> list:
    """oneDNN: dst[u + v * (C / G)] = src[u * G + v], G = group_size."""
    rows = x.shape[axis] // group_size
    source = np.arange(x.shape[axis]).reshape(rows, group_size).T.reshape(-1)
    if not forward:
        source = np.argsort(source)
    return [np.take(x, source, axis=axis)]


def iota(case: dict, forward: bool = True) -> list:
    """For each output, which input element stands at each of its places."""
    attrs, shape = case["attrs"], case["in_shape"]
    x = np.arange(int(np.prod(shape, dtype=object)),
                  dtype=np.int64).reshape(shape)
    op = case["op"]
    if op == "Transpose-1":
        return transpose(x, attrs["order"])
    if op == "ShuffleChannels-1":
        return shuffle_channels(x, **attrs)
    if op == "oneDNN-Shuffle":
        return shuffle(x, attrs["axis"], attrs["group_size"], forward)
    axis = np.asarray(attrs["axis"]).item()
    if op == "Split-1":
        return split(x, axis, [shape[axis] // attrs["num_splits"]] *
                     attrs["num_splits"])
    return split(x, axis, attrs["split_lengths"])


def matches(index: np.ndarray, expected: dict) -> bool:
    """Whether `index` is what a case says, by its list or by its hash."""
    if list(index.shape) != expected["shape"]:
        return False
    if "index" in expected:
        return index.reshape(-1).tolist() == expected["index"]
    numbers = np.ascontiguousarray(index, "<i8").tobytes()
    return hashlib.sha256(numbers).hexdigest() == expected["sha256_i64le"]

#!/usr/bin/env python3
"""Writes a suite of random cases: what nobody has tuned the engine for.

Usage: random_suite.py CASES [SEED [axes]] > FILE
       ./dev bench copy --suite FILE

With `axes`, tensors have up to 16 of them, most of which are short.

suite.json has what people run most; between those shapes lie others that may be
ten times as slow, and no one looks.
"""

import json
import math
import random
import sys

from run import BITS

EXTENTS = [2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 30, 32, 48, 56, 60,
           64, 80, 96, 100, 112, 120, 128, 160, 192, 196, 224, 240, 256, 300]
LOG2_BYTES = 16, 25  # of the least and the largest tensor
SHORT = [2, 2, 2, 3, 4, 4, 5, 6, 7, 8, 12, 14, 16]


def shape_of(chance, item):
    """For items of so many bytes: extents as they are common, but one,
    which makes up for the size."""
    while True:
        shape = chance.choices(EXTENTS, k=chance.choice([2, 3, 3, 4, 4]))
        k = chance.randrange(len(shape))
        others = math.prod(shape) // shape[k]
        shape[k] = int(2 ** chance.uniform(*LOG2_BYTES) / item / others)
        if 2 <= shape[k] <= 200000:
            return shape


def short_shape_of(chance, item):
    """The same of many axes."""
    size = 2 ** chance.uniform(*LOG2_BYTES) / item
    pool = chance.sample(SHORT, 3)
    shape = []
    while math.prod(shape) * 2 <= size and len(shape) < 16:
        shape.append(chance.choice(pool))
    return shape


def op_of(chance, shape):
    """The fields of some op on it; None if there is none."""
    axis = chance.randrange(len(shape))
    op = chance.choice(["Transpose", "Transpose", "ShuffleChannels",
                        "VariadicSplit"])
    if op == "Transpose":
        perm = chance.sample(range(len(shape)), len(shape))
        if perm == sorted(perm):
            return None
        return {"op": op, "perm": perm}
    if op == "VariadicSplit":
        first = chance.randrange(1, shape[axis])
        return {"op": op, "axis": axis, "lengths": [first, shape[axis] - first]}
    groups = [g for g in range(2, shape[axis]) if shape[axis] % g == 0]
    if not groups:
        return None
    return {"op": op, "axis": axis, "group": chance.choice(groups)}


def cases(count, seed, shape_of):
    chance, found = random.Random(seed), []
    while len(found) < count:
        dtype = chance.choice(["u8", "f16", "f32", "f32", "f64"])
        shape = shape_of(chance, BITS[dtype] // 8)
        op = op_of(chance, shape)
        if op is None:
            continue
        rest = [f"{key}={value}" for key, value in op.items() if key != "op"]
        name = " ".join([op["op"], dtype, str(shape), *rest]).replace(", ", ",")
        found.append({"name": name, "cls": op["op"], "dtype": dtype,
                      "shape": shape, **op})
    return found


def main():
    count, seed = int(sys.argv[1]), int((sys.argv[2:] or [1])[0])
    shapes = short_shape_of if sys.argv[3:] == ["axes"] else shape_of
    json.dump({"cases": cases(count, seed, shapes)}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()

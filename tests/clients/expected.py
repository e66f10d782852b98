"""What the models of axisd do, in NumPy; and numbers of every datatype.

Shared by the scripts for the clients, which run in an environment of PyPI.
"""

import collections
import sys

import numpy as np

DATATYPES = {
    "BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16,
    "UINT32": np.uint32, "UINT64": np.uint64, "INT8": np.int8,
    "INT16": np.int16, "INT32": np.int32, "INT64": np.int64,
    "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
    "BYTES": np.object_,
}


def numbers(datatype: str, shape=(2, 12, 5)) -> np.ndarray:
    count = int(np.prod(shape))
    if datatype == "BYTES":
        flat = [str(k).encode() * (k % 4) for k in range(count)]
        return np.array(flat, dtype=object).reshape(shape)
    values = np.random.default_rng(7).integers(0, 100, count)
    return values.astype(DATATYPES[datatype]).reshape(shape)


def shuffled(x: np.ndarray, group: int) -> np.ndarray:
    n, c, *rest = x.shape
    return x.reshape(n, group, c // group, *rest).swapaxes(1, 2).reshape(
        x.shape)


# model -> (name of the data, its index inputs, parameters, [(output, array)])
def cases(x: np.ndarray) -> dict:
    i64 = np.int64
    return {
        "Transpose": ("arg", {"input_order": np.array([2, 0, 1], i64)}, {},
                      [("output", x.transpose(2, 0, 1))]),
        "Transpose, empty order": (
            "arg", {"input_order": np.zeros(0, i64)}, {},
            [("output", x.transpose())]),
        "ShuffleChannels": ("data", {}, {"axis": 1, "group": 3},
                            [("output", shuffled(x, 3))]),
        "VariadicSplit": (
            "data", {"axis": np.array([1], np.int32),
                     "split_lengths": np.array([2, -1, 3], np.int16)}, {},
            [("output_0", x[:, :2]), ("output_1", x[:, 2:9]),
             ("output_2", x[:, 9:])]),
        "Split": ("data", {"axis": np.array([1], np.uint8)},
                  {"num_splits": 3},
                  [(f"output_{k}", x[:, 4 * k:4 * k + 4]) for k in range(3)]),
        "Shuffle": ("src", {}, {"group_size": 4}, [("dst", shuffled(x, 3))]),
        "Shuffle, backward": (
            "diff_dst", {}, {"group_size": 3, "prop_kind": "backward"},
            [("diff_src", shuffled(x, 3))]),
        "shuffled_halves": ("input", {}, {},
                            [("output_0", shuffled(x, 3)[:, :6]),
                             ("output_1", shuffled(x, 3)[:, 6:])]),
    }


class Table:
    """What held, by model and datatype; printed in the end."""

    def __init__(self, client: str):
        self.client = client
        self.rows = collections.defaultdict(dict)
        self.passed = self.failed = 0

    def __call__(self, row: str, column: str, holds: bool, found="") -> None:
        self.rows[row][column] = "ok" if holds else "FAILED"
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print(f"FAILED {self.client}, {row}, {column}: {str(found)[:300]}")

    def finish(self) -> None:
        for row, cells in self.rows.items():
            print(f"{row:<24}" + " ".join(f"{column}:{verdict}"
                                          for column, verdict in
                                          cells.items()))
        print(f"summary: {self.client} from PyPI: {self.passed} passed, "
              f"{self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)

"""Transposes a 2 x 3 array with NVIDIA's tritonclient, over the Open Inference
Protocol: triton.py HOST:PORT
"""

import sys

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException


def tensor(name: str, array: np.ndarray, datatype: str) -> triton.InferInput:
    made = triton.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


def main() -> None:
    # A client is not thread-safe: one for each thread.
    with triton.InferenceServerClient(sys.argv[1]) as client:
        x = np.float32([[1, 2, 3], [4, 5, 6]])
        try:
            result = client.infer(
                "Transpose", [tensor("arg", x, "FP32"),
                              tensor("input_order", np.int64([1, 0]), "INT64")],
                client_timeout=60)
        except InferenceServerException as error:
            sys.exit(str(error))
    y = result.as_numpy("output")
    print(list(y.shape), *y.astype(int).flat)


if __name__ == "__main__":
    main()

"""Transposes a 2 x 3 array with the axisd package: numpy_client.py HOST:PORT"""

import sys

import axisd
import numpy as np


def main() -> None:
    with axisd.connect(sys.argv[1], timeout=60) as client:
        try:
            y = client.transpose(np.float32([[1, 2, 3], [4, 5, 6]]), (1, 0))
        except axisd.InvalidArgument as error:
            sys.exit(f"{error.field} is wrong: {error}")
    print(list(y.shape), *y.astype(int).flat)


if __name__ == "__main__":
    main()

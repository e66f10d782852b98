#!/usr/bin/python3
"""Which requests wake no worker: small ones, and of a single op up to 2 MiB,
but none that speaks of shared memory.

Usage: light.py AXISD
"""

import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import Axisd, Checks, oip, outcome  # noqa: E402
from memory import SharedMemory  # noqa: E402
from region_client import Client, code, matrix  # noqa: E402

KIB = 1024


def threads(server: Axisd) -> int:
    """Those that the first work for them starts among them; gRPC's have names
    of their own."""
    tasks = pathlib.Path(f"/proc/{server.process.pid}/task")
    names = [(task / "comm").read_text() for task in tasks.iterdir()]
    return names.count((tasks.parent / "comm").read_text())


def infer(server: Axisd, x: np.ndarray, model: str = "Transpose") -> bool:
    """Has `server` turn a matrix; whether it did."""
    request = oip.ModelInferRequest(model_name=model)
    request.inputs.add(name="input", datatype="UINT8", shape=x.shape)
    request.raw_input_contents.append(x.tobytes())
    if model == "Transpose":
        request.inputs[0].name = "arg"
        request.inputs.add(name="input_order", datatype="INT8", shape=[0])
        request.raw_input_contents.append(b"")
    answer = outcome(server.inference.ModelInfer, request)
    return (code(answer) == "OK" and
            answer.raw_output_contents[0] == x.T.tobytes())


def check_ops(check: Checks, axisd: str) -> None:
    with Axisd(axisd) as server:
        before = threads(server)
        check("one op is done", infer(server, matrix(2 * KIB, 1000)))
        check("on 2 MB it wakes nobody", threads(server) == before)
        check("one op is done", infer(server, matrix(2 * KIB, 2 * KIB)))
        check("on 4 MiB it wakes workers", threads(server) > before)


def check_models(check: Checks, axisd: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "turn.textproto").write_text(
            'name: "turn" ops { transpose {} }')
        with Axisd(axisd, f"--models={folder}") as server:
            before = threads(server)
            check("a model runs", infer(server, matrix(50, 70), "turn"))
            check("on 3.5 kB it wakes nobody", threads(server) == before)
            check("a model runs", infer(server, matrix(50, 90), "turn"))
            check("on 4.5 kB it wakes workers", threads(server) > before)


def check_regions(check: Checks, axisd: str) -> None:
    with Axisd(axisd, "--allow_shared_memory") as server:
        client, before = Client(server), threads(server)
        shared = SharedMemory(bytes(KIB * KIB))
        client.register("r", shared.key, KIB * KIB)
        check("one op is done", infer(server, matrix(50, 70)))
        check("on 3.5 kB it wakes nobody", threads(server) == before)
        answer = client.transpose([10, 10], "UINT8", ("r", 0, 100))
        check("one op is done on 100 B in a region", code(answer) == "OK",
              answer)
        check("and wakes workers", threads(server) > before)
        shared.close()


def main() -> None:
    check = Checks()
    for check_requests in (check_ops, check_models, check_regions):
        check_requests(check, sys.argv[1])
    check.finish("light")


if __name__ == "__main__":
    main()

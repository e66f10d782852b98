#!/usr/bin/python3
"""Runs the clients people have, as PyPI has them, against axisd.

Usage: run.py AXISD
"""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from venv_of import python_with  # noqa: E402

from harness import Axisd  # noqa: E402

CLIENTS = {"tritonclient": ["tritonclient[grpc]", "ml_dtypes"], "kserve": ["kserve"]}


def main() -> int:
    status = 0
    python = python_with("clients", *sum(CLIENTS.values(), []))
    models = HERE / "models"
    with Axisd(sys.argv[1], "--allow_shared_memory",
               f"--models={models}") as server:
        for client in CLIENTS:
            ran = subprocess.run(
                [python, HERE / f"use_{client}.py", server.address],
                timeout=300)
            status |= ran.returncode != 0
    return status


if __name__ == "__main__":
    sys.exit(main())

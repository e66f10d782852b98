#!/usr/bin/python3
"""Runs the clients people have, as PyPI has them, against axisd.

Usage: run.py AXISD
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "oip")]

from harness import Axisd  # noqa: E402
from models import specifications  # noqa: E402
from venv_of import python_with  # noqa: E402

CLIENTS = {"tritonclient": ["tritonclient[grpc]", "ml_dtypes"], "kserve": ["kserve"]}


def main() -> int:
    python = python_with("clients", *sum(CLIENTS.values(), []))
    with tempfile.TemporaryDirectory() as path:
        models = pathlib.Path(path) / "models"
        shutil.copytree(HERE / "models", models)
        for name, (ir, _) in specifications().items():
            ir.write(models, name)
        status = use_all(python, models)
    return status


def use_all(python: str, models: pathlib.Path) -> int:
    status = 0
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

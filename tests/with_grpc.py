#!/usr/bin/python3
"""Runs a test that needs gRPC's Python, or says why it cannot run here.

Usage: with_grpc.py NAME [--newest] COMMAND...
    --newest: by the packages of PyPI, as users have them.

Debian's experimental has packages of it that do not load; there every test gets
those of PyPI. Where they are not installed at all the test is run, and fails.
"""

import importlib
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "clients"))

from venv_of import python_with

MODULES = ("grpc", "google.protobuf.json_format")
PACKAGES = ("grpcio", "protobuf", "numpy", "pyyaml")


def why_not() -> str:
    """Why Debian's packages are of no use; "" if they are, or are not there."""
    for module in MODULES:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError:
            pass
        except ImportError as error:
            return f"Debian's {module} cannot be imported: {error}"
    return ""


def main(name: str, *command: str) -> None:
    newest = command[0] == "--newest"
    python, *arguments = command[newest:]
    why = "by the newest packages" if newest else why_not()
    if python == sys.executable and why:
        print(f"{name}: {why}", flush=True)
        python = python_with("grpc", *PACKAGES)
    os.execv(python, (python, *arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])

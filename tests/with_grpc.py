#!/usr/bin/python3
"""Runs a test that needs gRPC's Python, or says why it cannot run here.

Usage: with_grpc.py NAME COMMAND...

Debian's experimental has packages of it that do not load; there the test gets
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


def main(name: str, *command: str) -> None:
    for module in MODULES:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError:
            pass
        except ImportError as error:
            print(f"{name}: Debian's {module} cannot be imported: {error}")
            python = python_with("grpc", *PACKAGES)
            os.execv(python, (python, *command[1:]))
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])

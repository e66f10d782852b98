#!/usr/bin/python3
"""Runs a test that needs gRPC's Python, or says why it cannot run here.

Usage: with_grpc.py NAME COMMAND...

Debian's experimental has packages of it that do not load. Where they are not
installed at all the test is run, and fails.
"""

import importlib
import os
import sys

SKIP = 77  # the exit status that ctest reads as "skipped"
PACKAGES = {"grpc": "python3-grpcio",
            "google.protobuf.json_format": "python3-protobuf"}


def main(name: str, *command: str) -> None:
    for module, package in PACKAGES.items():
        try:
            importlib.import_module(module)
        except ModuleNotFoundError:
            pass
        except ImportError as error:
            print(f"summary: SKIPPED {name}: {package} of this Debian cannot "
                  f"be imported: {error}")
            sys.exit(SKIP)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])

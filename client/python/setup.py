"""Puts the contract into the wheel, and all that is built under build/."""

import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

os.chdir(pathlib.Path(__file__).resolve().parent)
PROTO = pathlib.Path("../../proto").resolve()
BUILD = pathlib.Path("../../build/python").resolve()


class BuildWithContract(build_py):
    """Compiles the protos to descriptors, not to Python code.

    Code would fit the protobuf of the build alone; descriptors fit all.
    """

    def run(self):
        super().run()
        out = pathlib.Path(self.build_lib, "axisd", "contract.binpb")
        protoc = ([sys.executable, "-m", "grpc_tools.protoc"]
                  if not shutil.which("protoc") else ["protoc"])
        subprocess.run(
            [*protoc, f"--proto_path={PROTO}", "--include_imports",
             f"--descriptor_set_out={out.resolve()}",
             "axis/v1/tensor_service.proto", "google/rpc/error_details.proto",
             "google/rpc/status.proto", "grpc/health/v1/health.proto"],
            check=True)


BUILD.mkdir(parents=True, exist_ok=True)
setup(cmdclass={"build_py": BuildWithContract},
      options={"build": {"build_base": str(BUILD)},
               "egg_info": {"egg_base": str(BUILD)}})

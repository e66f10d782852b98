"""The package `axisd` as of this checkout, for tests: importing this module
makes `import axisd` work. What a wheel would hold lies in a throw-away folder.
"""

import atexit
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "client" / "python" / "src" / "axisd"
CONTRACT = ["axis/v1/tensor_service.proto", "google/rpc/error_details.proto",
            "google/rpc/status.proto", "grpc/health/v1/health.proto"]

_folder = pathlib.Path(tempfile.mkdtemp(prefix="axisd-package-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
shutil.copytree(SOURCE, _folder / "axisd")
subprocess.run(
    ["protoc", f"--proto_path={ROOT / 'proto'}", "--include_imports",
     f"--descriptor_set_out={_folder / 'axisd' / 'contract.binpb'}",
     *CONTRACT], check=True)
sys.path[:0] = [str(_folder), str(ROOT / "tests" / "e2e")]

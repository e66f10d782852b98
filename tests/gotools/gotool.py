"""Tools from the Go module proxy, taken from the path or built here."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import ROOT, SKIP  # noqa: E402

TOOLS = ROOT / "build" / "tools"
# Each tool: its module and the version that was tried.
MODULES = {"grpcurl": ("github.com/fullstorydev/grpcurl", "v1.9.3"),
           "grpcui": ("github.com/fullstorydev/grpcui", "v1.4.3"),
           "ghz": ("github.com/bojand/ghz", "v0.93.0")}


def find(name: str) -> str:
    """The path of a tool. Skips the test, loudly, where it cannot be had."""
    found = shutil.which(name, path=f"{TOOLS}:{os.environ['PATH']}")
    return found or build(name)


def build(name: str) -> str:
    go = shutil.which("go")
    if not go:
        skip(name, "Go is not installed")
    module, version = MODULES[name]
    print(f"building {name} {version}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        # Not `go install`: it wants the list of all versions, which a proxy
        # may refuse although it has this one.
        for command in (["mod", "init", "tools"],
                        ["mod", "edit", f"-require={module}@{version}"],
                        ["build", "-mod=mod", "-p=2", "-o", str(TOOLS / name),
                         f"{module}/cmd/{name}"]):
            try:
                ran = subprocess.run([go, *command], cwd=folder, timeout=600,
                                     capture_output=True, text=True)
            except (subprocess.SubprocessError, OSError) as error:
                skip(name, str(error))
            if ran.returncode:
                skip(name, ran.stderr[-500:])
    return str(TOOLS / name)


def skip(name: str, why: str) -> None:
    print(f"SKIPPED {name}: {why}")
    print(f"summary: {name}: SKIPPED, could not be obtained here")
    sys.exit(SKIP)

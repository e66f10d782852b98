#!/usr/bin/python3
"""What one, two and three replicas do together, each with a twentieth of a CPU.

Usage: scaling.py AXISD AXISCTL     as root, for the quotas (cgroup v1 or v2)

A measurement, not a test: the replicas are held so small that the machine is
not what ends it. Callers are axisctl, whose client goes round the replicas.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from harness import SKIP, Axisd  # noqa: E402

QUOTA_US, PERIOD_US = 1000, 20000
CALLERS, CALLS = 6, 100
BYTES = 1 << 20


class Cgroup:
    """A quota for one process; removed when the process has ended."""

    def __init__(self, name: str):
        version1 = pathlib.Path("/sys/fs/cgroup/cpu")
        root = version1 if version1.exists() else version1.parent
        self.folder = root / name
        self.folder.mkdir()
        if root == version1:
            (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.folder / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
        else:
            (self.folder / "cpu.max").write_text(f"{QUOTA_US} {PERIOD_US}")

    def take(self, pid: int) -> None:
        (self.folder / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        self.folder.rmdir()


def measure(axisd: str, axisctl: str, replicas: int, file: str) -> None:
    groups = [Cgroup(f"axisd-scaling-{os.getpid()}-{k}")
              for k in range(replicas)]
    servers = [Axisd(axisd, "--threads=1") for _ in groups]
    try:
        for server, group in zip(servers, groups):
            group.take(server.process.pid)
            server.wait_until_serving()
        target = "ipv4:" + ",".join(s.address for s in servers)
        callers = [subprocess.Popen(
            [axisctl, f"--server={target}", f"--repeat={CALLS}", "transpose",
             "order: [0, 2, 1]"], stdin=open(file, "rb"),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                   for _ in range(CALLERS)]
        said = [c.communicate()[1] for c in callers]
        print(f"{replicas} replicas:")
        for line in said[:2]:
            print("  " + " ".join(line.split()))
        rates = [float(m[1]) for s in said
                 if (m := re.search(r"([\d.]+) GB/s", s))]
        print(f"  together {sum(rates):.3f} GB/s", flush=True)
    finally:
        for server in servers:
            server.stop()
        for group in groups:
            group.remove()


def main() -> None:
    if os.geteuid() != 0:
        print("SKIPPED: a quota needs root")
        sys.exit(SKIP)
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, np.arange(BYTES // 4, dtype="<f4").reshape(4, 16, -1))
        file.flush()
        for replicas in (1, 2, 3):
            measure(*sys.argv[1:3], replicas, file.name)


if __name__ == "__main__":
    main()

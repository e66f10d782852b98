#!/usr/bin/python3
"""What a call costs a replica, for the sizing of deploy/README.md.

Usage: sizing.py AXISD AXISCTL

Prints CPU seconds per GB (received plus sent) by size of the message, over
loopback TCP; then a mix of all sizes, predicted from these as the page tells to
do and measured. A measurement, not a test: run it on a quiet machine.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from harness import Axisd  # noqa: E402
import numpy as np  # noqa: E402

# Bytes of a tensor, and the calls of a measurement.
SIZES = {4 << 10: 8000, 64 << 10: 4000, 1 << 20: 600, 16 << 20: 40,
         128 << 20: 6}
CLOCK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(server: Axisd) -> float:
    stat = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text()
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK


def moved_bytes(server: Axisd) -> float:
    return sum(value for name, value in server.metrics().items() if
               name.startswith(("axisd_received_bytes_total",
                                "axisd_sent_bytes_total")))


class Workload:
    def __init__(self, axisctl: str, server: Axisd, folder: str):
        self.axisctl, self.server = axisctl, server
        self.files = {}
        for size in SIZES:
            path = pathlib.Path(folder, f"{size}.npy")
            np.save(path, np.arange(size // 4, dtype="<f4").reshape(
                2, 16, -1))
            self.files[size] = path

    def run(self, size: int, calls: int) -> None:
        with open(self.files[size], "rb") as file:
            subprocess.run(
                [self.axisctl, f"--server={self.server.address}",
                 f"--repeat={calls}", "transpose", "order: [0, 2, 1]"],
                stdin=file, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, check=True)

    def cost(self, parts: dict) -> tuple:
        """CPU seconds and GB."""
        cpu, moved = cpu_seconds(self.server), moved_bytes(self.server)
        for size, calls in parts.items():
            self.run(size, calls)
        return (cpu_seconds(self.server) - cpu,
                (moved_bytes(self.server) - moved) / 1e9)


def main() -> None:
    axisd, axisctl = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder, Axisd(
            axisd, "--threads=1") as server:
        work = Workload(axisctl, server, folder)
        work.cost({1 << 20: 100})  # wakes caches and pools
        per_gb = {}
        for size, calls in SIZES.items():
            cpu, gigabytes = work.cost({size: calls})
            per_gb[size] = cpu / gigabytes
            print(f"{size >> 10:7} KiB: {cpu / gigabytes:6.2f} CPU s per GB, "
                  f"{cpu / calls * 1e6:9.0f} us a call, "
                  f"{gigabytes * 8 / cpu:6.1f} Gb/s a core", flush=True)
        mix = {4 << 10: 3000, 64 << 10: 2000, 1 << 20: 300, 16 << 20: 20}
        predicted = sum(2 * size * calls / 1e9 * per_gb[size]
                        for size, calls in mix.items())
        cpu, gigabytes = work.cost(mix)
        print(f"a mix of {gigabytes:.2f} GB: predicted {predicted:.2f} CPU s, "
              f"measured {cpu:.2f}, {100 * (predicted / cpu - 1):+.0f} %")


if __name__ == "__main__":
    main()

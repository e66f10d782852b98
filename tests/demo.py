#!/usr/bin/python3
"""Rearranges a photograph with axisd, and checks every result with NumPy.

Usage: demo.py AXISD AXISCTL
"""

import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "e2e"))
from harness import ROOT, Axisd  # noqa: E402

PHOTO = HERE / "data" / "astronaut.npy"
PICTURE = ROOT / "build" / "demo" / "interleaved.png"

TO_PLANES = ["transpose", "order: [2, 0, 1]"]
INTERLEAVE = ["shuffle_channels", "axis: 1 group: 4"]
# ShuffleChannels counts groups, oneDNN the members of one: so this is the
# inverse, whatever the number of rows.
UNDO = ["shuffle", "axis: 1 group_size: 4"]
SPLIT = ["variadic_split", "axis: 0 split_lengths: [1, 1, 1]"]


class Demo:
    def __init__(self, axisctl: str, server: Axisd, folder: str):
        self.axisctl, self.server = axisctl, server
        self.folder = pathlib.Path(folder)
        self.wrong = 0

    def measure(self) -> tuple:
        """What axisd has copied so far, and the seconds it took."""
        seconds = sum(v for k, v in self.server.metrics().items()
                      if k.startswith("axisd_request_duration_seconds_sum"))
        return self.server.copies(), seconds

    def run(self, source: np.ndarray, *ops: str) -> list:
        """The outputs of `ops`, by axisctl."""
        for old in self.folder.glob("*.npy"):
            old.unlink()
        np.save(self.folder / "in.npy", source)
        with open(self.folder / "in.npy", "rb") as stdin:
            subprocess.run(
                [self.axisctl, f"--server={self.server.address}",
                 f"--output={self.folder}/out%d.npy", *ops], stdin=stdin,
                check=True)
        outputs = len(list(self.folder.glob("out*.npy")))
        return [np.load(self.folder / f"out{k}.npy") for k in range(outputs)]

    def step(self, what: str, source: np.ndarray, ops: list,
             wanted: list) -> list:
        """Runs one step, compares it with NumPy's result, and tells."""
        before, began = self.measure()
        outputs = self.run(source, *ops)
        after, ended = self.measure()
        right = len(outputs) == len(wanted) and all(
            a.dtype == b.dtype and np.array_equal(a, b)
            for a, b in zip(outputs, wanted))
        self.wrong += not right
        shapes = f"{len(outputs)} x " if len(outputs) > 1 else ""
        shapes += " x ".join(map(str, outputs[0].shape)) if outputs else "-"
        copies = ", ".join(f"{after[k] - before[k]:.0f} {k}" for k in after
                           if after[k] > before[k]) or "none"
        print(f"  {what:<34}{shapes:<19}{copies:<21}"
              f"{(ended - began) * 1000:>6.2f} ms  "
              f"{'right' if right else 'WRONG'}")
        return outputs


def write_png(path: pathlib.Path, pixels: np.ndarray) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))

    height, width, _ = pixels.shape
    rows = np.pad(pixels.reshape(height, -1), ((0, 0), (1, 0)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" +
        chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b""))


def main() -> int:
    axisd, axisctl = sys.argv[1:]
    photo = np.load(PHOTO)
    planes = np.moveaxis(photo, 2, 0)
    # Row r of the result is row r // 4 of quarter r % 4.
    rows = [128 * (r % 4) + r // 4 for r in range(512)]
    interleaved = planes[:, rows]
    colours = [planes[k:k + 1] for k in range(3)]

    print(f"\nA photograph: {PHOTO.relative_to(ROOT)}, 512 rows of 512 RGB "
          f"pixels.\n\n  {'what axisd is asked to do':<34}{'result':<19}"
          f"{'copies':<21}{'time':>9}  NumPy says")
    with Axisd(axisd) as server, tempfile.TemporaryDirectory() as folder:
        demo = Demo(axisctl, server, folder)
        demo.step("Transpose: pixels to planes", photo, TO_PLANES, [planes])
        shuffled = demo.step("ShuffleChannels: 4 groups of rows", planes,
                             INTERLEAVE, [interleaved])
        demo.step("Shuffle: the other way round", interleaved, UNDO, [planes])
        demo.step("VariadicSplit: a plane per colour", planes, SPLIT, colours)
        demo.step("all four in one call", photo,
                  TO_PLANES + INTERLEAVE + UNDO + SPLIT, colours)
        metrics = f"http://127.0.0.1:{server.metrics_port}/metrics"
    if demo.wrong:
        print(f"\n{demo.wrong} results differ from NumPy's.")
        return 1
    write_png(PICTURE, np.moveaxis(shuffled[0], 0, 2))
    print(f"""
Every result is, bit for bit, what NumPy computes. A `strided` copy is one
pass over memory, `joined` brings together what the network cut, `shared`
costs nothing. Copies and times were read from {metrics}.
The interleaved photograph: {PICTURE.relative_to(ROOT)}

Go on by yourself:
  ./dev serve     # calls on port 8001, metrics on http://localhost:8002/metrics
  build/axisctl transpose 'order: [2, 0, 1]' \\
    < {PHOTO.relative_to(ROOT)} > planes.npy""")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Does `axisctl show` draw what the ops do, as the pictures of the docs?

Usage: show.py AXISD AXISCTL [--write]    --write: draw proto/pictures anew
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import ROOT, Axisd, Checks  # noqa: E402

PICTURES = ROOT / "proto" / "pictures"
DRAWN = {
    "transpose": ("2,3", "order: [1, 0]"),
    "shuffle_channels": ("1,12", "group: 3"),
    "variadic_split": ("2,6", "axis: 1 split_lengths: [1, 2, -1]"),
    "shuffle": ("1,12", "group_size: 3"),
}
TEXT = """\
[2, 2, 3]
 0  1  2    6  7  8
 3  4  5    9 10 11
→
[3, 2, 2]
 0  6    1  7    2  8
 3  9    4 10    5 11
"""


def main() -> None:
    axisd, axisctl, *write = sys.argv[1:]
    check = Checks()

    with Axisd(axisd) as server, tempfile.TemporaryDirectory() as folder:
        def show(*args: str) -> subprocess.CompletedProcess:
            return subprocess.run(
                [axisctl, f"--server={server.address}", "show", *args],
                capture_output=True, text=True, env={**os.environ})

        for op, (shape, attributes) in DRAWN.items():
            kept = PICTURES / f"{op}.svg"
            drawn = kept if write else pathlib.Path(folder) / kept.name
            ran = show(f"--shape={shape}", f"--output={drawn}", op, attributes)
            check(f"the picture of {op}", ran.returncode == 0 and
                  drawn.read_bytes() == kept.read_bytes(), ran.stderr)
        ran = show("--shape=2,2,3", "transpose", "")
        plain = "".join(line.rstrip() + "\n"
                        for line in ran.stdout.splitlines())
        check("three axes as text, plain where there is no terminal",
              plain == TEXT, ran.stdout)
        check("a scalar", show("--shape=()", "transpose", "").stdout ==
              "[]\n0 \n→\n[]\n0 \n")
        check("no elements", show("--shape=0,2", "transpose", "").stdout ==
              "[0, 2]\n→\n[2, 0]\n")
        check("no shape", show("transpose", "").returncode == 2)
        check("too many", show("--shape=99999999999,99999999999",
                               "transpose", "").returncode == 2)
        refused = show("--shape=2,3", "transpose", "order: [0, 7]")
        check("a refusal", refused.returncode == 1 and
              "order[1]" in refused.stderr, refused.stderr)
    check.finish("axisctl show")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Which lines of kernels/ and server/ the tests run, by gcov.

Usage: coverage.py BUILD_FOLDER JSON

BUILD_FOLDER was built with --coverage and its tests were run. A line of a
header counts once, however many files include it, and as run if it was in any.
"""

import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("kernels", "server")


def lines_of(build: pathlib.Path) -> dict:
    """file -> line -> how often it was run."""
    found = collections.defaultdict(collections.Counter)
    for data in build.rglob("*.gcda"):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["gcov", "--json-format", str(data)], cwd=folder,
                           check=True, capture_output=True)
            for report in pathlib.Path(folder).glob("*.json.gz"):
                for file in json.loads(gzip.open(report).read())["files"]:
                    path = (build / file["file"]).resolve()
                    if not path.is_relative_to(ROOT):
                        continue
                    name = str(path.relative_to(ROOT))
                    if name.split("/")[0] not in FOLDERS:
                        continue
                    for line in file["lines"]:
                        found[name][line["line_number"]] += line["count"]
    return found


def ranges(numbers: list) -> str:
    out = []
    for n in numbers:
        if out and n == out[-1][1] + 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in out)


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = lines_of(pathlib.Path(sys.argv[1]).resolve())
    result = {"files": {}, "folders": {}}
    for folder in FOLDERS:
        run = all_lines = 0
        for name in sorted(n for n in found if n.startswith(folder + "/")):
            counts = found[name]
            missed = sorted(n for n, count in counts.items() if not count)
            run += len(counts) - len(missed)
            all_lines += len(counts)
            result["files"][name] = {"lines": len(counts),
                                     "run": len(counts) - len(missed)}
            if missed:
                print(f"{name}: {len(missed)} of {len(counts)} not run: "
                      f"{ranges(missed)}")
        result["folders"][folder] = {"lines": all_lines, "run": run}
        share = 100 * run / max(1, all_lines)
        print(f"summary: coverage: {share:.1f} % of {all_lines} lines of "
              f"{folder}/ are run by the tests")
    pathlib.Path(sys.argv[2]).write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Plants one defect after the other in a copy of the tree, builds the tests
that must notice, and shows that they do.

Usage: run.py FOLDER [TEXT]
       run.py --check

The copy lies in FOLDER, and so does the result, mutations.json. With TEXT only
defects of files whose names contain it are planted. --check only says whether
all of them can be.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import connection_defects
import copy_defects
import defects
import digits_defects
import lookup_defects
import narrow_defects
import plan_defects
import server_defects

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEST_SECONDS = 300  # a defect that makes a test hang is caught, too


def sync(tree: pathlib.Path) -> None:
    """Makes `tree` what is in the checkout; keeps what it has built."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = {name for name in names.splitlines() if (ROOT / name).is_file()}
    for folder in tree.iterdir() if tree.exists() else []:
        for path in folder.rglob("*") if folder.name != "build" else []:
            if path.is_file() and str(path.relative_to(tree)) not in files:
                path.unlink()  # else what has moved would be built twice
    for name in files:
        source, target = ROOT / name, tree / name
        if target.exists() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def out_of_date(root: pathlib.Path, file: str, old: str) -> str:
    """Why `old` cannot be replaced in `file` of `root`; "" if it can."""
    times = (root / file).read_text().count(old)
    return "" if times == 1 else f"out of date: {file} has {times} times {old!r}"


class Tree:
    def __init__(self, folder: pathlib.Path):
        self.root = folder / "tree"
        self.build = self.root / "build/release"
        sync(self.root)
        if not (self.build / "build.ninja").exists():
            launcher = (["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
                        if shutil.which("ccache") else [])
            self.run("cmake", "--preset", "release", *launcher)

    def run(self, *command: str, timeout: int = 3600):
        environment = {**os.environ, "CCACHE_BASEDIR": str(self.root),
                       "CCACHE_NOHASHDIR": "true", "OMP_NUM_THREADS": "1"}
        return subprocess.run(command, cwd=self.root, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=timeout)

    def make(self, tests: list) -> str:
        """Builds what `tests` need; what the compiler said if it cannot."""
        targets = sorted({"axisd" if t.endswith(".py") else t for t in tests})
        made = self.run("cmake", "--build", "--preset", "release",
                        f"-j{os.cpu_count()}", "--target", *targets)
        return "" if made.returncode == 0 else (made.stdout + made.stderr)

    def test(self, test: str) -> str:
        """Why `test` fails; "" if it does not."""
        command = ([str(self.build / "tests" / test)] if
                   not test.endswith(".py") else
                   ["/usr/bin/python3", str(self.root / "tests" / test),
                    str(self.build / "server/axisd")])
        if test.endswith("_test"):
            command.append("--gtest_fail_fast")
        try:
            ran = self.run(*command, timeout=TEST_SECONDS)
        except subprocess.TimeoutExpired:
            return "hangs"
        if ran.returncode < 0:
            return f"ends with signal {-ran.returncode}"
        if ran.returncode == 0:
            return ""
        for line in ran.stdout.splitlines():
            if "FAILED" in line:
                return line.replace("[  FAILED  ]", "").strip()[:100]
        return f"exit {ran.returncode}"

    def plant(self, file: str, old: str, new: str) -> None:
        if stale := out_of_date(self.root, file, old):
            raise SystemExit(stale)
        path = self.root / file
        path.write_text(path.read_text().replace(old, new))

    def mend(self, file: str) -> None:
        shutil.copy(ROOT / file, self.root / file)


def try_defect(tree: Tree, defect: tuple) -> dict:
    file, old, new, tests = defect
    start = time.monotonic()
    tree.plant(file, old, new)
    try:
        broken = tree.make(tests)
        caught = ""
        for test in () if broken else tests:
            why = tree.test(test)
            if why:
                caught = f"{test}: {why}"
                break
    finally:
        tree.mend(file)
    if broken:
        raise SystemExit(f"{file}: {new!r} does not compile:\n{broken[-3000:]}")
    return {"file": file, "old": old, "new": new, "caught": caught,
            "seconds": round(time.monotonic() - start, 1)}


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    every = (defects.KERNELS + copy_defects.COPY + digits_defects.DIGITS +
             lookup_defects.LOOKUP + narrow_defects.NARROW +
             plan_defects.PLANS + server_defects.SERVER +
             connection_defects.CONNECTIONS)
    if sys.argv[1] == "--check":
        stale = [why for d in every if (why := out_of_date(ROOT, d[0], d[1]))]
        print(*stale, f"summary: {len(every)} defects to plant", sep="\n")
        sys.exit(bool(stale))
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    text = sys.argv[2] if len(sys.argv) > 2 else ""
    chosen = [d for d in every if text in d[0]]
    if "avx512_vbmi" not in pathlib.Path("/proc/cpuinfo").read_text():
        for file in sorted({d[0] for d in lookup_defects.LOOKUP}):
            print(f"*** SKIPPED defects in {file}: nobody runs it on this CPU, "
                  "which has no AVX-512 VBMI ***", flush=True)
        chosen = [d for d in chosen if d not in lookup_defects.LOOKUP]
    tree = Tree(folder)
    tests = sorted({test for defect in chosen for test in defect[3]})
    broken = tree.make(tests)
    if broken:
        sys.exit(broken)
    for test in tests:
        why = tree.test(test)
        if why:
            sys.exit(f"{test} fails without any defect: {why}")
    found = []
    for defect in chosen:
        result = try_defect(tree, defect)
        found.append(result)
        print(f"{'caught' if result['caught'] else 'ESCAPED':<8}"
              f"{result['seconds']:>6} s  {result['file']}: "
              f"{' '.join(result['old'].split())[:60]!r} -> "
              f"{' '.join(result['new'].split())[:60]!r}; {result['caught']}",
              flush=True)
    tree.make(tests)
    caught = sum(bool(r["caught"]) for r in found)
    if not text:
        (folder / "mutations.json").write_text(json.dumps(found, indent=1))
    print(f"summary: {caught} of {len(found)} planted defects caught")
    sys.exit(caught != len(found))


if __name__ == "__main__":
    main()

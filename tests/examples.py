#!/usr/bin/python3
"""Builds and runs every example of client/examples whose toolchain is here.

Usage: examples.py AXISD [LANGUAGE...]    all languages unless named

Each must answer a transpose, and pass every call of golden.jsonl. What could
not be run is named at the end, and why. Builds lie under build/examples; the
first run fetches packages from PyPI, npm, crates.io, Maven and the Go proxy.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import typing

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "e2e"))
from harness import ROOT, Axisd  # noqa: E402

EXAMPLES = ROOT / "client" / "examples"
GOLDEN = HERE / "conformance" / "golden.jsonl"
ANSWER = "[3, 2] 1 4 2 5 3 6"
MOST_LINES = 60


class Example(typing.NamedTuple):
    """A folder of client/examples: what it needs, the arguments of its `run`,
    and the sources that have to be short."""

    name: str
    folder: str
    needs: list
    shows: str
    sources: list
    replays: str = ""


LANGUAGES = [
    Example("C++", "cpp", ["cmake", "g++"], "transpose", ["transpose.cc"],
            "replay"),
    Example("Go", "go", ["go", "protoc"], "transpose", ["transpose/main.go"],
            "replay"),
    Example("Java", "java", ["java", "mvn"], "Transpose", ["Transpose.java"],
            "Replay"),
    Example("TypeScript", "node", ["node", "npm"], "transpose",
            ["transpose.ts", "contract.ts"], "replay"),
    Example("Python, grpcio", "python", ["python3"], "transpose",
            ["transpose.py"], "replay"),
    Example("Python, axisd", "python", ["python3"], "numpy_client",
            ["numpy_client.py"]),
    Example("Python, tritonclient", "python", ["python3"], "triton",
            ["triton.py"]),
    Example("Rust", "rust", ["cargo", "protoc"], "transpose",
            ["transpose.rs"], "replay"),
    Example("shell, grpcurl", "shell", ["jq"], "transpose", ["transpose"],
            "replay"),
]


def run(example: Example, program: str, *args) -> str:
    """What a program printed, and how it failed if it did."""
    try:
        ran = subprocess.run(
            [EXAMPLES / example.folder / "run", program, *args], text=True,
            capture_output=True, timeout=1500)
    except subprocess.TimeoutExpired:
        return "took more than 25 minutes"
    return ran.stdout.strip() + ("\n" + ran.stderr if ran.returncode else "")


def lines(example: Example) -> int:
    return max(len((EXAMPLES / example.folder / source).read_text()
                   .splitlines()) for source in example.sources)


def try_out(example: Example, address: str) -> tuple:
    """(golden calls passed or "-", what is wrong)."""
    wrong, passed = [], "-"
    if lines(example) >= MOST_LINES:
        wrong.append(f"longer than {MOST_LINES - 1} lines")
    shown = run(example, example.shows, address)
    if shown != ANSWER:
        wrong.append(f"answers: {shown[-2000:]}")
    elif example.replays:
        replayed = run(example, example.replays, address, str(GOLDEN))
        found = re.search(r"^(\d+) passed, (\d+) failed$", replayed, re.M)
        due = len(GOLDEN.read_text().splitlines())
        passed = found[1] if found else "0"
        if not found or int(found[1]) != due:
            wrong.append(f"replays: {replayed[-2000:]}")
    return passed, "; ".join(wrong)


def main() -> int:
    axisd, *chosen = sys.argv[1:]
    rows, skipped, failed = [], [], 0
    with Axisd(axisd) as server:
        for example in LANGUAGES:
            if chosen and example.folder not in chosen:
                continue
            missing = [n for n in example.needs if not shutil.which(n)]
            if missing:
                skipped.append(f"{example.name}: no {', '.join(missing)}")
                continue
            print(f"running {example.name}", flush=True)
            passed, wrong = try_out(example, server.address)
            rows.append((example.name, "WRONG" if wrong else "right", passed,
                         lines(example)))
            if wrong:
                failed += 1
                print(f"FAILED {example.name} {wrong}", flush=True)
    print(f"\n{'language':<22}{'transpose':<11}{'golden calls':>13}"
          f"{'lines':>7}")
    for name, answer, passed, length in rows:
        print(f"{name:<22}{answer:<11}{passed:>13}{length:>7}")
    for why in skipped:
        print(f"SKIPPED {why}")
    print(f"summary: examples: {len(rows) - failed} right, {failed} wrong, "
          f"{len(skipped)} SKIPPED")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Writes tests/SCOREBOARD.md from the result files of earlier commands.

Usage: write.py

Each number stands beside the command that measures it; what was not measured
is said to be missing. Results lie in build/, and nothing is measured here.
"""

import datetime
import json
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
CHARTS = ROOT / "tests/scoreboard"
MISSING = "not measured yet"


def load(name: str):
    path = BUILD / name
    return json.loads(path.read_text()) if path.exists() else None


def table(head: list, rows: list) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, r)) + " |" for r in lines)


def correctness() -> list:
    rows = []
    for preset in ("release", "asan", "tsan"):
        command = "./dev test" + (f" {preset}" if preset != "release" else "")
        log = BUILD / preset / "tests.log"
        text = log.read_text() if log.exists() else ""
        found = re.search(r"(\d+)% tests passed, (\d+) tests? failed out of "
                          r"(\d+)", text)
        rows.append([f"tests, {preset}",
                     f"{int(found[3]) - int(found[2])} of {found[3]} passed"
                     if found else MISSING, f"`{command}`"])
    log = BUILD / "release/Testing/Temporary/LastTest.log"
    for line in re.findall(r"^summary: (.*)$", log.read_text(
            errors="replace") if log.exists() else "", re.M):
        name, _, value = line.rpartition(": ")
        rows.append([name or line, value, "`./dev test`"])
    return rows


def ratios() -> list:
    """Times as fast as the best peer or memcpy, from the benchmarks."""
    rows = []
    for path in sorted((BUILD / "bench").glob("*.json")):
        try:
            found = json.loads(path.read_text())
        except ValueError:
            continue
        for key, value in (found.get("summary", {}) if
                           isinstance(found, dict) else {}).items():
            rows.append([f"{path.stem}: {key}", value, "`./dev bench`"])
    return rows or [["kernels and calls against their peers", MISSING,
                     "`./dev bench copy`, `./dev bench rpc`"]]


def faults() -> list:
    found = load("faults.json")
    if not found:
        return [["every row", MISSING, ""]]
    return [[row["name"], row.get("tried", "-"), row.get("survived", "-") if
             "skipped" not in row else f"skipped: {row['skipped']}"]
            for row in found]


def fuzzing() -> list:
    found = load("fuzz.json")
    if not found:
        return [["every target", MISSING, "", ""]]
    return [[name, row["runs"], f"{row['minutes']:.1f}", row["found"]]
            for name, row in found.items()]


def mended() -> list:
    """What fuzzing found; kept, and replayed by the tests."""
    kept = ROOT / "tests/fuzz/found"
    return [[p.parent.name, p.name.replace("_", " "),
             f"`{p.parent.name}_fuzz` of `./dev test` replays it"]
            for p in sorted(kept.glob("*/*"))]


def others() -> list:
    rows = []
    found = load("mutations/mutations.json")
    rows.append(["planted defects caught",
                 f"{sum(bool(r['caught']) for r in found)} of {len(found)}"
                 if found else MISSING, "`./dev mutate`"])
    found = load("coverage.json")
    for folder in ("kernels", "server"):
        value = MISSING
        if found:
            share = found["folders"][folder]
            value = (f"{100 * share['run'] / share['lines']:.1f} % of "
                     f"{share['lines']}")
        rows.append([f"lines of {folder}/ run by the tests", value,
                     "`./dev coverage`"])
    found = load("soak/soak.json")
    value = MISSING
    if found:
        value = (f"{found['answers']} answers verified in "
                 f"{found['minutes']:g} minutes, "
                 f"{sum(found['bad'].values())} wrong or lost; RSS "
                 f"{found['growth']['rss'] / 2**20:+.1f} MiB, descriptors "
                 f"{found['growth']['fds']:+d}, threads "
                 f"{found['growth']['threads']:+d} after warming up")
    rows.append(["soak", value, "`./dev soak`"])
    return rows


def main() -> None:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT,
                            capture_output=True, text=True).stdout.strip()
    cpu = re.search(r"model name\s*: (.*)",
                    pathlib.Path("/proc/cpuinfo").read_text())
    chart = ""
    if (BUILD / "soak/soak.svg").exists():
        shutil.copy(BUILD / "soak/soak.svg", CHARTS / "soak.svg")
        chart = "\n![Memory, descriptors and threads](scoreboard/soak.svg)\n"
    head = ["what", "result", "command"]
    text = f"""# Scoreboard

Written by `./dev scoreboard` on {datetime.date.today()} at {commit}, from what
the commands beside the numbers left in `build/`. Rerun any of them.
Machine: {cpu[1] if cpu else "unknown"}.

## Right

{table(head, correctness())}

## Fast

{table(head, ratios())}

## Unbreakable

Faults, tried by `./dev faults`. After each group of them health must answer,
the next request must be right, and memory, descriptors, threads and admitted
bytes must be back.

{table(["fault", "tried", "survived"], faults())}

Fuzzing, by `./dev fuzz`, with AddressSanitizer and UBSan:

{table(["target", "inputs", "CPU minutes", "findings left"], fuzzing())}

Found so, and mended:

{table(["target", "finding", "regression test"], mended())}

## Tested

{table(head, others())}
{chart}"""
    (ROOT / "tests/SCOREBOARD.md").write_text(text)
    print("summary: tests/SCOREBOARD.md is written")


if __name__ == "__main__":
    main()

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
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench"))

import report  # noqa: E402

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


def engine() -> list:
    """The engine against memcpy and its peers, over all of the suite."""
    found = load("bench/copy.json")
    if not found:
        return [["the engine against its peers", MISSING, "`./dev bench copy`"]]
    suite = json.loads((ROOT / "tests/bench/suite.json").read_text())
    names = {case["name"] for case in suite["cases"]}
    rows = []
    for threads in sorted({r["threads"] for r in found["cases"]}):
        mine = [r for r in found["cases"]
                if r["threads"] == threads and r["name"] in names]
        for of, values in (
                ("memcpy", [r["engine"] / r["memcpy"] for r in mine]),
                ("the best library", report.ratios(mine, report.LIBRARIES)),
                ("the best framework",
                 report.ratios(mine, report.FRAMEWORKS))):
            if values:
                rows.append([f"engine, {threads} thread{'s' * (threads > 1)}: "
                             f"speed over that of {of}",
                             f"{report.geo_mean(values):.2f} in the mean of "
                             f"{len(values)} cases, at least "
                             f"{min(values):.2f}", "`./dev bench copy`"])
    return rows


def calls() -> list:
    """What calls claim, and whether the last run bore it out."""
    text = BUILD / "bench/rpc.txt"
    claims = re.findall(r"^  (\S.*?) +([\d.]+)(?: +([<>]= \S+) +(.*))?$",
                        text.read_text().partition("\nclaims\n")[2]
                        if text.exists() else "", re.M)
    if not claims:
        return [["calls against their peers", MISSING, "`./dev bench rpc`"]]
    return [[name, " ".join(filter(None, (value, goal and f"({goal}, {held})"))),
             "`./dev bench rpc`"] for name, value, goal, held in claims]


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


def measured() -> list:
    """The commit that each command measured, and when it began."""
    rows = []
    for path in sorted((BUILD / "commits").glob("*")):
        when = datetime.datetime.fromtimestamp(path.stat().st_mtime,
                                               datetime.timezone.utc)
        rows.append([f"`./dev {path.name}`", f"{when:%Y-%m-%d %H:%M}",
                     path.read_text().strip()])
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

{table(["command", "begun (UTC)", "commit"], measured())}

## Right

{table(head, correctness())}

## Fast

{table(head, engine() + calls())}

![The engine relative to memcpy](bench/copy.svg)
![Calls relative to a raw echo](bench/rpc.svg)

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

Lines that count as not run: what only tests of the release build do to a server
(no memory, no descriptor, a stuck log: `./dev faults`, `tests/guard/logs.py`),
what an operating system refuses that tests cannot make refuse it, and parts of
statements and closing braces to which gcov gives no count of their own.
{chart}"""
    (ROOT / "tests/SCOREBOARD.md").write_text(text)
    print("summary: tests/SCOREBOARD.md is written")


if __name__ == "__main__":
    main()

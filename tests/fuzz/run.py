#!/usr/bin/python3
"""Runs the fuzz targets one after the other and says what they found.

Usage: run.py BUILD_FOLDER MINUTES [TARGET...]

MINUTES is for all of them together, by the clock; CPU minutes are what is
counted. What is found lies in BUILD_FOLDER/found and ends up in
tests/fuzz/found once it is mended; corpora are kept in BUILD_FOLDER/corpus
from run to run.
"""

import json
import os
import pathlib
import re
import resource
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# A target, and how long its inputs may be.
TARGETS = {"program": 256, "plan": 128, "requests": 4096, "infer": 4096,
           "elements": 1024, "models": 4096, "stream": 4096, "npy": 2048}


def cpu_seconds() -> float:
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fuzz(build: pathlib.Path, target: str, seconds: float) -> dict:
    corpus, found = build / "corpus" / target, build / "found" / target
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    kept = HERE / "found" / target
    before = cpu_seconds()
    ran = subprocess.run(
        [str(build / f"tests/fuzz/{target}_fuzz"),
         f"-max_total_time={int(seconds)}", f"-max_len={TARGETS[target]}",
         # By the clock, which goes on where other work takes the machine.
         "-timeout=200", "-rss_limit_mb=4096", "-print_final_stats=1",
         f"-artifact_prefix={found}/", str(corpus),
         str(build / "seeds" / target), *([str(kept)] if kept.exists() else [])],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        errors="replace", env={**os.environ,
                               "UBSAN_OPTIONS": "print_stacktrace=1"})
    minutes = (cpu_seconds() - before) / 60
    runs = re.search(r"number_of_executed_units:\s+(\d+)", ran.stderr)
    covered = re.findall(r"cov: (\d+)", ran.stderr)
    crashes = [p.name for p in found.iterdir()]
    if ran.returncode != 0:
        (found / "report.txt").write_text(ran.stderr[-20000:])
        print(ran.stderr[-3000:])
    print(f"{target}: {runs[1] if runs else '?'} inputs in {minutes:.1f} CPU "
          f"minutes, {covered[-1] if covered else '?'} edges, "
          f"{'FOUND ' + ', '.join(crashes) if ran.returncode else 'no finding'}",
          flush=True)
    return {"runs": int(runs[1]) if runs else 0, "minutes": minutes,
            "found": int(ran.returncode != 0)}


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    targets = sys.argv[3:] or list(TARGETS)
    subprocess.run(["/usr/bin/python3", str(HERE / "seeds.py"),
                    str(build / "seeds")], check=True)
    results = build.parent / "fuzz.json"
    all_found = {}
    for target in targets:
        found = fuzz(build, target, float(sys.argv[2]) * 60 / len(targets))
        # Only now: other targets may have been run at the same time.
        if results.exists():
            all_found = json.loads(results.read_text())
        before = all_found.get(target, {"runs": 0, "minutes": 0})
        found["runs"] += before["runs"]
        found["minutes"] += before["minutes"]
        all_found[target] = found
        results.write_text(json.dumps(all_found, indent=1))
    bad = [t for t in targets if all_found[t]["found"]]
    print(f"summary: fuzzing: {sum(r['runs'] for r in all_found.values())} "
          f"inputs to {len(all_found)} targets so far, "
          f"findings in {len(bad)}")
    sys.exit(len(bad) > 0)


if __name__ == "__main__":
    main()

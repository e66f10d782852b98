#!/usr/bin/env python3
"""Measures the copy engine against memcpy and its peers: ./dev bench copy.

Runs copy_bench (the engine, memcpy, oneDNN, Eigen) and peers.py (NumPy,
OpenVINO, PyTorch, ONNX Runtime) side by side, one of each for every number of
threads, and gives the word to one after the other, round by round. README.md
tells the method and how to read the results.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

import report

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from stolen import quietest, watch  # noqa: E402

MOST = 3  # times as many rounds as are asked for, to find quiet ones among
BITS = {"u1": 1, "u4": 4, "u8": 8, "f16": 16, "bf16": 16, "f32": 32,
        "f64": 64, "c128": 128}
CPUS = sorted(os.sched_getaffinity(0))
# Each is installed on its own, so that one that is out of reach does not take
# the others with it; the first module is the one to import.
PYPI = [["numpy"], ["openvino"], ["onnxruntime", "onnx"], ["torch"]]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build/release",
                        help="CMake build directory with target copy_bench")
    parser.add_argument("--out", type=pathlib.Path,
                        default=ROOT / "build/bench",
                        help="where copy.json, copy.svg and the venv go")
    parser.add_argument("--suite", type=pathlib.Path,
                        default=HERE / "suite.json")
    parser.add_argument("--filter", default="",
                        help="only cases whose name contains this")
    parser.add_argument("--part", default="1/1",
                        help="K/N: the K-th of N parts of them, for machines "
                        "that are lent for minutes")
    parser.add_argument("--add", action="store_true",
                        help="to what copy.json has of other cases; report all")
    parser.add_argument("--threads", default="1,2",
                        help="numbers of threads, such as 1,2")
    parser.add_argument("--rounds", type=int, default=13)
    parser.add_argument("--percentile", type=int, default=50,
                        help="of the rounds' times; less than 50 helps where "
                        "others keep taking the cores away")
    parser.add_argument("--pages", choices=["small", "huge"], default="small",
                        help="the kind of pages the buffers lie on")
    parser.add_argument("--pieces", type=int, default=0, metavar="BYTES",
                        help="give the engine its source in pieces of so many "
                        "bytes, as a server has it; in one if 0")
    parser.add_argument("--no-pypi", action="store_true",
                        help="install nothing from PyPI")
    return parser.parse_args()


def python_for_peers(out, install):
    """The Python to run peers.py with; None if none has NumPy."""
    venv = out / "venv"
    python = venv / "bin/python"

    def has(executable, *modules):
        return subprocess.run([executable, "-c", f"import {', '.join(modules)}"],
                              capture_output=True).returncode == 0

    if install and not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv])
    for packages in PYPI if python.exists() else []:
        if has(python, *packages):
            continue
        if install:
            print(f"installing {' '.join(packages)} from PyPI", flush=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet",
                            "--no-cache-dir", *packages])
        if not has(python, *packages):
            print(f"*** SKIPPED PEER: {packages[0]} is not installed ***")
    for executable in [python, sys.executable, "/usr/bin/python3"]:
        if pathlib.Path(executable).exists() and has(executable, "numpy"):
            if executable != python:
                print("*** SKIPPED PEERS: no venv; only NumPy is left ***")
            return executable
    print("*** SKIPPED PEERS: no Python with NumPy ***")
    return None


class Worker:
    """A process that measures, with one number of threads."""

    def __init__(self, command, threads, pages, *more):
        self.threads = threads
        self.python = len(command) > 1
        self.process = subprocess.Popen(
            [*map(str, [*command, threads, pages, *more])], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)})

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.process.args[0]} died of: {line}")
        return answer.split("\t")

    def pin(self, cpus):
        """Puts the main thread on one of `cpus`; what it starts, too."""
        os.sched_setaffinity(self.process.pid, cpus)

    def begin(self, case):
        """Starts a case; returns the checksum of its outputs."""
        self.pin(CPUS)
        crc, *self.names = [word.strip() for word in self.ask(case)]
        self.runs = []
        return crc

    def round(self, number, enough):
        """Has everybody take a sample, unless `enough` rounds were quiet."""
        if sum(run.quiet for run in self.runs) < enough:
            self.pin({CPUS[number % len(CPUS)]})
            self.runs.append(watch(lambda: dict(
                zip(self.names, map(float, self.ask("round"))))))

    def samples(self, name, count):
        """The seconds of one in the quietest rounds, sorted."""
        return sorted(taken[name] for taken in quietest(self.runs, count))


def command_of(case):
    def numbers(key):
        return ",".join(map(str, case[key]))
    words = ["case", case["op"], BITS[case["dtype"]], numbers("shape")]
    if case["op"] == "Transpose":
        words += [numbers("perm")]
    elif case["op"] == "ShuffleChannels":
        words += [case["axis"], case["group"]]
    elif case["op"] == "Shuffle":
        words += [case["group"], case["layout"]]
    else:
        words += [case["axis"], numbers("lengths")]
    return " ".join(map(str, words))


def bytes_of(case):
    items = math.prod(case["shape"])
    # The last block of channels is padded.
    if block := int(case.get("layout", "").strip("nChwc") or 0):
        channels = case["shape"][1]
        items = items // channels * -(-channels // block) * block
    return (items * BITS[case["dtype"]] + 7) // 8


def measure(case, workers, rounds, percentile, agreement):
    """Runs one case; returns a record for each number of threads.

    Adds to `agreement` how fast Python's memcpy was relative to C++'s.
    """
    # Elements of less than a byte and Shuffle none of them knows.
    if BITS[case["dtype"]] < 8 or case["op"] == "Shuffle":
        workers = [w for w in workers if not w.python]
    sums = {worker.begin(command_of(case)) for worker in workers}
    if len(sums) != 1:
        sys.exit(f"{case['name']}: two opinions on what is right")
    for number in range(MOST * rounds):
        for worker in workers:
            worker.round(number, rounds)
    records = []
    for threads in sorted({worker.threads for worker in workers}):
        rates = {}
        for worker in workers:
            for name in worker.names if worker.threads == threads else []:
                samples = worker.samples(name, rounds)
                seconds = samples[(len(samples) - 1) * percentile // 100]
                rate = 2 * bytes_of(case) / seconds / 1e9
                if name == "memcpy" and worker.python:
                    if threads == 1:  # it never uses more
                        agreement.append(rate / rates["memcpy"])
                    continue
                # The best of what a library offers stands for it.
                name = next((peer for peer in report.PEERS
                             if name.startswith(peer)), name)
                rates[name] = max(rate, rates.get(name, 0))
        records.append({
            "name": case["name"], "threads": threads,
            **{name: round(rates.pop(name), 4)
               for name in ("engine", "alone", "memcpy") if name in rates},
            "peers": {name: round(rate, 4) for name, rate in rates.items()}})
    return records


def measured_before(args, cases):
    """The records of copy.json that this run is not going to replace."""
    path = args.out / "copy.json"
    if not args.add or not path.exists():
        return []
    again = {case["name"] for case in cases}
    return [record for record in json.loads(path.read_text())["cases"]
            if record["name"] not in again]


def in_order(records, suite):
    """Sorts records as their cases come in the suite, by threads in each."""
    names = list(report.classes_of(suite))
    return sorted(records,
                  key=lambda r: (r["threads"], names.index(r["name"])))


def main():
    args = arguments()
    # Peers that were installed after the build was configured are found now.
    subprocess.run(["cmake", args.build], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", args.build, "--target", "copy_bench"],
                   check=True)
    binaries = sorted(args.build.glob("**/copy_bench"))
    if not binaries:
        sys.exit(f"no copy_bench under {args.build}; is zlib missing?")
    args.out.mkdir(parents=True, exist_ok=True)
    python = python_for_peers(args.out, not args.no_pypi)
    suite = json.loads(args.suite.read_text())
    cases = [case for key in ("cases", "subbyte_cases")
             for case in suite.get(key, []) if args.filter in case["name"]]
    part, parts = map(int, args.part.split("/"))
    cases = cases[part - 1::parts]
    if not cases:
        sys.exit(f"no case of {args.suite} has {args.filter!r} in its name")
    workers = []
    for threads in map(int, args.threads.split(",")):
        workers.append(
            Worker([binaries[0]], threads, args.pages, args.pieces))
        if python:
            workers.append(
                Worker([python, HERE / "peers.py"], threads, args.pages))
    load = os.getloadavg()[0]
    latency = workers[0].ask("latency")[0].strip()
    records, agreement = measured_before(args, cases), []
    for number, case in enumerate(cases, 1):
        new = measure(case, workers, args.rounds, args.percentile,
                      agreement)
        records += new
        for record in new:
            print(f"[{number}/{len(cases)}] {report.line(record)}", flush=True)
        # Written every time, so that a run cut short leaves what it has.
        records = in_order(records, suite)
        (args.out / "copy.json").write_text(
            json.dumps({"cases": records}, indent=1) + "\n")
    (args.out / "copy.svg").write_text(report.chart(records, suite))
    print(report.tables(records, suite))
    print(f"latency of 2x3x4 f32, ns: {latency}")
    print(f"{args.rounds} rounds, percentile {args.percentile}; "
          f"{args.pages} pages; load {load:.1f} before, {os.getloadavg()[0]:.1f} after; "
          f"{os.cpu_count()} CPUs")
    if agreement:
        print(f"memcpy in the Python process ran at "
              f"{statistics.median(agreement):.2f}x of that in the C++ one")


if __name__ == "__main__":
    main()

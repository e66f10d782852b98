#!/usr/bin/python3
"""Runs every case of cases.json that axis.v1 can say against a real axisd.

Usage: run.py AXISD

Each case runs once for every type, layout and direction it lists, over a real
connection, bytes compared bit for bit. What the native service cannot say is
counted and named, never dropped.
"""

import collections
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import jobs  # noqa: E402
from harness import Axisd, Refusal, outcome, pb  # noqa: E402

METHODS = {"transpose": "Transpose", "shuffle_channels": "ShuffleChannels",
           "variadic_split": "VariadicSplit", "shuffle": "Shuffle"}
VERDICTS = ("passed", "failed", "not expressible")


def request(job: jobs.Job, shape: list):
    method = METHODS[job.op]
    tensor = pb.Tensor(data_type="DATA_TYPE_" + job.data_type, shape=shape,
                       layout="LAYOUT_" + job.layout, data=job.data)
    return getattr(pb, method + "Request")(
        input=tensor, op=getattr(pb, method)(**job.attributes))


def judge(job: jobs.Job, answer) -> tuple:
    """The verdict on one call, and why."""
    if isinstance(answer, Refusal):
        if answer.code not in job.accept:
            return "failed", f"{answer.code}: {answer.message}"
        if answer.code == "INVALID_ARGUMENT" and not any(answer.fields):
            return "failed", "refused without naming a field"
        return "passed", ""
    if job.accept:
        return "failed", f"answered, but had to refuse: {job.accept[0]}"
    outputs = (answer.outputs if job.op == "variadic_split" else
               [answer.output])
    if len(outputs) != len(job.outputs):
        return "failed", f"{len(outputs)} outputs, not {len(job.outputs)}"
    for k, (output, (shape, data)) in enumerate(zip(outputs, job.outputs)):
        if list(output.shape) != shape:
            return "failed", f"outputs[{k}] has shape {list(output.shape)}"
        if (pb.DataType.Name(output.data_type) !=
                "DATA_TYPE_" + job.data_type):
            return "failed", f"outputs[{k}] has type {output.data_type}"
        if pb.Layout.Name(output.layout) != "LAYOUT_" + job.layout:
            return "failed", f"outputs[{k}] has layout {output.layout}"
        if output.WhichOneof("contents") != "data":
            return "failed", f"outputs[{k}] has no data"
        if output.data != data:
            return "failed", f"outputs[{k}] holds other bytes"
    return "passed", ""


def run(case: dict, stub) -> tuple:
    """The verdict on a case: (verdict, reasons, calls made)."""
    found, calls = collections.defaultdict(list), 0
    try:
        for job in jobs.jobs(case):
            if isinstance(job, jobs.Unspeakable):
                found["not expressible"].append(str(job))
                continue
            calls += 1
            answer = outcome(getattr(stub, METHODS[job.op]),
                             request(job, case["in_shape"]))
            verdict, why = judge(job, answer)
            found[verdict].append(f"{job.name}: {why}" if why else "")
    except jobs.Unspeakable as why:
        found["not expressible"].append(str(why))
    except AssertionError as why:
        found["failed"].append(str(why))
    # A layout without a name here is one tag of a case; the others count.
    for verdict in ("failed", "passed", "not expressible"):
        if found[verdict]:
            return verdict, found, calls
    found["failed"].append("the case asks for nothing")
    return "failed", found, calls


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cases = json.loads((HERE / "cases.json").read_text())["cases"]
    table = collections.defaultdict(collections.Counter)
    unsaid = []
    with Axisd(sys.argv[1]) as server:
        for case in cases:
            verdict, found, calls = run(case, server.stub)
            table[case["op"]][verdict] += 1
            table[case["op"]]["calls"] += calls
            for why in found["failed"]:
                print(f"FAILED {case['id']}: {why}", flush=True)
            if found["not expressible"]:
                unsaid.append((case["id"], found["not expressible"][0]))
    print("\nNot expressible:")
    for name, why in unsaid:
        print(f"  {name}: {why}")
    print(f"\n{'operation':<20}" + "".join(f"{v:>17}" for v in VERDICTS) +
          f"{'calls':>8}")
    for op, row in table.items():
        print(f"{op:<20}" + "".join(f"{row[v]:>17}" for v in VERDICTS) +
              f"{row['calls']:>8}")
    print()
    for op, row in table.items():
        if op != "OIP":
            rest = [f"{row[v]} {v}" for v in VERDICTS[2:] if row[v]]
            print(f"summary: conformance {op}: {row['passed']} cases passed, "
                  + ", ".join([f"{row['failed']} failed", *rest]) +
                  f" ({row['calls']} calls)")
    passed = sum(row["passed"] for row in table.values())
    failed = sum(row["failed"] for row in table.values())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Runs every case of cases.json through the Open Inference Protocol.

Usage: oip_run.py AXISD

The cases of the ops go as ModelInfer, index tensors in every integer type that
can say their numbers; the cases of the protocol as they are written. What the
protocol cannot say is counted and named, never dropped.
"""

import collections
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "oip")]

import jobs  # noqa: E402
import oip_jobs  # noqa: E402
from harness import Axisd, Refusal, outcome  # noqa: E402
from oip_memory import Memory  # noqa: E402
from oip_protocol import Protocol  # noqa: E402

VERDICTS = ("passed", "failed", "not expressible")


def judge(call: oip_jobs.Call, answer) -> str:
    """What is wrong with an answer; "" if nothing."""
    if isinstance(answer, Refusal):
        if answer.code not in call.accept:
            return f"{answer.code}: {answer.message}"
        if answer.code == "INVALID_ARGUMENT" and not any(answer.fields):
            return "refused without naming a field"
        return ""
    if call.accept:
        return f"answered, but had to refuse: {call.accept[0]}"
    if len(answer.outputs) != len(call.outputs):
        return f"{len(answer.outputs)} outputs, not {len(call.outputs)}"
    if len(answer.raw_output_contents) != len(call.outputs):
        return "not one raw_output_contents for each output"
    for k, (shape, data) in enumerate(call.outputs):
        output = answer.outputs[k]
        if call.data_type in oip_jobs.DATATYPES:
            found = output.datatype, list(output.shape)
            wanted = oip_jobs.DATATYPES[call.data_type], shape
        else:
            found = (output.datatype, list(output.shape),
                     output.parameters["data_type"].string_param,
                     output.parameters["shape"].string_param)
            wanted = ("UINT8", [len(data)], call.data_type,
                      ",".join(map(str, shape)))
        if found != wanted:
            return f"outputs[{k}] is {found}, not {wanted}"
        if answer.raw_output_contents[k] != data:
            return f"outputs[{k}] holds other bytes"
    return ""


def run_op(case: dict, stub) -> tuple:
    """(verdict, reasons by verdict, calls made)"""
    found, made = collections.defaultdict(list), 0
    try:
        for call in oip_jobs.calls(case):
            if isinstance(call, jobs.Unspeakable):
                found["not expressible"].append(str(call))
                continue
            made += 1
            why = judge(call, outcome(stub.ModelInfer, call.request))
            found["failed" if why else "passed"].append(f"{call.name}: {why}")
    except jobs.Unspeakable as why:
        found["not expressible"].append(str(why))
    except AssertionError as why:
        found["failed"].append(str(why))
    for verdict in ("failed", "passed", "not expressible"):
        if found[verdict]:
            return verdict, found, made
    return "failed", {"failed": ["the case asks for nothing"]}, made


def run_protocol(case: dict, plain: Protocol, memory: Memory) -> tuple:
    name = case["id"].removeprefix("oip.").replace(".", "_")
    method = getattr(memory if name.startswith("shm_") else plain, name, None)
    if method is None:
        return "failed", {"failed": ["nobody wrote this case down"]}, 0
    answer, check = method(), lambda _: True
    if isinstance(answer, tuple) and not isinstance(answer, Refusal):
        answer, check = answer
    code = answer.code if isinstance(answer, Refusal) else "OK"
    if code not in case["expect"]["accept"]:
        return "failed", {"failed": [str(answer)[:300]]}, 1
    if code == "OK" and not check(answer):
        return "failed", {"failed": ["answered wrongly: " +
                                     str(answer)[:300]]}, 1
    return "passed", {}, 1


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cases = json.loads((HERE / "cases.json").read_text())["cases"]
    table = collections.defaultdict(collections.Counter)
    unsaid = []
    with Axisd(sys.argv[1], "--allow_shared_memory") as server:
        plain, memory = Protocol(server), Memory(server)
        for case in cases:
            if case["op"] == "OIP":
                verdict, found, made = run_protocol(case, plain, memory)
            else:
                verdict, found, made = run_op(case, server.inference)
            table[case["op"]][verdict] += 1
            table[case["op"]]["calls"] += made
            for why in found.get("failed", []):
                print(f"FAILED {case['id']}: {why}", flush=True)
            if found.get("not expressible"):
                unsaid.append((case["id"], found["not expressible"][0]))
        memory.close()
    print("\nNot expressible:")
    for name, why in unsaid:
        print(f"  {name}: {why}")
    for op, row in table.items():
        rest = [f"{row[v]} {v}" for v in VERDICTS[2:] if row[v]]
        print(f"summary: conformance by OIP, {op}: {row['passed']} cases "
              "passed, " + ", ".join([f"{row['failed']} failed", *rest]) +
              f" ({row['calls']} calls)")
    passed = sum(row["passed"] for row in table.values())
    failed = sum(row["failed"] for row in table.values())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

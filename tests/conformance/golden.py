#!/usr/bin/python3
"""Writes golden.jsonl: conformance cases as calls, for clients of any language.

Usage: golden.py [--check]    --check: fail if the file is not what it would be

A line is a call in protobuf JSON: `method`, `request`, and the `response`, or
the `error` code that must come instead. Of cases.json it holds those that
axis.v1 can say in messages of at most MOST bytes, each once: in one of its
types, layouts and directions, all of which come in turn. What is expected is
what cases.json and NumPy say; no server is asked.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import jobs  # noqa: E402
from examples import EXAMPLES, expected  # noqa: E402
from google.protobuf import json_format  # noqa: E402
from harness import pb  # noqa: E402
from run import METHODS, request  # noqa: E402

GOLDEN = HERE / "golden.jsonl"
MOST = 1024


def spell(message) -> dict:
    # The names of the contract, as grpcurl spells them too.
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def answer(job: jobs.Job) -> dict:
    if job.accept:
        return {"error": job.accept[0]}
    outputs = [pb.Tensor(data_type="DATA_TYPE_" + job.data_type, shape=shape,
                         layout="LAYOUT_" + job.layout, data=data)
               for shape, data in job.outputs]
    response = getattr(pb, METHODS[job.op] + "Response")
    whole = (response(outputs=outputs) if job.op == "variadic_split" else
             response(output=outputs[0]))
    return {"response": spell(whole)} if whole.ByteSize() <= MOST else {}


def from_cases():
    turn = 0
    for case in json.loads((HERE / "cases.json").read_text())["cases"]:
        try:
            spoken = [j for j in jobs.jobs(case)
                      if not isinstance(j, jobs.Unspeakable)
                      and len(j.data) <= MOST]
        except jobs.Unspeakable:
            continue
        if not spoken:
            continue
        job = spoken[turn % len(spoken)]
        turn += 1
        if found := answer(job):
            yield {"name": f"{case['id']} {job.name}",
                   "method": METHODS[job.op],
                   "request": spell(request(job, case["in_shape"])), **found}


def from_examples():
    """Those with numbers typed by hand; but streams are no call of a line."""
    for example in EXAMPLES:
        if example.method != "StreamPipeline":
            message = json_format.ParseDict(
                example.request, getattr(pb, example.method + "Request")())
            yield {"name": example.name, "method": example.method,
                   "request": spell(message),
                   "response": spell(expected(example))}


def main() -> None:
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n"
                   for line in [*from_examples(), *from_cases()])
    if "--check" not in sys.argv:
        GOLDEN.write_text(text)
    elif GOLDEN.read_text() != text:
        sys.exit(f"{GOLDEN} is stale: run {__file__}")
    print(f"{text.count(chr(10))} calls, {len(text)} bytes")


if __name__ == "__main__":
    main()

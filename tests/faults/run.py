#!/usr/bin/python3
"""Everything that may go wrong around a server, tried; and after each whether
it is well: health answers, the next request is right, and memory, descriptors,
threads and admitted bytes are given back.

Usage: run.py AXISD [--library=FILE] [--json=FILE] [ROW...]

A ROW is a part of the name of a row. FILE of --library is fail_alloc.so.
"""

import json
import pathlib
import sys
import time

from patient import Patient, Skipped  # first: it knows the way to the rest

import clients
import frames
import machine
import memory
import network


def on_one_server(row):
    """A row that only needs a server to be there."""
    def run(binary: str, _) -> Patient:
        with Patient(binary, "--max_inflight_bytes=512MiB",
                     "--max_message_bytes=64MiB") as patient:
            row(patient)
        return patient
    return run


def rows() -> dict:
    simple = {**clients.ROWS, **frames.ROWS}
    return {**{name: on_one_server(row) for name, row in simple.items()},
            **machine.ROWS,
            "every allocation of a request fails": memory.allocations_fail,
            **network.ROWS}


def main() -> None:
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:]
                   if a.startswith("--"))
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    if not names:
        sys.exit(__doc__)
    binary, wanted = names[0], names[1:]
    table, failed = [], 0
    for name, row in rows().items():
        if wanted and not any(w in name for w in wanted):
            continue
        start = time.monotonic()
        try:
            patient = row(binary, options.get("library", ""))
        except Skipped as why:
            print(f"SKIPPED {name}: {why}", flush=True)
            table.append({"name": name, "skipped": str(why)})
            continue
        bad = patient.survived != patient.tried or bool(patient.flaws)
        failed += bad
        table.append({"name": name, "tried": patient.tried,
                      "survived": patient.survived})
        print(f"{'FAILED' if bad else 'ok':<7} {name}: "
              f"{patient.survived} of {patient.tried} survived "
              f"({time.monotonic() - start:.0f} s)", flush=True)
        for flaw in patient.flaws[:int(options.get("flaws", 4))]:
            print("   ", " ".join(flaw.split())[:500], flush=True)
    if "json" in options:
        pathlib.Path(options["json"]).write_text(json.dumps(table, indent=1))
    tried = sum(row.get("tried", 0) for row in table)
    survived = sum(row.get("survived", 0) for row in table)
    print(f"summary: faults: {survived} of {tried} survived in "
          f"{len(table)} rows, {failed} rows failed, "
          f"{sum('skipped' in row for row in table)} skipped")
    sys.exit(1 if failed or not table else 0)


if __name__ == "__main__":
    main()

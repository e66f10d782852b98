#!/usr/bin/python3
"""Replays golden.jsonl with the replay program of the Python example.

Usage: golden_run.py AXISD
"""

import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import ROOT, Axisd  # noqa: E402


def main() -> int:
    spec = importlib.util.spec_from_file_location(
        "replay", ROOT / "client" / "examples" / "python" / "replay.py")
    replay = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(replay)
    with Axisd(sys.argv[1]) as server:
        sys.argv[1:] = [server.address, str(HERE / "golden.jsonl")]
        print("summary: golden calls: ", end="", flush=True)
        replay.main()  # exits, with 1 if any failed


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Turns: a call of a client with nothing else under way does not wait for whole
calls of a client that has several, also where there is but one worker.

Usage: turns.py AXISD
"""

import datetime
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from clients import LARGE, REQUESTS, Lines, flags, methods, pipeline, who
from harness import Axisd, Checks, channel

LONG, SHORT = 3, 30  # calls: at a time, and one after the other


def keep_calling(serve, request: bytes, enough: threading.Event) -> None:
    while not enough.is_set():
        serve(request, metadata=who("greedy"))


def call_both(server: Axisd) -> list:
    """Has long calls of one client under way while another one calls. Returns
    the lines of all."""
    lines, enough = Lines(server), threading.Event()
    long = pipeline(rows=64 << 10).SerializeToString()
    with channel(server.address) as link, channel(server.address) as other, \
            ThreadPoolExecutor(LONG) as pool:
        calls = [pool.submit(keep_calling, methods(link)[LARGE], long, enough)
                 for _ in range(LONG)]
        try:
            while not (seen := lines.take()) and not any(
                    call.done() for call in calls):
                time.sleep(0.01)
            for _ in range(SHORT):
                methods(other)[LARGE](REQUESTS[LARGE], metadata=who("fair0"))
        finally:
            enough.set()
        for call in calls:
            call.result()
    return seen + lines.take()


def times(lines: list, client: str) -> list:
    """When each call of `client` was received, and when it was answered."""
    return [((end := datetime.datetime.fromisoformat(
                line["time"].rstrip("Z"))) -
             datetime.timedelta(seconds=line["seconds"]), end)
            for line in lines if line["client"] == client]


def main() -> None:
    check = Checks()
    with tempfile.TemporaryDirectory() as folder, \
            Axisd(sys.argv[1], "--threads=1", *flags(folder)) as server:
        lines = call_both(server)
    long, short = times(lines, "greedy"), times(lines, "fair0")
    beside = sum(any(begin < last and first < end for begin, end in long)
                 for first, last in short)
    waited = sum(any(first < end < last for _, end in long)
                 for first, last in short)
    print(f"{SHORT} short calls, {beside} of them beside long ones, {waited} "
          "until one ended")
    # The machine may be too busy to send long ones all the time, and one may
    # end just when a short one is there.
    check("short calls come while long ones are there", beside >= SHORT * 2 / 3,
          beside)
    check("and do not wait for them", waited < beside / 4, waited)
    check.finish("turns")


if __name__ == "__main__":
    main()

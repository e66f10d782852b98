#!/usr/bin/python3
"""Turns: a call of a client with nothing else under way does not wait for whole
calls of a client that has several, also where there is but one worker.

Usage: turns.py AXISD
"""

import datetime
import sys
import tempfile

from overload import (LARGE, REQUESTS, Axisd, Checks, Lines, channel, flags,
                      methods, pipeline, who)

LONG, SHORT = 6, 3  # calls


def waited_for(server: Axisd) -> list:
    """Has long calls of one client served while another one calls. Returns how
    many of the former ended while each of the latter was there."""
    lines, long = Lines(server), pipeline(rows=64 << 10)
    greedy = [server.stub.RunPipeline.future(long, metadata=who("greedy"))
              for _ in range(LONG)]
    while not (seen := lines.take()):
        pass
    with channel(server.address) as link:
        for _ in range(SHORT):
            methods(link)[LARGE](REQUESTS[LARGE], metadata=who("fair0"))
    for call in greedy:
        call.result()
    seen += lines.take()
    ends = {name: [datetime.datetime.fromisoformat(line["time"].rstrip("Z"))
                   for line in seen if line["client"] == name]
            for name in ("greedy", "fair0")}
    took = [datetime.timedelta(seconds=line["seconds"])
            for line in seen if line["client"] == "fair0"]
    return [sum(end - length < other < end for other in ends["greedy"])
            for end, length in zip(ends["fair0"], took)]


def main() -> None:
    check = Checks()
    with tempfile.TemporaryDirectory() as folder, \
            Axisd(sys.argv[1], "--threads=1", *flags(folder)) as server:
        waited = waited_for(server)
    print(f"long calls that ended while short ones were there: {waited}")
    # One of them may end just then.
    check("short calls do not wait for long ones of a client with several",
          len(waited) == SHORT and sum(waited) < 2, waited)
    check.finish("turns")


if __name__ == "__main__":
    main()

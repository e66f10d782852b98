"""What a hypervisor takes from this machine: time by which no measurement is to be
judged. Where it does not tell, all of it is ours."""

import os
import time
import typing

QUIET = 0.03  # a part of the cores' time that may be stolen, and go unnoticed


class Run(typing.NamedTuple):
    """Something that was done, and what was stolen meanwhile."""

    stolen: float   # part of the time of all cores
    result: object

    @property
    def quiet(self) -> bool:
        return self.stolen < QUIET


def _stolen_seconds() -> float:
    with open("/proc/stat") as stat:  # proc(5): its eighth figure
        return int(stat.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def watch(work) -> Run:
    begin, before = time.monotonic(), _stolen_seconds()
    result = work()
    took = time.monotonic() - begin
    return Run((_stolen_seconds() - before) / (took * os.cpu_count()), result)


def quietest(runs: list, count: int) -> list:
    """The results of those from which the least was stolen."""
    return [run.result for run in sorted(runs, key=lambda r: r.stolen)[:count]]

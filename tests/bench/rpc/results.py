"""Makes a table, a chart and a verdict of the rows that run.py measured.

A row is one of rpc.json, with two fields more: "p999_us", and "round_p50_us",
the median of every round. What is paired was measured in the same rounds.
"""

import statistics

from chart import dots

FIELDS = ["transport", "bytes", "server", "in_flight", "connections", "p50_us",
          "p99_us", "gbps", "server_cpu_s_per_gb", "client_cpu_s_per_gb",
          "faults", "rss_mib", "copies"]
# Those of rpc.json; the others are variants, for the table only.
SERVERS = ["echo", "axisd", "protobuf", "python", "stream", "shm", "memcpy",
           "copy"]
COLORS = {"axisd": "#d1495b", "stream": "#edae49", "protobuf_tuned": "#66a182",
          "protobuf": "#3d6b9c", "python": "#8d6a9f", "copy": "#999999"}
KIB, MIB = 1 << 10, 1 << 20


def size_of(number):
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if number >> shift:
            return f"{number >> shift} {unit}"
    return f"{number} B"


def line(row):
    """One row in one line, without its copies."""
    return (f"{row['transport']:5}{size_of(row['bytes']):>8}"
            f"{row['in_flight']:4}/{row['connections']:<3}{row['server']:15}"
            f"{row['p50_us']:11.1f}{row['p99_us']:11.1f}{row['p999_us']:11.1f}"
            f"{row['gbps']:9.4f}{row['server_cpu_s_per_gb']:8.3f}"
            f"{row['client_cpu_s_per_gb']:8.3f}{row['faults']:10.1f}"
            f"{row['rss_mib']:8.0f}")


HEADING = (f"{'':5}{'payload':>8}{'load':>6}{'':2}{'server':15}{'p50 us':>11}"
           f"{'p99 us':>11}{'p99.9 us':>11}{'GB/s':>9}{'server':>8}"
           f"{'client':>8}{'faults':>10}{'peak':>8}{'copies':>8}{'p50':>9}\n"
           f"{'load: calls in flight / connections':78}{'CPU s/GB':>16}"
           f"{'a call':>10}{'MiB':>8}{'a call':>8}{'/ echo':>9}")


class Rows:
    """Finds rows, and compares what was measured in the same rounds."""

    def __init__(self, rows):
        self.rows = {(r["transport"], r["bytes"], r["in_flight"],
                      r["connections"], r["server"]): r for r in rows}

    def find(self, transport, size, server, load=(1, 1)):
        return self.rows.get((transport, size, *load, server))

    def ratios(self, transport, size, server, base, load=(1, 1)):
        """p50 of `server` over the sum of those of `base`, of every round."""
        found = [self.find(transport, size, s, load) for s in (server, *base)]
        if None in found:
            return []
        return [mine / sum(others) for mine, *others
                in zip(*(row["round_p50_us"] for row in found))]


def table(rows):
    by = Rows(rows)
    lines = [HEADING]
    for row in rows:
        copies = row["copies"]
        ratios = by.ratios(row["transport"], row["bytes"], row["server"],
                           ["echo"], (row["in_flight"], row["connections"]))
        lines.append(line(row)
                     + (f"{'':8}" if copies is None else f"{copies:8.3f}")
                     + (f"{statistics.median(ratios):9.2f}" if ratios else ""))
    return "\n".join(lines)


def claims(rows, idle, beside):
    """What axisd claims of its transport, and whether this run bears it out.

    Claims whose rows are missing are left out.
    """
    by, lines = Rows(rows), ["claims"]

    def claim(what, value, bound=None, at_least=False):
        verdict = ""
        if bound is not None:
            held = value >= bound if at_least else value <= bound
            verdict = (f"{'>=' if at_least else '<='} {bound:<6g} "
                       f"{'held' if held else 'NOT HELD'}")
        lines.append(f"  {what:58}{value:9.3f}  {verdict}".rstrip())

    def paired(what, transport, size, server, base, bound=None,
               at_least=False):
        ratios = by.ratios(transport, size, server, base)
        if ratios:
            claim(f"{transport} {size_of(size)}: {what}",
                  statistics.median(ratios), bound, at_least)

    for transport in ("tcp", "unix"):
        paired("p50 of axisd / echo", transport, KIB, "axisd", ["echo"], 1.05)
        for size in (MIB, 16 * MIB, 128 * MIB):
            paired("p50 of axisd / (echo + copy)", transport, size, "axisd",
                   ["echo", "copy"], 1.05)
        for size, plain, python in ((16 * MIB, 2.4, 3.3), (128 * MIB, 3.2, 7)):
            unix = transport == "unix"
            paired("p50 of protobuf / axisd", transport, size, "protobuf",
                   ["axisd"], 3.8 if unix else plain, True)
            paired("p50 of protobuf with tuned malloc / axisd", transport,
                   size, "protobuf_tuned", ["axisd"])
            paired("p50 of python / axisd", transport, size, "python",
                   ["axisd"], python if unix else None, True)
        paired("p50 of axisd / infer, the same op by ModelInfer", transport,
               16 * MIB, "axisd", ["infer"], 0.9, True)
        paired("p50 of copy_shm / shm", transport, 128 * MIB, "copy_shm",
               ["shm"], 0.9, True)
        paired("p50 of copy, on huge pages / shm", transport, 128 * MIB,
               "copy", ["shm"])
        for size in (MIB, 16 * MIB, 128 * MIB):
            found = [by.find(transport, size, s)
                     for s in ("axisd", "echo", "copy")]
            if None not in found:
                mine, *others = (r["server_cpu_s_per_gb"] for r in found)
                claim(f"{transport} {size_of(size)}: server CPU of axisd / "
                      "(echo + copy)", mine / sum(others), 1.15)
        for size in (MIB, 16 * MIB, 128 * MIB):
            for server, bound in (("axisd", 0.05), ("axisd_identity", 0.001),
                                  ("axisd_split", 0.001)):
                row = by.find(transport, size, server)
                if row is not None and row["copies"] is not None:
                    claim(f"{transport} {size_of(size)}: copies of {server} "
                          "beside the engine's", row["copies"], bound)
        for what, size, server, base, load, bound in (
                ("GB/s of stream / axisd", 128 * MIB, "stream", "axisd",
                 (1, 1), 0.85),
                ("GB/s of axisd / echo, 64 connections", MIB, "axisd", "echo",
                 (64, 64), 0.95)):
            mine = by.find(transport, size, server, load)
            other = by.find(transport, size, base, load)
            if mine and other:
                claim(f"{transport} {size_of(size)}: {what}",
                      mine["gbps"] / other["gbps"], bound, True)
    for row in idle:
        busy = by.find(row["transport"], row["bytes"], row["server"])
        claim(f"{row['transport']} {size_of(row['bytes'])}: p50 of "
              f"{row['server']} after idleness / busy",
              row["p50_us"] / busy["p50_us"],
              3 if row["server"] == "axisd" and row["bytes"] == KIB else None)
    for row in beside:
        claim(f"{row['transport']} 1 KiB: p99 of {row['server']} beside "
              "128 MiB, us", row["p99_us"],
              2000 if row["server"] == "axisd" else None)
    return "\n".join(lines)


def plain(rows):
    """The rows of rpc.json."""
    return [{field: round(row[field], 4) if isinstance(row[field], float)
             else row[field] for field in FIELDS}
            for row in rows if row["server"] in SERVERS]


def chart(rows):
    """An SVG of the latencies of single calls, relative to the echo."""
    by = Rows(rows)
    cases = list(dict.fromkeys((r["transport"], r["bytes"]) for r in rows))
    names = {case: f"{case[0]} {size_of(case[1])}" for case in cases}
    series = [(server, color,
               {names[case]: by.ratios(*case, server, ["echo"])
                for case in cases}) for server, color in COLORS.items()]
    return dots("Latency relative to a bare gRPC echo of the same bytes, one "
                "call at a time", list(names.values()), series,
                (0.03, 0.1, 0.3, 1, 3, 10, 30),
                "a dot is the median of a round, a bar their geometric mean; "
                "copy: in process")

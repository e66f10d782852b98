"""Makes tables and a chart of what run.py measured.

A record is one element of "cases" in copy.json: name, threads, engine, memcpy
and peers, all rates in GB/s, bytes read and written; with several threads also
alone, what the engine reached with one of them in the same process.
"""

from chart import dots, geo_mean

LIBRARIES = ["oneDNN", "Eigen", "NumPy"]  # the platform's own
FRAMEWORKS = ["OpenVINO", "PyTorch", "ONNX Runtime"]  # from PyPI
PEERS = LIBRARIES + FRAMEWORKS
NOISE = 1.05  # a ratio this close to 1 is no difference


def best(record, names):
    """The fastest of `names` in a record, as (rate, name), or None."""
    return max(((record["peers"][name], name) for name in names
                if name in record["peers"]), default=None)


def line(record):
    """One record in one line."""
    parts = [f"{record['name']:34}", f"x{record['threads']}",
             f"engine {record['engine']:7.2f} GB/s",
             f"{record['engine'] / record['memcpy']:5.2f}x memcpy"]
    for names in (LIBRARIES, FRAMEWORKS):
        top = best(record, names)
        if top:
            parts.append(f"{record['engine'] / top[0]:6.2f}x {top[1]}")
    return "  ".join(parts)


def classes_of(suite):
    return {case["name"]: case.get("cls", "narrow")
            for key in ("cases", "subbyte_cases")
            for case in suite.get(key, [])}


def ratios(records, names):
    return [record["engine"] / top[0] for record in records
            if (top := best(record, names))]


def summary(records):
    """Geometric means and extremes of some records, as cells of a table."""
    cells = []
    for values in ([r["engine"] / r["memcpy"] for r in records],
                   ratios(records, LIBRARIES), ratios(records, FRAMEWORKS)):
        cells.append(f"{min(values):.2f} / {geo_mean(values):.2f} / "
                     f"{max(values):.2f}" if values else "-")
    return "".join(f"{cell:>24}" for cell in cells)


def losses(records, names):
    found = []
    for record in records:
        top = best(record, names)
        if top and record["engine"] * NOISE < top[0]:
            found.append(f"  {record['name']} x{record['threads']}: "
                         f"{record['engine'] / top[0]:.2f}x {top[1]}")
    return found


def tables(records, suite):
    """The report in text: classes, peers, losses, scaling."""
    classes = classes_of(suite)
    lines = []
    for threads in sorted({r["threads"] for r in records}):
        mine = [r for r in records if r["threads"] == threads]
        wide = [r for r in mine if classes[r["name"]] != "narrow"]
        lines += ["", f"threads: {threads}; min / geometric mean / max",
                  f"{'class':14}{'n':>3}{'vs memcpy':>24}"
                  f"{'vs best library':>24}{'vs best framework':>24}"]
        for cls in dict.fromkeys(classes[r["name"]] for r in mine):
            some = [r for r in mine if classes[r["name"]] == cls]
            lines.append(f"{cls:14}{len(some):3}{summary(some)}")
        if wide:
            lines.append(f"{'all but narrow':14}{len(wide):3}{summary(wide)}")
        for name in PEERS:
            if values := ratios(wide, [name]):
                lines.append(f"  vs {name}: {geo_mean(values):.2f} over "
                             f"{len(values)} cases, at least "
                             f"{min(values):.2f}")
        for label, names in (("libraries", LIBRARIES),
                             ("frameworks", FRAMEWORKS)):
            found = losses(mine, names)
            lines.append(f"losses of more than 5 % to {label}: {len(found)}")
            lines += found
    return "\n".join(lines + scaling(records))


def scaling(records):
    """What more threads than one bring, case by case."""
    several = [r for r in records if "alone" in r]
    lines = []
    for threads in sorted({r["threads"] for r in several}):
        gains = {r["name"]: r["engine"] / r["alone"] for r in several
                 if r["threads"] == threads}
        slower = [f"  {name}: {gain:.2f}x" for name, gain in gains.items()
                  if gain * NOISE < 1]
        lines += ["", f"{threads} threads against one: geometric mean "
                  f"{geo_mean(gains.values()):.2f}x, best "
                  f"{max(gains.values()):.2f}x",
                  f"slower by more than 5 %: {len(slower)}", *slower]
    return lines


def chart(records, suite):
    """An SVG of every case with the fewest threads, relative to memcpy."""
    classes = classes_of(suite)
    threads = min(r["threads"] for r in records)
    mine = [r for r in records if r["threads"] == threads]
    rows = list(dict.fromkeys(classes[r["name"]] for r in mine))

    def relative(rate):
        return {row: [rate(r) / r["memcpy"] for r in mine
                      if classes[r["name"]] == row and rate(r)]
                for row in rows}

    return dots(
        f"Speed relative to memcpy of the same bytes, {threads} "
        f"thread{'s' * (threads > 1)}", rows,
        [("engine", "#d1495b", relative(lambda r: r["engine"])),
         ("best of " + ", ".join(PEERS), "#3d6b9c",
          relative(lambda r: (best(r, PEERS) or (None,))[0]))],
        (0.003, 0.01, 0.03, 0.1, 0.3, 1, 3),
        "a dot is a case, a bar the geometric mean of its class")

#!/usr/bin/python3
"""Draws the dashboard: the panels of deploy/grafana/axisd.json, of a live axisd.

Usage: panels.py AXISD [SECONDS]     writes deploy/grafana/panels.svg

A Prometheus scrapes axisd while clients call it, in order and not, and answers
the queries of the panels over that time; each is drawn as Grafana would.
"""

import json
import pathlib
import random
import sys
import threading
import time
import urllib.parse
import urllib.request
from xml.sax.saxutils import escape

from monitoring import DEPLOY, prometheus
from harness import MIB, Axisd, outcome, pb

COLUMNS, WIDTH, HEIGHT = 3, 330, 150
COLORS = ["#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1",
          "#ba43a9", "#705da0"]
UNITS = {"Bps": "B/s", "bytes": "B", "reqps": "/s", "s": "s"}


def call(server: Axisd, stop: threading.Event, seed: int) -> None:
    """Mostly transposes of all sizes; now and then a mistake, or a pipeline."""
    rng = random.Random(seed)
    while not stop.is_set():
        rows = rng.choice((64, 4096, MIB, 8 * MIB)) // 64
        tensor = pb.Tensor(data_type="DATA_TYPE_U8", shape=[rows, 64],
                           data=bytes(rows * 64))
        kind = rng.random()
        if kind < 0.1:
            outcome(server.stub.Transpose, pb.TransposeRequest(
                input=tensor, op=pb.Transpose(order=[0, 7])))
        elif kind < 0.3:
            outcome(server.stub.VariadicSplit, pb.VariadicSplitRequest(
                input=tensor, op=pb.VariadicSplit(
                    axis=0, split_lengths=[rows // 2, -1])))
        elif kind < 0.4:
            outcome(server.stub.RunPipeline, pb.RunPipelineRequest(
                inputs=[tensor] * 4, ops=[pb.Op(transpose=pb.Transpose())]))
        else:
            outcome(server.stub.Transpose, pb.TransposeRequest(
                input=tensor, op=pb.Transpose(order=[1, 0])))
        # Busy and idle by turns.
        time.sleep(0.02 if int(time.monotonic()) % 20 < 14 else 0.3)


def ask(port: int, query: str, begin: float, end: float) -> list:
    query = query.replace("$job", "axisd").replace("$__rate_interval", "5s")
    url = f"http://127.0.0.1:{port}/api/v1/query_range?" + (
        urllib.parse.urlencode({"query": query, "start": begin, "end": end,
                                "step": 1}))
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)["data"]["result"]


def spelled(value: float, unit: str) -> str:
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{UNITS.get(unit, '')}"
    if unit == "s" and 0 < value < 1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.3g} {UNITS.get(unit, '')}"


def draw(panel: dict, lines: list, begin: float, end: float, x: int,
         y: int) -> str:
    """`lines`: (legend, [(time, value)]), the values not NaN."""
    unit = panel["fieldConfig"]["defaults"].get("unit", "short")
    top = max((v for _, points in lines for _, v in points), default=0) or 1
    left, up, wide, high = x + 10, y + 26, WIDTH - 20, HEIGHT - 62
    svg = [f'<rect x="{x + 3}" y="{y + 3}" width="{WIDTH - 6}" '
           f'height="{HEIGHT - 6}" rx="3" fill="#1f1f23"/>',
           f'<text x="{left}" y="{y + 19}" fill="#ffffff">'
           f'{escape(panel["title"])}</text>',
           f'<text x="{x + WIDTH - 10}" y="{y + 19}" text-anchor="end" '
           f'fill="#999999">up to {escape(spelled(top, unit))}</text>']
    at = left
    for k, (legend, points) in enumerate(lines):
        color = COLORS[k % len(COLORS)]
        path = " ".join(f"{left + (t - begin) / (end - begin) * wide:.1f},"
                        f"{up + high * (1 - v / top):.1f}" for t, v in points)
        svg.append(f'<polyline points="{path}" fill="none" stroke="{color}"/>')
        if at < x + WIDTH - 60:
            svg.append(f'<text x="{at}" y="{y + HEIGHT - 14}" font-size="9" '
                       f'fill="{color}">{escape(legend[:26])}</text>')
        at += 12 + 6 * len(legend[:26])
    return "\n".join(svg)


def main() -> None:
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 90
    board = json.loads((DEPLOY / "grafana" / "axisd.json").read_text())
    stop = threading.Event()
    with Axisd(sys.argv[1], "--max_inflight_bytes=48MiB",
               "--max_message_bytes=32MiB") as server:
        with prometheus(server) as port:
            callers = [threading.Thread(target=call, args=(server, stop, k))
                       for k in range(6)]
            begin = time.time()
            for caller in callers:
                caller.start()
            time.sleep(seconds)
            stop.set()
            for caller in callers:
                caller.join()
            end = time.time()
            parts, empty = [], []
            for k, panel in enumerate(board["panels"]):
                lines = []
                for target in panel["targets"]:
                    for series in ask(port, target["expr"], begin, end):
                        legend = target.get("legendFormat", "")
                        for name, value in series["metric"].items():
                            legend = legend.replace("{{" + name + "}}", value)
                        lines.append((legend, [
                            (t, float(v)) for t, v in series["values"]
                            if v not in ("NaN", "+Inf")]))
                if not lines:
                    empty.append(panel["title"])
                parts.append(draw(panel, lines, begin, end,
                                  k % COLUMNS * WIDTH, k // COLUMNS * HEIGHT))
    rows = -(-len(parts) // COLUMNS)
    (DEPLOY / "grafana" / "panels.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 '
        f'{COLUMNS * WIDTH} {rows * HEIGHT}" font-family="sans-serif" '
        f'font-size="11">\n<rect width="100%" height="100%" '
        f'fill="#111114"/>\n' + "\n".join(parts) + "\n</svg>\n")
    print(f"{len(parts)} panels drawn, without data: {empty or 'none'}")
    sys.exit(bool(empty))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The dashboard, the alerts and the autoscaler ask for what axisd tells.

Usage: monitoring.py AXISD

A Prometheus scrapes a live axisd by the configuration of deploy/, and is asked
every query of the dashboard: each must have an answer.
"""

import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from harness import (SKIP, Axisd, Checks, free_port, outcome,  # noqa: E402
                     pb)

try:
    import yaml
except ImportError:
    print("SKIPPED: no yaml (Debian package python3-yaml)")
    sys.exit(SKIP)

DEPLOY = ROOT / "deploy"


def metric_names(expression: str) -> set:
    return set(re.findall(r"\b(?:axisd|process|exposer)_\w+", expression))


def check_names(check: Checks, server: Axisd, queries: dict) -> None:
    there = {name.partition("{")[0] for name in server.metrics()}
    for where, expression in queries.items():
        missing = metric_names(expression) - there
        check(f"{where}: its metrics are there", not missing, missing)


def ask(port: int, query: str) -> list:
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode(
        {"query": query})
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)["data"]["result"]


@contextlib.contextmanager
def prometheus(server: Axisd):
    """One that scrapes `server`; gives its port."""
    config = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text())
    rule = yaml.safe_load(
        (DEPLOY / "overlays/production/prometheusrule.yaml").read_text())
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "alerts.yaml").write_text(yaml.safe_dump(rule["spec"]))
        config["global"]["scrape_interval"] = "500ms"
        config["rule_files"] = [str(folder / "alerts.yaml")]
        config["scrape_configs"][0].pop("dns_sd_configs")
        config["scrape_configs"][0]["static_configs"] = [
            {"targets": [f"127.0.0.1:{server.metrics_port}"]}]
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/config.yaml",
             f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield port
        finally:
            process.terminate()
            process.wait(20)


def check_answers(check: Checks, server: Axisd, queries: dict) -> None:
    tensor = pb.Tensor(data_type="DATA_TYPE_U8", shape=[2, 3], data=b"abcdef")
    with prometheus(server) as port:
        unanswered = dict(queries)
        deadline = time.monotonic() + 30
        while unanswered and time.monotonic() < deadline:
            outcome(server.stub.Transpose, pb.TransposeRequest(input=tensor))
            time.sleep(0.3)
            try:
                unanswered = {w: q for w, q in unanswered.items()
                              if not ask(port, q)}
            except OSError:
                pass  # not up yet
        for where in queries:
            check(f"{where}: it has an answer", where not in unanswered)
        try:
            check("Prometheus sees axisd up",
                  [s["value"][1] for s in ask(port, 'up{job="axisd"}')] ==
                  ["1"])
        except OSError as error:
            check("Prometheus answers", False, error)


def main() -> None:
    check = Checks()
    board = json.loads((DEPLOY / "grafana" / "axisd.json").read_text())
    panels = {f"{panel['title']} {target['refId']}": target["expr"]
              for panel in board["panels"] for target in panel["targets"]}
    rule = yaml.safe_load(
        (DEPLOY / "overlays/production/prometheusrule.yaml").read_text())
    alerts = {r["alert"]: r["expr"]
              for g in rule["spec"]["groups"] for r in g["rules"]}
    autoscaler = yaml.safe_load((
        DEPLOY / "overlays/production/horizontalpodautoscaler.yaml")
                                .read_text())
    scaling = {"autoscaler": m["pods"]["metric"]["name"]
               for m in autoscaler["spec"]["metrics"] if m["type"] == "Pods"}
    source = yaml.safe_load((DEPLOY / "grafana/datasource.yaml").read_text())
    check("the panels name the source that is provisioned",
          {p["datasource"]["uid"] for p in board["panels"]} ==
          {d["uid"] for d in source["datasources"]})
    with Axisd(sys.argv[1]) as server:
        outcome(server.stub.Transpose, pb.TransposeRequest())
        check_names(check, server, {**panels, **alerts, **scaling})
        if shutil.which("prometheus"):
            check_answers(check, server, {
                w: q.replace("$job", "axisd").replace("$__rate_interval", "1m")
                for w, q in panels.items()})
        else:
            print("SKIPPED the queries: no prometheus (Debian package "
                  "prometheus)")
    check.finish(f"{len(panels)} queries of the dashboard, "
                 f"{len(alerts)} alerts against live metrics")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The Kubernetes manifests of deploy/, offline: schemas, and what no schema
knows, such as that a drain fits into the time that a pod is given.

Usage: manifests.py AXISD

Needs kubectl or kustomize; the schemas come from npm (package-lock.json here)
into build/deploy on the first run. What cannot be had is skipped, loudly.
"""

import copy
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from rules import MISTAKES, complaints

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from harness import SKIP, Axisd, Checks, health_pb2  # noqa: E402

try:
    import yaml
except ImportError:
    print("SKIPPED: no yaml (Debian package python3-yaml)")
    sys.exit(SKIP)

OVERLAYS = ("dev", "production")
TOOLS = ROOT / "build" / "deploy"


def render(overlay: str) -> str | None:
    folder = str(ROOT / "deploy" / "overlays" / overlay)
    why = "neither is installed"
    for tool in (["kustomize", "build"], ["kubectl", "kustomize"]):
        if shutil.which(tool[0]):
            ran = subprocess.run([*tool, folder], capture_output=True,
                                 text=True, check=False)
            if ran.returncode == 0:
                return ran.stdout
            why = ran.stderr
    print("SKIPPED: no kustomize and no kubectl of 1.27 or later "
          "(go install sigs.k8s.io/kustomize/kustomize/v5@v5.4.3): " + why)
    return None


def schema_modules() -> pathlib.Path | None:
    modules = TOOLS / "node_modules"
    if modules.exists():
        return modules
    if not shutil.which("npm"):
        print("SKIPPED schemas: no npm (Debian packages nodejs npm)")
        return None
    TOOLS.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, TOOLS)
    ran = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit",
                          "--no-fund"], cwd=TOOLS, capture_output=True,
                         text=True, check=False)
    if ran.returncode != 0:
        shutil.rmtree(modules, ignore_errors=True)
        print("SKIPPED schemas: npm ci failed: " + ran.stderr[-300:])
        return None
    return modules


def schema_errors(modules: pathlib.Path, text: str) -> str:
    ran = subprocess.run(["node", str(HERE / "schemas.mjs"), str(modules)],
                         input=text, capture_output=True, text=True,
                         check=False)
    return ran.stdout + ran.stderr


def check_schemas(check: Checks, rendered: dict) -> None:
    modules = schema_modules()
    if modules is None:
        return
    for overlay, text in rendered.items():
        errors = schema_errors(modules, text)
        check(f"the schemas of {overlay}", not errors, errors)
    text = rendered["production"]
    for right, wrong in (
            ("maxUnavailable: 0", "maxUnavailabel: 0"),
            ("readOnlyRootFilesystem", "readOnlyRootFileSystem"),
            ("minReplicas: 3", "minReplicas: four"),
            ("interval: 15s", "interval: often"),
            ("containerPort: 8001", "containerPort: 8001\n"
             "          appProtocol: kubernetes.io/h2c")):
        check(f"there is a {right} to spoil", right in text)
        check(f"the schemas catch {wrong.split()[0]}",
              bool(schema_errors(modules, text.replace(right, wrong, 1))))


def check_rules(check: Checks, rendered: dict) -> None:
    for overlay, text in rendered.items():
        found = complaints(list(yaml.safe_load_all(text)), overlay)
        check(f"the rules of {overlay}", not found, found)
    for name, spoil in MISTAKES.items():
        objects = {m["kind"]: m for m in copy.deepcopy(
            list(yaml.safe_load_all(rendered["production"])))}
        spoil(objects)
        check(f"planted: {name}",
              bool(complaints(list(objects.values()), "production")))


def check_flags(check: Checks, axisd: str, rendered: dict) -> None:
    """axisd takes the flags, and knows the names that the probes ask for."""
    for overlay, text in rendered.items():
        deployment = next(m for m in yaml.safe_load_all(text)
                          if m["kind"] == "Deployment")
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        flags = [a for a in container["args"]
                 if not re.match("--(listen|metrics)=", a)]
        with Axisd(axisd, *flags, "--drain_delay=0s") as server:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                service = container[probe]["grpc"]["service"]
                answer = server.health.Check(
                    health_pb2.HealthCheckRequest(service=service), timeout=5)
                check(f"{overlay}: {probe} asks for {service}, which serves",
                      answer.status == 1, answer)


def check_alerts(check: Checks, rendered: dict) -> None:
    rule = next(m for m in yaml.safe_load_all(rendered["production"])
                if m["kind"] == "PrometheusRule")
    names = {r["alert"] for g in rule["spec"]["groups"] for r in g["rules"]}
    runbook = (ROOT / "deploy" / "RUNBOOK.md").read_text()
    sections = set(re.findall(r"^## (\w+)$", runbook, re.M))
    check("the runbook has a section for each alert, and no other",
          names == sections, names ^ sections)
    if not shutil.which("promtool"):
        print("SKIPPED the alerts: no promtool (Debian package prometheus)")
        return
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / "alerts.yaml", folder)
        # As compose.yaml does it.
        compose = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
        command = compose["services"]["prometheus"]["entrypoint"][2]
        command = command.split("&&")[0].replace("$$", "$").replace(
            "/etc/prometheus/rules.yaml",
            str(ROOT / "deploy/overlays/production/prometheusrule.yaml"))
        command = command.replace("/tmp/alerts.yaml", f"{folder}/rules.yaml")
        subprocess.run(["sh", "-c", command], check=True)
        check("compose takes the rules out whole", yaml.safe_load(
            pathlib.Path(folder, "rules.yaml").read_text()) == rule["spec"])
        ran = subprocess.run(["promtool", "test", "rules", "alerts.yaml"],
                             cwd=folder, capture_output=True, text=True,
                             check=False)
        check("promtool: the alerts fire and are silent as they should",
              ran.returncode == 0, ran.stdout + ran.stderr)
        tested = (HERE / "alerts.yaml").read_text()
        check("each alert is tested", all(
            tested.count(name) >= 2 for name in names))


def check_compose(check: Checks) -> None:
    folder = ROOT / "deploy"
    compose = yaml.safe_load((folder / "compose.yaml").read_text())
    for name, service in compose["services"].items():
        for volume in service.get("volumes", ()):
            check(f"compose: {name} mounts what there is",
                  (folder / volume.split(":")[0]).is_file(), volume)
        check(f"compose: {name} has a version, or is built",
              "build" in service or ":" in service["image"].split("/")[-1])


def main() -> None:
    check = Checks()
    rendered = {overlay: render(overlay) for overlay in OVERLAYS}
    if None in rendered.values():
        sys.exit(SKIP)
    check_schemas(check, rendered)
    check_rules(check, rendered)
    check_flags(check, sys.argv[1], rendered)
    check_alerts(check, rendered)
    check_compose(check)
    check.finish("manifests")


if __name__ == "__main__":
    main()

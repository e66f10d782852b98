"""What must hold between the manifests, and no schema knows."""

import re

MIB = 1 << 20
UNITS = {"": 1, "Ki": 1 << 10, "Mi": MIB, "Gi": 1 << 30,
         "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}


def quantity(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)(\w*)", str(text)).groups()
    return int(number) * UNITS[unit]


def seconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(ms|s|m|h)", text).groups()
    return float(number) * {"ms": 1e-3, "s": 1, "m": 60, "h": 3600}[unit]


def flags_of(container: dict) -> dict:
    return dict(re.fullmatch("--([a-z_]+)=(.*)", a).groups()
                for a in container["args"])


def selects(selector: dict, labels: dict) -> bool:
    wanted = selector.get("matchLabels", {})
    return bool(wanted) and wanted.items() <= labels.items()


def memory_needed(flags: dict) -> int:
    """The bound that README.md states."""
    return (64 * MIB + 2 * (quantity(flags["max_inflight_bytes"]) +
                            quantity(flags["max_message_bytes"])) +
            quantity(flags["max_idle_bytes"]) +
            int(flags.get("max_connections", 1024)) * 256 * 1024)


def complaints(manifests: list, overlay: str) -> list:
    """What is wrong with the rendered manifests of an overlay."""
    found = []

    def rule(claim: str, holds: bool) -> None:
        if not holds:
            found.append(claim)

    of = {m["kind"]: m for m in manifests}
    deployment = of["Deployment"]
    name = deployment["metadata"]["name"]
    pod = deployment["spec"]["template"]
    labels, spec = pod["metadata"]["labels"], pod["spec"]
    container = spec["containers"][0]
    flags = flags_of(container)
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}

    drain = seconds(flags["drain_delay"])
    rule("a pod is given the time to drain",
         spec["terminationGracePeriodSeconds"] >=
         drain + seconds(flags["drain_timeout"]) + 2)
    if overlay == "production":
        rule("a drain outlives every connection",
             drain >= 1.1 * seconds(flags["max_connection_age"]))
    rule("the memory limit covers what axisd may take", quantity(
        container["resources"]["limits"]["memory"]) >= memory_needed(flags))
    rule("no message is larger than all of them", quantity(
        flags["max_message_bytes"]) <= quantity(flags["max_inflight_bytes"]))
    for flag, port in (("listen", "grpc"), ("metrics", "metrics")):
        rule(f"port {port} is that of --{flag}",
             flags[flag].endswith(f":{ports.get(port)}"))
    for probe, service in (("startupProbe", "liveness"),
                           ("livenessProbe", "liveness"),
                           ("readinessProbe", "readiness")):
        grpc = container.get(probe, {}).get("grpc", {})
        rule(f"{probe} asks port grpc for {service}", grpc == {
            "port": ports["grpc"], "service": service})

    security = {**spec["securityContext"], **container["securityContext"]}
    rule("it runs locked down", security == {
        "runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]}})
    rule("it has no token", spec["automountServiceAccountToken"] is False)

    service = of["Service"]
    rule("the Service is headless", service["spec"]["clusterIP"] == "None")
    rule("the Service selects the pods", selects(
        {"matchLabels": service["spec"]["selector"]}, labels))
    rule("the Service names ports of the pods", {
        p["targetPort"] for p in service["spec"]["ports"]} <= ports.keys())
    for kind, field in (("Deployment", "selector"),
                        ("PodDisruptionBudget", "selector"),
                        ("NetworkPolicy", "podSelector")):
        rule(f"{kind} selects the pods",
             selects(of[kind]["spec"][field], labels))
    for spread in spec["topologySpreadConstraints"]:
        rule("the pods are spread", selects(spread["labelSelector"], labels))
    for let_in in of["NetworkPolicy"]["spec"]["ingress"]:
        rule("no axisd calls another", not any(
            selects(peer.get("podSelector", {}), labels)
            for peer in let_in["from"]))
        rule("NetworkPolicy names ports of the pods",
             all(p["port"] in ports for p in let_in["ports"]))
    if overlay != "production":
        return found

    rule("ServiceMonitor selects the Service", selects(
        of["ServiceMonitor"]["spec"]["selector"],
        service["metadata"]["labels"]))
    rule("ServiceMonitor names a port of the Service", {
        e["port"] for e in of["ServiceMonitor"]["spec"]["endpoints"]} <= {
        p["name"] for p in service["spec"]["ports"]})
    autoscaler = of["HorizontalPodAutoscaler"]["spec"]
    rule("the autoscaler scales the Deployment",
         autoscaler["scaleTargetRef"]["name"] == name and
         "replicas" not in deployment["spec"])
    for metric in autoscaler["metrics"]:
        if metric["type"] == "Pods":
            rule("it scales before calls are refused", quantity(
                metric["pods"]["target"]["averageValue"]) <=
                0.6 * quantity(flags["max_inflight_bytes"]))
    for route in of["GRPCRoute"]["spec"]["rules"]:
        for backend in route["backendRefs"]:
            rule("GRPCRoute leads to the Service",
                 backend["name"] == service["metadata"]["name"] and
                 backend["port"] in {
                     p["port"] for p in service["spec"]["ports"]})
        for match in route["matches"]:
            rule("GRPCRoute names services that there are",
                 match["method"]["service"] in (
                     "axis.v1.TensorService", "grpc.health.v1.Health",
                     "inference.GRPCInferenceService"))
    return found


def _container(objects: dict) -> dict:
    return objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]


def _flag(name: str, value: str):
    def spoil(objects: dict) -> None:
        arguments = _container(objects)["args"]
        arguments[:] = [f"--{name}={value}" if a.startswith(f"--{name}=")
                        else a for a in arguments]
    return spoil


def _put(kind: str, *path_and_value):
    *path, last, value = path_and_value

    def spoil(objects: dict) -> None:
        at = objects[kind]
        for step in path:
            at = at[step]
        at[last] = value
    return spoil


# Mistakes that complaints() must find in the production overlay.
MISTAKES = {
    "a drain longer than the grace": _flag("drain_delay", "50s"),
    "connections that outlive the drain": _flag("max_connection_age", "5m"),
    "more in flight than memory": _flag("max_inflight_bytes", "2GiB"),
    "another port": _flag("listen", "0.0.0.0:9000"),
    "a probe of a name that a drain turns off":
        lambda objects: _container(objects)["livenessProbe"]["grpc"].update(
            service="readiness"),
    "a root that can be written":
        lambda objects: _container(objects)["securityContext"].update(
            readOnlyRootFilesystem=False),
    "a budget for nobody": _put(
        "PodDisruptionBudget", "spec", "selector", "matchLabels", {"a": "b"}),
    "a policy for everybody": _put(
        "NetworkPolicy", "spec", "podSelector", {}),
    "a Service with an address of its own": _put(
        "Service", "spec", "clusterIP", "10.0.0.1"),
    "an autoscaler of something else": _put(
        "HorizontalPodAutoscaler", "spec", "scaleTargetRef", "name", "axis"),
    "two that set the replicas": _put("Deployment", "spec", "replicas", 3),
    "a route to a service that is not there":
        lambda objects: objects["GRPCRoute"]["spec"]["rules"][0]["matches"][0][
            "method"].update(service="axis.v2.TensorService"),
}

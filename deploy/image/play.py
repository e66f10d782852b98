#!/usr/bin/python3
"""The Deployment of the dev overlay as podman can run it without a cluster.

Usage: kubectl kustomize deploy/overlays/dev | play.py IMAGE PORT > pod.yaml

Podman gives it the network of the host, so that ports are dropped, and the
addresses are those of the loopback; everything else stays as it is.
"""

import sys

import yaml

image, port = sys.argv[1], int(sys.argv[2])
deployment = next(m for m in yaml.safe_load_all(sys.stdin)
                  if m["kind"] == "Deployment")
spec = deployment["spec"]["template"]["spec"]
spec["hostNetwork"] = True
container = spec["containers"][0]
container["image"] = image
del container["ports"]
for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
    del container[probe]  # podman's would need a shell
container["args"] = [
    f"--listen=127.0.0.1:{port}" if a.startswith("--listen=") else
    f"--metrics=127.0.0.1:{port + 1}" if a.startswith("--metrics=") else a
    for a in container["args"]]
print(yaml.safe_dump(deployment))

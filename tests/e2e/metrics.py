#!/usr/bin/python3
"""The metrics: clean for promtool, and telling what happened.

Usage: metrics.py AXISD
"""

import shutil
import statistics
import subprocess
import sys
import time
import urllib.request

import grpc
from harness import Axisd, Checks, pb


def lint(check: Checks, server: Axisd) -> None:
    """What Prometheus itself says of the names and texts."""
    if shutil.which("promtool") is None:
        print("SKIPPED promtool check metrics: promtool is not installed "
              "(Debian package prometheus)", flush=True)
        return
    url = f"http://127.0.0.1:{server.metrics_port}/metrics"
    page = urllib.request.urlopen(url, timeout=10).read()
    linted = subprocess.run(["promtool", "check", "metrics"], input=page,
                            capture_output=True, check=False)
    check("promtool check metrics is clean",
          linted.returncode == 0 and not linted.stdout + linted.stderr,
          linted.stdout + linted.stderr)


def end(check: Checks, axisd: str) -> None:
    """CivetWeb, which serves the page, ends within two seconds by itself."""
    seconds = []
    for _ in range(3):
        with Axisd(axisd) as server:
            server.metrics()
            begin = time.monotonic()
            server.stop()
            seconds.append(time.monotonic() - begin)
    check("an idle server is gone at once", statistics.median(seconds) < 1,
          seconds)


def main() -> None:
    check = Checks()
    tensor = pb.Tensor(data_type="DATA_TYPE_U8", shape=[2, 3], data=b"abcdef")
    good = pb.TransposeRequest(input=tensor, op=pb.Transpose())
    bad = pb.TransposeRequest(input=tensor, op=pb.Transpose(order=[0, 7]))
    with Axisd(sys.argv[1]) as server:
        for _ in range(3):
            server.stub.Transpose(good)
        try:
            server.stub.Transpose(bad)
        except grpc.RpcError:
            pass
        found = server.metrics()

        def value(name: str, **labels: str) -> float | None:
            """The sample whose labels are just these, in any order."""
            for sample, number in found.items():
                base, _, rest = sample.partition("{")
                have = set(rest.rstrip("}").split(",")) - {""}
                if base == name and have == {f'{k}="{v}"'
                                             for k, v in labels.items()}:
                    return number
            return None

        one = {"method": "Transpose"}
        for claim, got, want in (
                ("calls by code", value("axisd_requests_total", **one,
                                        code="OK"), 3),
                ("refusals by code", value("axisd_requests_total", **one,
                                           code="INVALID_ARGUMENT"), 1),
                ("every call is timed",
                 value("axisd_request_duration_seconds_count", **one), 4),
                ("phases of what succeeded",
                 value("axisd_phase_duration_seconds_count", phase="copy"), 3),
                ("bytes in", value("axisd_received_bytes_total", **one),
                 3 * good.ByteSize() + bad.ByteSize()),
                ("copies", value("axisd_copies_total", kind="strided"), 3),
                ("nothing is refused for a limit",
                 value("axisd_rejected_total", reason="message_bytes"), 0)):
            check(claim, got == want, f"{got}, not {want}")
        check("what is running", any(s.startswith("axisd_build_info{")
                                     for s in found), sorted(found)[:5])
        lint(check, server)
    end(check, sys.argv[1])
    check.finish("metrics")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Puts both services under load with ghz; prints calls per second.

Usage: ghz.py AXISD
"""

import json
import subprocess
import sys

import gotool
from harness import Axisd, Checks

CALLS = 2000
INPUT = {"data_type": "DATA_TYPE_F32", "shape": [2, 3],
         "values": {"floats": [1, 2, 3, 4, 5, 6]}}
TENSORS = [{"name": "arg", "datatype": "FP32", "shape": [2, 3],
            "contents": {"fp32_contents": [1, 2, 3, 4, 5, 6]}},
           {"name": "input_order", "datatype": "INT64", "shape": [2],
            "contents": {"int64_contents": [1, 0]}}]
REQUESTS = {
    "axis.v1.TensorService.Transpose": {"input": INPUT, "op": {}},
    "inference.GRPCInferenceService.ModelInfer": {
        "model_name": "Transpose", "inputs": TENSORS},
    "grpc.health.v1.Health.Check": {}}


def main() -> None:
    binary, check = gotool.find("ghz"), Checks()
    with Axisd(sys.argv[1]) as server:
        server.wait_until_serving()
        for method, request in REQUESTS.items():
            ran = subprocess.run(
                [binary, "--insecure", "--call", method, "-n", str(CALLS),
                 "-c", "8", "-O", "json", "-d", json.dumps(request),
                 server.address], capture_output=True, text=True)
            found = json.loads(ran.stdout) if ran.returncode == 0 else {}
            codes = found.get("statusCodeDistribution")
            check(f"{method}: every call is OK", codes == {"OK": CALLS},
                  codes or ran.stderr)
            if found:
                print(f"{method}: {found['rps']:.0f} calls/s")
    check.finish("ghz calls")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Who may call what: tokens, certificates, method groups, and how the refused
are told, counted and logged.

Usage: access.py AXISD
"""

import hashlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import grpc
from certificates import Authority
from harness import (Axisd, Checks, Refusal, channel, free_port, health_pb2,
                     health_pb2_grpc, oip, oip_stubs, outcome, pb, stubs)

OPS, INFER, DESCRIBE, MEMORY = "OPS", "INFER", "DESCRIBE", "SHARED_MEMORY"
REQUEST = pb.TransposeRequest(
    input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[2, 2], data=b"abcd"),
    op=pb.Transpose())
INFERENCE = oip.ModelInferRequest(
    model_name="Shuffle", inputs=[oip.ModelInferRequest.InferInputTensor(
        name="src", datatype="UINT8", shape=[1, 4])],
    raw_input_contents=[b"abcd"])
INFERENCE.parameters["group_size"].int64_param = 2


def rule(name: str, allow: list, tokens: list = (), names: list = ()) -> str:
    lines = [f'name: "{name}"']
    lines += [f'token_sha256: "{hashlib.sha256(t.encode()).hexdigest()}"'
              for t in tokens]
    lines += [f'certificates: "{n}"' for n in names]
    lines += [f"allow: METHOD_GROUP_{g}" for g in allow]
    return "rules {\n  " + "\n  ".join(lines) + "\n}\n"


def replace(path: pathlib.Path, text: str) -> None:
    path.with_suffix(".new").write_text(text)
    os.replace(path.with_suffix(".new"), path)


def bearer(token: str) -> tuple:
    return (("authorization", f"Bearer {token}"),) if token else ()


def code(answer) -> str:
    return answer.code if isinstance(answer, Refusal) else "OK"


def calls(link: grpc.Channel, token: str) -> dict:
    """The code of a call of each group."""
    ops, infer = stubs.TensorServiceStub(link), oip_stubs.GRPCInferenceServiceStub(
        link)

    def streamed(method, request):
        try:
            for answer in method(iter([request]), timeout=10,
                                 metadata=bearer(token)):
                return "OK"
            return "OK"
        except grpc.RpcError as error:
            return error.code().name

    with_token = {"metadata": bearer(token), "timeout": 10}
    return {
        OPS: code(outcome(ops.Transpose, REQUEST, **with_token)),
        "OPS stream": streamed(ops.StreamPipeline, pb.StreamPipelineRequest(
            input=REQUEST.input, ops=[pb.Op(transpose=pb.Transpose())])),
        INFER: code(outcome(infer.ModelInfer, INFERENCE, **with_token)),
        "INFER stream": streamed(infer.ModelStreamInfer, INFERENCE),
        DESCRIBE: code(outcome(infer.ServerMetadata,
                               oip.ServerMetadataRequest(), **with_token)),
        MEMORY: code(outcome(infer.SystemSharedMemoryStatus,
                             oip.SystemSharedMemoryStatusRequest(),
                             **with_token)),
        "health": code(outcome(health_pb2_grpc.HealthStub(link).Check,
                               health_pb2.HealthCheckRequest(),
                               **with_token)),
        "ready": code(outcome(infer.ServerReady, oip.ServerReadyRequest(),
                              **with_token)),
    }


def expected(*allowed: str, otherwise: str) -> dict:
    groups = (OPS, "OPS stream", INFER, "INFER stream", DESCRIBE, MEMORY)
    table = {g: "OK" if g.split()[0] in allowed else otherwise for g in groups}
    return {**table, "health": "OK", "ready": "OK"}


def check_tokens(check: Checks, axisd: str, folder: pathlib.Path) -> None:
    rules = folder / "rules"
    replace(rules, rule("reader", [OPS, DESCRIBE], ["let me", "me too"]) +
            rule("all", [OPS, INFER, DESCRIBE, MEMORY], ["master"]) +
            # As a script writes it whose $TOKEN was not set: no way in.
            rule("mistake", [OPS], [""]))
    with Axisd(axisd, f"--access_rules={rules}",
               "--allow_shared_memory=true") as server:
        link = server.channel
        for token, want in (
                ("let me", expected(OPS, DESCRIBE,
                                    otherwise="PERMISSION_DENIED")),
                ("me too", expected(OPS, DESCRIBE,
                                    otherwise="PERMISSION_DENIED")),
                ("master", expected(OPS, INFER, DESCRIBE, MEMORY,
                                    otherwise="")),
                ("", expected(otherwise="UNAUTHENTICATED")),
                ("let m", expected(otherwise="UNAUTHENTICATED")),
                ("let mee", expected(otherwise="UNAUTHENTICATED"))):
            got = calls(link, token)
            check(f"token '{token}'", got == want, got)
        for metadata in ((("authorization", "Basic bGV0IG1l"),),
                         (("authorization", "let me"),),
                         (("authorization", "Bearer"),),
                         (("authorization", "Bearer " + "x" * 4000),)):
            answer = outcome(server.stub.Transpose, REQUEST, metadata=metadata)
            check(f"{metadata[0][1][:20]} is no token",
                  code(answer) == "UNAUTHENTICATED", answer)
        answer = outcome(server.inference.ModelInfer, INFERENCE,
                         metadata=bearer("let me"))
        check("the denied learn what they would need",
              "METHOD_GROUP_INFER" in answer.message, answer)
        refused = server.metrics()['axisd_rejected_total{reason="access"}']
        by_code = sum(v for k, v in server.metrics().items() if
                      k.startswith("axisd_requests_total") and
                      ("UNAUTHENTICATED" in k or "PERMISSION_DENIED" in k))
        # 2 x 3 denied, 3 x 6 and 4 unknown, 1 denied.
        check("every refusal is counted", refused == by_code == 29,
              (refused, by_code))
        time.sleep(0.2)  # lines are written behind our back
        said = server.output()
        check("refusals are logged", said.count("warning refused") >= 1, said)
        check("in a line a second at most",
              said.count("warning refused") <= 10, said)
        check("no token is in the log", not any(
            t in said for t in ("let me", "master", "me too")))
        check_reload(check, server, rules)
        check_time(check, server)


def check_reload(check: Checks, server: Axisd, rules: pathlib.Path) -> None:
    gauge = 'axisd_reload_successful{files="access_rules"}'

    def until(claim) -> bool:
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and not claim():
            time.sleep(0.05)
        return claim()

    def status(token: str) -> str:
        return code(outcome(server.stub.Transpose, REQUEST,
                            metadata=bearer(token)))

    replace(rules, "rules { name: \"half")
    check("garbage is told", until(lambda: server.metrics()[gauge] == 0))
    check("and ignored", status("let me") == "OK")
    replace(rules, "")
    time.sleep(1.2)
    check("no rules are no rules", status("let me") == "OK" and
          status("") == "UNAUTHENTICATED")
    replace(rules, rule("next", [OPS], ["new"]))
    check("new rules are taken", until(lambda: status("new") == "OK"))
    check("the old ones are gone", status("let me") == "UNAUTHENTICATED")
    check("the gauge is back", server.metrics()[gauge] == 1)


def check_time(check: Checks, server: Axisd) -> None:
    """How much of a token was right cannot be told from the clock."""
    tokens = {"wrong from the start": "xxx", "all but the last": "nex"}
    took = {name: [] for name in tokens}
    for i in range(600):
        for name in (tokens if i % 2 else reversed(tokens)):
            start = time.perf_counter()
            outcome(server.stub.Transpose, REQUEST,
                    metadata=bearer(tokens[name]))
            took[name].append(time.perf_counter() - start)
    low, high = sorted(statistics.median(t) * 1e6 for t in took.values())
    print(f"medians of refused tokens: {low:.0f} and {high:.0f} us")
    check("wrong tokens take the same time", high < 1.15 * low + 20,
          (low, high))


def check_certificates(check: Checks, axisd: str,
                       folder: pathlib.Path) -> None:
    authority, rules = Authority(folder, "authority"), folder / "rules"
    ca = authority.certificate.read_bytes()
    server_pair = authority.issue("server")
    replace(rules, rule("ingest", [OPS], names=["ingest.example.org"]) +
            rule("robot", [INFER], names=["spiffe://example.org/robot"]) +
            rule("person", [DESCRIBE], ["token"]))
    pairs = {"ingest": authority.issue("a", "DNS:ingest.example.org"),
             "robot": authority.issue("b", "URI:spiffe://example.org/robot"),
             # With alternative names the common name says nothing.
             "liar": authority.issue("ingest.example.org", "DNS:other")}
    health = f"127.0.0.1:{free_port()}"
    server = Axisd(axisd, f"--tls_certificate={server_pair[0]}",
                   f"--tls_key={server_pair[1]}",
                   f"--tls_client_ca={authority.certificate}",
                   f"--health_listen={health}", f"--access_rules={rules}",
                   "--access_log=true")
    server.health = health_pb2_grpc.HealthStub(channel(health))
    with server:
        denied = "PERMISSION_DENIED"
        for who, token, want in (
                ("ingest", "", expected(OPS, otherwise=denied)),
                ("robot", "", expected(INFER, otherwise=denied)),
                ("robot", "token", expected(INFER, DESCRIBE,
                                            otherwise=denied)),
                ("liar", "", expected(otherwise="UNAUTHENTICATED")),
                (None, "token", expected(DESCRIBE, otherwise=denied)),
                (None, "", expected(otherwise="UNAUTHENTICATED"))):
            key, chain = ((pairs[who][1].read_bytes(),
                           pairs[who][0].read_bytes()) if who else (None, None))
            with grpc.secure_channel(
                    server.address,
                    grpc.ssl_channel_credentials(ca, key, chain)) as link:
                got = calls(link, token)
            got.pop(MEMORY), want.pop(MEMORY)  # it is off here
            check(f"certificate of {who}, token '{token}'", got == want, got)
        time.sleep(0.2)
        check("the log names the client", 'client="ingest"' in server.output())


def check_bad_files(check: Checks, axisd: str, folder: pathlib.Path) -> None:
    good = hashlib.sha256(b"x").hexdigest()
    for text, said in (
            ("", "rules: must be 1 to 1024, are 0"),
            ("rules {\n name: 'a'\n bogus: 1 }", "line 3: must be part of"),
            ("rules { token_sha256: 'a' allow: METHOD_GROUP_OPS }",
             "rules[0].name: must not be empty"),
            (f"rules {{ name: 'a' token_sha256: '{good}' }}",
             "rules[0].allow: must name"),
            ("rules { name: 'a' allow: METHOD_GROUP_OPS }",
             "rules[0]: must have a token_sha256 or a certificate"),
            ("rules { name: 'a' token_sha256: 'secret-token' "
             "allow: METHOD_GROUP_OPS }",
             "rules[0].token_sha256[0]: must be the 64 hex digits")):
        path = folder / "bad"
        path.write_text(text)
        ran = subprocess.run([axisd, "--listen=127.0.0.1:0", "--metrics=",
                              f"--access_rules={path}"], capture_output=True,
                             text=True, timeout=20)
        check(f"refuses to start: {said}", ran.returncode == 1 and
              said in ran.stderr, (ran.returncode, ran.stderr))
        check("and does not quote the file", "secret" not in ran.stderr)


def main() -> None:
    check = Checks()
    with tempfile.TemporaryDirectory() as folder:
        for part in (check_bad_files, check_tokens, check_certificates):
            part(check, sys.argv[1], pathlib.Path(folder))
    check.finish("access")


if __name__ == "__main__":
    main()

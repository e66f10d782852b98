"""Clients that are known by their tokens, and what the server's access log says of
their calls: what the tests of overload and of turns share."""

import hashlib
import json
import pathlib
import random
import sys
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS)]

import grpc
from harness import Axisd, channel, pb

FAIR = 10  # clients that have a token, beside one named "greedy"
SMALL, MIDDLE, LARGE = "1 KiB", "256 KiB", "64 ops on 293 KiB"
MIX = {SMALL: 0.6, MIDDLE: 0.2, LARGE: 0.2}


def transpose(size: int) -> pb.TransposeRequest:
    return pb.TransposeRequest(
        input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[size // 64, 64],
                        data=bytes(size)), op=pb.Transpose())


def pipeline(rows: int = 1250) -> pb.RunPipelineRequest:
    """Ops that do not fuse: far more work to serve than to ask for."""
    return pb.RunPipelineRequest(
        inputs=[pb.Tensor(data_type="DATA_TYPE_U8", shape=[rows, 240],
                          data=bytes(rows * 240))],
        ops=[pb.Op(shuffle_channels=pb.ShuffleChannels(group=group))
             for group in 32 * (16, 10)])


# As bytes, so that the machine is left to the server.
REQUESTS = {kind: request.SerializeToString() for kind, request in (
    (SMALL, transpose(1 << 10)), (MIDDLE, transpose(256 << 10)),
    (LARGE, pipeline()))}


def who(name: str) -> tuple:
    return (("authorization", f"Bearer {name}"),)


def methods(link: grpc.Channel) -> dict:
    """What serves each kind, from bytes to bytes."""
    transposed, piped = (link.unary_unary(f"/axis.v1.TensorService/{name}")
                         for name in ("Transpose", "RunPipeline"))
    return {SMALL: transposed, MIDDLE: transposed, LARGE: piped}


class Client:
    """Calls until told to stop: at a rate, or without pause if that is 0."""

    def __init__(self, address: str, name: str, rate: float, until: float):
        self.name, self.rate, self.until = name, rate, until
        self.link = channel(address)
        self.methods = methods(self.link)
        self.sent, self.served = 0, 0
        self.random = random.Random(name)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        due = time.monotonic()
        while (now := time.monotonic()) < self.until:
            if self.rate:
                due += self.random.expovariate(self.rate)
                time.sleep(max(0.0, due - now))
            kind = self.random.choices(list(MIX), list(MIX.values()))[0]
            self.sent += 1
            try:
                self.methods[kind](REQUESTS[kind], timeout=20,
                                   metadata=who(self.name))
                self.served += 1
            except grpc.RpcError:
                pass

    def join(self) -> "Client":
        self.thread.join()
        self.link.close()
        return self


def fair(server: Axisd, seconds: float, rate: float, count: int = FAIR) -> list:
    until = time.monotonic() + seconds
    return [c.join() for c in [Client(server.address, f"fair{i}", rate, until)
                               for i in range(count)]]


def flags(folder: str) -> list:
    """Of a server that knows the clients, and logs their calls."""
    rules = pathlib.Path(folder) / "rules"
    rules.write_text("".join(
        f'rules {{ name: "{n}" token_sha256: '
        f'"{hashlib.sha256(n.encode()).hexdigest()}" '
        "allow: METHOD_GROUP_OPS }\n"
        for n in ["greedy", *(f"fair{i}" for i in range(FAIR + 1))]))
    return [f"--access_rules={rules}", "--access_log=true",
            "--log_format=json"]


class Lines:
    """The lines of the access log that were written since the last look."""

    def __init__(self, server: Axisd):
        self.server, self.at = server, 0

    def take(self) -> list:
        time.sleep(0.2)  # lines are written behind our back
        text = self.server.output()
        end = text.rfind("\n") + 1
        new, self.at = text[self.at:end], end
        return [entry for line in new.splitlines()
                if (entry := json.loads(line))["event"] == "call"]

"""Allocations that fail, every one of a request in its turn."""

import os
import struct
import tempfile
import time

from patient import (SMALL, SMALL_ANSWER, Axisd, Patient, Refusal, Skipped,
                     health_pb2, outcome, pb, transpose)
from harness import oip

MOST = 600  # allocations of a request


class Faucet:
    """Says to fail_alloc.cc when to fail."""

    def __init__(self, library: str):
        self.file = tempfile.NamedTemporaryFile()
        self.file.write(bytes(16))
        self.file.flush()
        self.environment = {"LD_PRELOAD": library,
                            "AXIS_FAIL_ALLOC": self.file.name}

    def arm(self, count: int) -> None:
        os.pwrite(self.file.fileno(), struct.pack("qq", count, 0), 0)

    def failed(self) -> int:
        return struct.unpack("q", os.pread(self.file.fileno(), 8, 8))[0]


def requests(server: Axisd) -> dict:
    """name -> (call, whether its answer is right)."""
    strings = pb.Tensor(data_type="DATA_TYPE_STRING", shape=[3],
                        data=b"\1\0\0\0a\2\0\0\0bc\0\0\0\0")
    values = pb.Tensor(data_type="DATA_TYPE_F16", shape=[2, 2],
                       values=pb.Values(floats=[1, 2, 3, 4]))
    big, big_answer = transpose(512, 1024)
    pipeline = pb.RunPipelineRequest(
        inputs=[values, SMALL.input], ops=[
            pb.Op(transpose=pb.Transpose()),
            pb.Op(variadic_split=pb.VariadicSplit(split_lengths=[1, -1]))])
    infer = oip.ModelInferRequest(model_name="VariadicSplit")
    for name, shape, data in (("data", [6], bytes(range(6))),
                              ("axis", [], bytes(8)),
                              ("split_lengths", [2],
                               struct.pack("<qq", 2, -1))):
        infer.inputs.add(name=name, shape=shape,
                         datatype="UINT8" if name == "data" else "INT64")
        infer.raw_input_contents.append(data)
    wrong = pb.TransposeRequest(input=SMALL.input,
                                op=pb.Transpose(order=[0, 7]))

    def streamed(method, messages):
        return lambda: outcome(
            lambda it, timeout: list(method(it, timeout=timeout)),
            iter(messages))

    stub = server.stub
    return {
        "Transpose": (lambda: outcome(stub.Transpose, SMALL),
                      lambda a: a.output.data == SMALL_ANSWER),
        "Transpose of 512 KiB": (lambda: outcome(stub.Transpose, big),
                                 lambda a: a.output.data == big_answer),
        "RunPipeline": (lambda: outcome(stub.RunPipeline, pipeline),
                        lambda a: len(a.outputs) == 4),
        "ShuffleChannels of strings": (
            lambda: outcome(stub.ShuffleChannels, pb.ShuffleChannelsRequest(
                input=strings, op=pb.ShuffleChannels(axis=0, group=3))),
            lambda a: a.output.data == strings.data),
        "a refusal": (lambda: outcome(stub.Transpose, wrong),
                      lambda a: a.code == "INVALID_ARGUMENT"),
        "StreamPipeline": (streamed(stub.StreamPipeline, [
            pb.StreamPipelineRequest(input=SMALL.input,
                                     ops=[pb.Op(transpose=pb.Transpose())])]),
            lambda a: b"".join(m.output.data for m in a) == SMALL_ANSWER),
        "ModelInfer": (lambda: outcome(server.inference.ModelInfer, infer),
                       lambda a: list(a.raw_output_contents) ==
                       [b"\0\1", b"\2\3\4\5"]),
        "ModelStreamInfer": (
            streamed(server.inference.ModelStreamInfer, [infer]),
            lambda a: list(a[0].infer_response.raw_output_contents) ==
            [b"\0\1", b"\2\3\4\5"]),
        "ModelMetadata": (lambda: outcome(
            server.inference.ModelMetadata,
            oip.ModelMetadataRequest(name="Transpose")),
            lambda a: a.name == "Transpose"),
        "Health": (lambda: outcome(server.health.Check,
                                   health_pb2.HealthCheckRequest()),
                   lambda a: a.status == 1),
    }


def is_out_of_memory(answer) -> bool:
    if isinstance(answer, list):  # a stream that says it in a message
        return len(answer) == 1 and "memory" in getattr(
            answer[0], "error_message", "")
    return isinstance(answer, Refusal) and (
        answer.code == "RESOURCE_EXHAUSTED" and "memory" in answer.message)


def fail_each(patient: Patient, faucet: Faucet, name: str) -> None:
    """Lets every allocation of one kind of request fail."""
    for k in range(1, MOST):
        call, is_right = requests(patient.server)[name]
        faucet.arm(k)
        answer = call()
        failed, _ = faucet.failed(), faucet.arm(0)
        if not failed:
            return
        good = is_out_of_memory(answer)
        if not good:
            try:
                good = is_right(answer)
            except (AttributeError, IndexError, TypeError):
                good = False
        claim = f"{name}, allocation {k}: {answer}"
        if patient.server.process.poll() is not None:
            patient.tried += 1
            patient.flaws.append(claim)
            patient.restart()
        else:
            patient.check(1, claim, good)


def allocations_fail(binary: str, library: str) -> Patient:
    if not library:
        raise Skipped("fail_alloc was not built")
    faucet = Faucet(library)
    patient = Patient(binary, environment=faucet.environment)
    with patient:
        for name in requests(patient.server):
            fail_each(patient, faucet, name)
    return patient

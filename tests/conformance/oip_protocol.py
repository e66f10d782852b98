"""The cases of cases.json about the protocol itself, by their id.

Each function makes the request that its case describes in words, and returns
the answer; beside it, what a good answer holds besides its status.
"""

import numpy as np
from harness import grpc, health_pb2, oip, outcome
from oip_requests import (SIX, TURNED, is_turned, parameters, split,
                          transpose, typed)


class Protocol:
    """The cases: `oip.infer.raw_long` is infer_raw_long()."""

    def __init__(self, server):
        self.server, self.stub = server, server.inference

    def infer(self, request, **kwargs):
        return outcome(self.stub.ModelInfer, request, **kwargs)

    def live(self):
        return outcome(self.stub.ServerLive, oip.ServerLiveRequest()), (
            lambda a: a.live)

    def ready(self):
        return outcome(self.stub.ServerReady, oip.ServerReadyRequest()), (
            lambda a: a.ready)

    def model_ready(self, name="Transpose", version=""):
        return outcome(self.stub.ModelReady, oip.ModelReadyRequest(
            name=name, version=version))

    def model_ready_known(self):
        return self.model_ready(), lambda a: a.ready

    def model_ready_unknown(self):
        return self.model_ready("nope")

    def model_ready_bad_version(self):
        return self.model_ready(version="99")

    def model_ready_version_not_number(self):
        return self.model_ready(version="abc")

    def infer_unknown_model(self):
        return self.infer(oip.ModelInferRequest(model_name="nope"))

    def infer_empty_model_name(self):
        return self.infer(oip.ModelInferRequest())

    def infer_contents_in(self):
        return self.infer(typed(fp32_contents=SIX)), (
            lambda a: list(a.raw_output_contents) == [TURNED])

    def infer_raw_and_contents(self):
        request = transpose()
        request.inputs[0].contents.fp32_contents.extend(SIX)
        return self.infer(request)

    def infer_raw_count_low(self):
        request = transpose()
        del request.raw_input_contents[1]
        return self.infer(request)

    def infer_raw_count_high(self):
        request = transpose()
        request.raw_input_contents.append(b"")
        return self.infer(request)

    def infer_raw_long(self):
        return self.infer(transpose(raw=bytes(25)))

    def infer_no_data(self):
        request = transpose()
        del request.raw_input_contents[:]
        return self.infer(request)

    def infer_order_empty_raw(self):
        request = transpose()
        request.inputs[1].shape[:] = [0]
        request.raw_input_contents[1] = b""
        return self.infer(request), is_turned

    def infer_unexpected_input(self):
        request = transpose()
        request.inputs.add(name="extra", datatype="FP32", shape=[1])
        request.raw_input_contents.append(bytes(4))
        return self.infer(request)

    def infer_duplicate_input(self):
        request = transpose()
        request.inputs.add().CopyFrom(request.inputs[0])
        request.raw_input_contents.append(SIX.tobytes())
        return self.infer(request)

    def infer_inputs_any_order(self):
        request = transpose()
        turned = oip.ModelInferRequest(
            model_name="Transpose", id="7", inputs=request.inputs[::-1],
            raw_input_contents=request.raw_input_contents[::-1])
        return self.infer(turned), is_turned

    def infer_contents_count_low(self):
        return self.infer(typed(fp32_contents=SIX[:5]))

    def infer_contents_wrong_field(self):
        return self.infer(typed(int64_contents=range(6)))

    def infer_contents_two_fields(self):
        return self.infer(typed(fp32_contents=SIX, int_contents=range(6)))

    def infer_contents_fp16(self):
        return self.infer(typed("FP16", fp32_contents=SIX))

    def infer_contents_bf16(self):
        return self.infer(typed("BF16", fp32_contents=SIX))

    def infer_contents_bytes(self):
        return self.infer(typed("BYTES", [2], bytes_contents=[b"a", b""])), (
            lambda a: list(a.raw_output_contents) ==
            [b"\1\0\0\0a" + bytes(4)])

    def infer_bytes_raw_extra(self):
        return self.infer(transpose(datatype="BYTES", shape=[1],
                                    raw=bytes.fromhex("01000000616162")))

    def infer_dtype_empty(self):
        return self.infer(transpose(datatype=""))

    def infer_dtype_lowercase(self):
        return self.infer(transpose(datatype="fp32"))

    def infer_shape_negative(self):
        return self.infer(transpose(shape=[-1, 3]))

    def infer_shape_bytes_overflow(self):
        return self.infer(transpose(shape=[2**62], raw=b""))

    def infer_shape_overflow_with_zero(self):
        return self.infer(transpose(shape=[2**62, 2**62, 0], raw=b""))

    def infer_rank_huge(self):
        return self.infer(transpose(shape=[1] * 100000))

    def infer_out_requested_known(self):
        request = transpose()
        request.outputs.add(name="output")
        return self.infer(request), is_turned

    def infer_out_requested_unknown(self):
        request = transpose()
        request.outputs.add(name="zzz")
        return self.infer(request)

    def infer_out_requested_twice(self):
        return self.infer(split("output_0", "output_0"))

    def infer_out_subset_of_split(self):
        return self.infer(split("output_1")), (
            lambda a: [o.name for o in a.outputs] == ["output_1"] and
            list(a.raw_output_contents) == [SIX[1:3].tobytes()])

    def infer_param_string_for_int(self):
        request = oip.ModelInferRequest(model_name="ShuffleChannels")
        request.inputs.add(name="data", datatype="FP32", shape=[1, 6])
        request.raw_input_contents.append(SIX.tobytes())
        parameters(request.parameters, group="2")
        return self.infer(request)

    def infer_param_reserved(self):
        request = transpose()
        parameters(request.parameters, sequence_id=1, sequence_start=True,
                   sequence_end=True, timeout=1000,
                   triton_enable_empty_final_response=False)
        request.parameters["priority"].uint64_param = 1
        return self.infer(request), is_turned

    def infer_param_binary_data_size(self):
        request = transpose()
        parameters(request.inputs[0].parameters, binary_data_size=24)
        return self.infer(request), is_turned

    def infer_param_classification(self):
        request = transpose()
        parameters(request.outputs.add(name="output").parameters,
                   classification=3)
        return self.infer(request)

    def infer_deadline(self):
        big = np.zeros(8 << 20, "<f4")
        return self.infer(transpose(shape=[2, 4 << 20], raw=big.tobytes()),
                          timeout=0.001)

    def infer_gzip(self):
        return self.infer(transpose(), compression=grpc.Compression.Gzip), (
            is_turned)

    def ext_model_config(self):
        return outcome(self.stub.ModelConfig,
                       oip.ModelConfigRequest(name="Transpose")), (
            lambda a: a.config.max_batch_size == 0 and
            [i.name for i in a.config.input] == ["arg", "input_order"])

    def ext_model_stats(self):
        return outcome(self.stub.ModelStatistics,
                       oip.ModelStatisticsRequest()), (
            lambda a: {s.name for s in a.model_stats} >= {
                "Transpose", "ShuffleChannels", "VariadicSplit", "Split",
                "Shuffle"})

    def unknown(self, name: str):
        path = f"/inference.GRPCInferenceService/{name}"
        return outcome(self.server.channel.unary_unary(path), b"")

    def ext_cuda_shm(self):
        return self.unknown("CudaSharedMemoryStatus")

    def ext_load_model(self):
        return self.unknown("RepositoryModelLoad")

    def ext_health_v1(self):
        return outcome(self.server.health.Check,
                       health_pb2.HealthCheckRequest()), (
            lambda a: a.status == 1)

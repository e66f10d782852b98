"""The cases of cases.json about the protocol itself, by their id.

Each function makes the request that its case describes in words, and says
what a good answer holds besides its status: a generator that yields the answer
to a request and gets it back.
"""

import numpy as np
from harness import Refusal, grpc, health_pb2, oip, outcome
from memory import SharedMemory

ORDER = np.array([1, 0], "<i8").tobytes()
SIX = np.arange(6, dtype="<f4")
TURNED = SIX.reshape(2, 3).T.tobytes()


def transpose(**changes):
    """A good request to turn a 2 x 3, but for `changes` of the first input."""
    raw = changes.pop("raw", SIX.tobytes())
    request = oip.ModelInferRequest(model_name="Transpose", id="7")
    request.inputs.add(**{"name": "arg", "datatype": "FP32", "shape": [2, 3],
                          **changes})
    request.inputs.add(name="input_order", datatype="INT64", shape=[2])
    request.raw_input_contents.extend([raw, ORDER])
    return request


def typed(datatype: str = "FP32", shape=(2, 3), **contents):
    """The same with typed contents."""
    request = oip.ModelInferRequest(model_name="Transpose")
    request.inputs.add(name="arg", datatype=datatype, shape=shape,
                       contents=oip.InferTensorContents(**contents))
    request.inputs.add(name="input_order", datatype="INT64", shape=[len(shape)],
                       contents=oip.InferTensorContents(
                           int64_contents=reversed(range(len(shape)))))
    return request


def split(*outputs):
    request = oip.ModelInferRequest(model_name="VariadicSplit")
    for name, shape, values in (("data", [6], SIX), ("axis", [], [0]),
                                ("split_lengths", [3], [1, 2, 3])):
        kind = "FP32" if name == "data" else "INT64"
        request.inputs.add(name=name, datatype=kind, shape=shape)
        request.raw_input_contents.append(
            np.array(values, "<f4" if name == "data" else "<i8").tobytes())
    for name in outputs:
        request.outputs.add(name=name)
    return request


def parameters(target, **values):
    for name, value in values.items():
        kind = ("bool_param" if isinstance(value, bool) else
                "int64_param" if isinstance(value, int) else "string_param")
        setattr(target[name], kind, value)


def is_turned(answer) -> bool:
    return (answer.id == "7" and answer.model_version == "1" and
            answer.outputs[0].name == "output" and
            list(answer.outputs[0].shape) == [3, 2] and
            list(answer.raw_output_contents) == [TURNED])


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


class Memory(Protocol):
    """The cases of shared memory: `r` holds SIX, `r2` is free."""

    def __init__(self, server):
        super().__init__(server)
        self.objects = {"r": SharedMemory(SIX.tobytes()),
                        "r2": SharedMemory(bytes(64))}
        for name in self.objects:
            answer = self.register(name)
            assert not isinstance(answer, Refusal), answer

    def close(self) -> None:
        for shared in self.objects.values():
            shared.close()

    def register(self, region: str, name: str = "", offset: int = 0,
                 size: int = 24):
        return outcome(self.stub.SystemSharedMemoryRegister,
                       oip.SystemSharedMemoryRegisterRequest(
                           name=name or region, key=self.objects[region].key,
                           offset=offset, byte_size=size))

    def request(self, region: dict, output: dict = {}):
        request = transpose()
        del request.raw_input_contents[0]
        parameters(request.inputs[0].parameters, **region)
        if output:
            parameters(request.outputs.add(name="output").parameters, **output)
        return request

    def shm_register(self):
        return self.register("r", "again under another name")

    def shm_register_dup(self):
        return self.register("r")

    def shm_register_too_big(self):
        return self.register("r", "big", size=1 << 20)

    def shm_register_wrap(self):
        return self.register("r", "wrap", offset=2**64 - 8)

    def shm_status_all(self):
        return outcome(self.stub.SystemSharedMemoryStatus,
                       oip.SystemSharedMemoryStatusRequest()), (
            lambda a: {"r", "r2"} <= set(a.regions))

    def shm_unregister_unknown(self):
        return outcome(self.stub.SystemSharedMemoryUnregister,
                       oip.SystemSharedMemoryUnregisterRequest(name="zz"))

    def shm_infer_in_out(self):
        answer = self.infer(self.request(
            {"shared_memory_region": "r", "shared_memory_byte_size": 24},
            {"shared_memory_region": "r2", "shared_memory_byte_size": 24}))
        return answer, (
            lambda a: list(a.raw_output_contents) == [b""] and
            self.objects["r2"].read(24) == TURNED)

    def shm_infer_region_without_size(self):
        return self.infer(self.request({"shared_memory_region": "r"}))

    def shm_infer_negative_offset(self):
        return self.infer(self.request(
            {"shared_memory_region": "r", "shared_memory_byte_size": 24,
             "shared_memory_offset": -8}))

    def shm_infer_shm_and_contents(self):
        request = typed(fp32_contents=SIX)
        parameters(request.inputs[0].parameters, shared_memory_region="r",
                   shared_memory_byte_size=24)
        return self.infer(request)

    def shm_infer_output_too_small(self):
        return self.infer(self.request(
            {"shared_memory_region": "r", "shared_memory_byte_size": 24},
            {"shared_memory_region": "r2", "shared_memory_byte_size": 20}))

    def shm_output_aliases_input(self):
        answer = self.infer(self.request(
            {"shared_memory_region": "r", "shared_memory_byte_size": 24},
            {"shared_memory_region": "r", "shared_memory_byte_size": 24}))
        return answer, lambda a: self.objects["r"].read(24) == TURNED

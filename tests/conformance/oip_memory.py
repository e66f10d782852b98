"""The cases of cases.json about shared memory, by their id."""

from harness import Refusal, oip, outcome
from memory import SharedMemory
from oip_protocol import Protocol
from oip_requests import SIX, TURNED, parameters, transpose, typed


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

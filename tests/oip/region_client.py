"""A client of the Open Inference Protocol that infers through shared memory."""

import numpy as np
from harness import Axisd, Refusal, oip, outcome


class Client:
    """Registers regions and infers through them."""

    def __init__(self, server: Axisd):
        self.server, self.stub = server, server.inference

    def register(self, name: str, key: str, size: int, offset: int = 0):
        return outcome(self.stub.SystemSharedMemoryRegister,
                       oip.SystemSharedMemoryRegisterRequest(
                           name=name, key=key, offset=offset, byte_size=size))

    def unregister(self, name: str = ""):
        return outcome(self.stub.SystemSharedMemoryUnregister,
                       oip.SystemSharedMemoryUnregisterRequest(name=name))

    def transpose(self, shape, datatype: str, region: tuple,
                  output: tuple = ()):
        """Turns a matrix that lies in (region, offset, size)."""
        request = oip.ModelInferRequest(model_name="Transpose")
        request.inputs.add(name="arg", datatype=datatype, shape=shape)
        place(request.inputs[0].parameters, *region)
        request.inputs.add(name="input_order", datatype="INT8", shape=[0])
        request.raw_input_contents.append(b"")
        if output:
            place(request.outputs.add(name="output").parameters, *output)
        return outcome(self.stub.ModelInfer, request)


def place(parameters, region: str, offset: int, size: int) -> None:
    parameters["shared_memory_region"].string_param = region
    parameters["shared_memory_offset"].int64_param = offset
    parameters["shared_memory_byte_size"].int64_param = size


def code(answer) -> str:
    return answer.code if isinstance(answer, Refusal) else "OK"


def matrix(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(rows).integers(
        0, 256, (rows, columns), dtype=np.uint8)

"""Calls that a soak makes again and again, each with the answer it must get."""

import cells
import numpy as np
from harness import oip, pb
from memory import SharedMemory

TIMEOUT = 600  # seconds; a call is lost after that, and only then
TYPES = ["U8", "F32", "F64", "BF16", "U4", "U1", "C128", "STRING"]
SHAPES = [(3, 12, 5), (1, 20, 3, 2), (2, 17), (4, 32, 28, 28)]


class Cell:
    """A call and its answer, made once and sent often."""

    def __init__(self, name: str, shape: tuple, layout: str, call: tuple):
        method, fields, op = call
        index = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
        elements = cells.Elements(name, index.size)
        kind = "NCX" if layout == "UNSPECIFIED" else layout
        self.method = method
        self.tensor = pb.Tensor(data_type="DATA_TYPE_" + name, shape=shape,
                                layout="LAYOUT_" + layout,
                                data=elements.stored(index, kind, 0xA5))
        self.fields = fields
        self.wanted = [(list(e.shape), elements.stored(e, kind, 0))
                       for e in op(index)]
        self.pieces = [self.tensor]
        if method == "StreamPipeline":
            data = self.tensor.data
            header = pb.Tensor()
            header.CopyFrom(self.tensor)
            header.data = b""
            step = len(data) // 5 + 1
            self.pieces = [header] + [pb.Tensor(data=data[at:at + step])
                                      for at in range(0, len(data), step)]
        elif method == "RunPipeline":
            self.request = pb.RunPipelineRequest(inputs=[self.tensor],
                                                 **fields)
        else:
            self.request = getattr(pb, method + "Request")(
                input=self.tensor, **fields)

    def messages(self):
        for k, piece in enumerate(self.pieces):
            yield pb.StreamPipelineRequest(input=piece,
                                           **(self.fields if not k else {}))

    def run(self, stub) -> bool:
        if self.method == "StreamPipeline":
            found = []
            for message in stub.StreamPipeline(self.messages(),
                                               timeout=TIMEOUT):
                piece = message.output
                if piece.data_type:
                    found.append((list(piece.shape), []))
                found[-1][1].append(piece.data)
            return [(s, b"".join(d)) for s, d in found] == self.wanted
        answer = getattr(stub, self.method)(self.request, timeout=TIMEOUT)
        outputs = (answer.outputs if hasattr(answer, "outputs") else
                   [answer.output])
        return [(list(o.shape), o.data) for o in outputs] == self.wanted


def all_cells() -> list:
    found = []
    for shape in SHAPES:
        for call in cells.calls(shape):
            for name in TYPES:
                # Python takes long to spell these.
                if cells.BITS[name] < 8 and np.prod(shape) > 2000:
                    continue
                if name == "STRING" and call[0] == "StreamPipeline":
                    continue
                layouts = ["UNSPECIFIED"]
                if cells.BITS[name] >= 8:
                    layouts += ["NXC", "NCX8C"]
                found += [Cell(name, shape, layout, call)
                          for layout in layouts]
    return found


class Inference:
    """Calls of the Open Inference Protocol, over the wire and in memory."""

    def __init__(self, stub):
        self.stub = stub
        x = np.arange(96 * 4096, dtype=np.float32).reshape(96, 4096)
        self.wanted = x.T.tobytes()
        self.request = oip.ModelInferRequest(model_name="Transpose")
        self.request.inputs.add(name="arg", datatype="FP32", shape=x.shape)
        self.request.inputs.add(name="input_order", datatype="INT64",
                                shape=[2])
        order = np.array([1, 0], np.int64).tobytes()
        self.shared = oip.ModelInferRequest()
        self.shared.CopyFrom(self.request)
        self.request.raw_input_contents.extend([x.tobytes(), order])
        self.shared.raw_input_contents.append(order)
        self.regions = {}
        for name, data in (("in", x.tobytes()), ("out", bytes(x.nbytes))):
            region = self.regions[name] = SharedMemory(data)
            stub.SystemSharedMemoryRegister(
                oip.SystemSharedMemoryRegisterRequest(
                    name=name, key=region.key, byte_size=x.nbytes))
        for target, name in ((self.shared.inputs[0], "in"),
                             (self.shared.outputs.add(name="output"), "out")):
            target.parameters["shared_memory_region"].string_param = name
            target.parameters["shared_memory_byte_size"].int64_param = x.nbytes

    def infer(self) -> bool:
        answer = self.stub.ModelInfer(self.request, timeout=TIMEOUT)
        return list(answer.raw_output_contents) == [self.wanted]

    def stream(self) -> bool:
        answers = list(self.stub.ModelStreamInfer(iter([self.request] * 3),
                                                  timeout=TIMEOUT))
        return [a.infer_response.raw_output_contents[0] for a in answers] == (
            [self.wanted] * 3)

    def share(self) -> bool:
        self.stub.ModelInfer(self.shared, timeout=TIMEOUT)
        return self.regions["out"].read(len(self.wanted)) == self.wanted

    def close(self) -> None:
        for region in self.regions.values():
            region.close()

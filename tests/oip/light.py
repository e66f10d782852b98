#!/usr/bin/python3
"""Which requests wake no worker: those of a single op up to 2 MiB that are raw
data nearly all; but none that speaks of shared memory, or takes long.

Usage: light.py AXISD
"""

import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import Axisd, Checks, oip, outcome, pb  # noqa: E402
from ir import Ir  # noqa: E402
from memory import SharedMemory  # noqa: E402
from region_client import Client, code, matrix  # noqa: E402

KIB = 1024
U8 = pb.DataType.Value("DATA_TYPE_U8")
U1 = pb.DataType.Value("DATA_TYPE_U1")


def threads(server: Axisd) -> int:
    """Those that the first work for them starts among them; gRPC's have names
    of their own."""
    tasks = pathlib.Path(f"/proc/{server.process.pid}/task")
    names = [(task / "comm").read_text() for task in tasks.iterdir()]
    return names.count((tasks.parent / "comm").read_text())


# Requests: each a function of a server that says whether it was served rightly.


def infer(x: np.ndarray, model: str = "Transpose"):
    """Has a model turn the matrix `x`."""
    def call(server: Axisd) -> bool:
        request = oip.ModelInferRequest(model_name=model)
        request.inputs.add(name="input", datatype="UINT8", shape=x.shape)
        request.raw_input_contents.append(x.tobytes())
        if model == "Transpose":
            request.inputs[0].name = "arg"
            request.inputs.add(name="input_order", datatype="INT8", shape=[0])
            request.raw_input_contents.append(b"")
        answer = outcome(server.inference.ModelInfer, request)
        return (code(answer) == "OK" and
                answer.raw_output_contents[0] == x.T.tobytes())
    return call


def infer_contents(field: str, datatype: str, values: list):
    """Has a row turned that is spelled out."""
    def call(server: Axisd) -> bool:
        request = oip.ModelInferRequest(model_name="Transpose")
        request.inputs.add(name="arg", datatype=datatype,
                           shape=[1, len(values)])
        getattr(request.inputs[0].contents, field).extend(values)
        order = request.inputs.add(name="input_order", datatype="INT8",
                                   shape=[2])
        order.contents.int_contents.extend([1, 0])
        answer = outcome(server.inference.ModelInfer, request)
        return code(answer) == "OK" and answer.outputs[0].shape == [
            len(values), 1]
    return call


def infer_raw(datatype: str, extents: list, raw: bytes, **described: str):
    """Has a row turned that is its own bytes."""
    def call(server: Axisd) -> bool:
        request = oip.ModelInferRequest(model_name="Transpose")
        request.inputs.add(name="arg", datatype=datatype, shape=extents)
        for name, value in described.items():
            request.inputs[0].parameters[name].string_param = value
        request.inputs.add(name="input_order", datatype="INT8", shape=[0])
        request.raw_input_contents.extend([raw, b""])
        answer = outcome(server.inference.ModelInfer, request)
        return code(answer) == "OK" and answer.raw_output_contents[0] == raw
    return call


def transpose(data_type: int, shape: list, **contents):
    def call(server: Axisd) -> bool:
        request = pb.TransposeRequest(input=pb.Tensor(
            data_type=data_type, shape=shape, **contents))
        request.op.SetInParent()
        answer = outcome(server.stub.Transpose, request)
        return code(answer) == "OK" and answer.output.shape == shape[::-1]
    return call


def pipeline(shape: list, data: bytes):
    def call(server: Axisd) -> bool:
        request = pb.RunPipelineRequest(inputs=[pb.Tensor(
            data_type=U8, shape=shape, data=data)])
        request.ops.add().transpose.SetInParent()
        answer = outcome(server.stub.RunPipeline, request)
        return code(answer) == "OK" and answer.outputs[0].shape == shape[::-1]
    return call


def split(lengths: list):
    def call(server: Axisd) -> bool:
        request = pb.VariadicSplitRequest(input=pb.Tensor(
            data_type=U8, shape=[sum(lengths)],
            data=bytes(sum(lengths))))
        request.op.split_lengths.extend(lengths)
        answer = outcome(server.stub.VariadicSplit, request)
        return code(answer) == "OK" and len(answer.outputs) == len(lengths)
    return call


def hold(check: Checks, axisd: str, flags: list, light: dict,
         heavy: dict) -> None:
    """Requests by what they are: those that wake nobody, and those that do."""
    with Axisd(axisd, *flags) as server:
        before = threads(server)
        for what, call in light.items():
            check(f"{what}: served", call(server))
            check(f"{what}: wakes nobody", threads(server) == before)
    for what, call in heavy.items():
        with Axisd(axisd, *flags) as server:
            before = threads(server)
            check(f"{what}: served", call(server))
            check(f"{what}: wakes workers", threads(server) > before)


def check_ops(check: Checks, axisd: str) -> None:
    hold(check, axisd, [], {
        "2 MB": transpose(U8, [2 * KIB, 1000], data=bytes(2000 * KIB)),
        "60 KiB of bits": transpose(U1, [480, KIB], data=bytes(60 * KIB)),
        "1900 numbers": transpose(U8, [1, 1900], values={"uints": [7] * 1900}),
        "1900 outputs": split([2000] + [0] * 1899),
        "4 kB in a pipeline": pipeline([40, 100], bytes(4000)),
    }, {
        "4 MiB": transpose(U8, [2 * KIB, 2 * KIB], data=bytes(4 << 20)),
        "65 KiB of bits": transpose(U1, [520, KIB], data=bytes(65 * KIB)),
        "2100 numbers": transpose(U8, [1, 2100], values={"uints": [7] * 2100}),
        "2100 outputs": split([2000] + [0] * 2099),
        "5 kB in a pipeline": pipeline([50, 100], bytes(5000)),
    })


def check_infer(check: Checks, axisd: str) -> None:
    hold(check, axisd, [], {
        "one op on 2 MB": infer(matrix(2 * KIB, 1000)),
        "1800 numbers": infer_contents("uint_contents", "UINT8", [7] * 1800),
        "60 KiB of bits": infer_raw("UINT8", [60 * KIB], bytes(60 * KIB),
                                    data_type="U1", shape=f"{480 * KIB}"),
        "15000 strings": infer_raw("BYTES", [15000], bytes(60000)),
    }, {
        "one op on 4 MiB": infer(matrix(2 * KIB, 2 * KIB)),
        "2100 numbers": infer_contents("uint_contents", "UINT8", [7] * 2100),
        "65 KiB of bits": infer_raw("UINT8", [65 * KIB], bytes(65 * KIB),
                                    data_type="U1", shape=f"{520 * KIB}"),
        "17000 strings": infer_raw("BYTES", [17000], bytes(68000)),
    })


def check_models(check: Checks, axisd: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        models = pathlib.Path(folder)
        (models / "turn.textproto").write_text(
            'name: "turn" ops { transpose {} }')
        flags = [f"--models={folder}"]
        hold(check, axisd, flags,
             {"a model on 3.5 kB": infer(matrix(50, 70), "turn")},
             {"a model on 4.5 kB": infer(matrix(50, 90), "turn")})
        # What models bring along takes time too.
        for rows, kind in ((40, "light"), (50, "heavy")):
            constant = Ir()
            source = constant.constant(matrix(rows, 100))
            turned = constant.add(
                "Transpose", {}, [source, constant.constant(np.array([1, 0]))],
                [(100, rows)])
            constant.result((turned, 2), "output")
            constant.write(models, "constant")
            call = {f"a small call beside a constant of {rows} rows":
                    infer(matrix(5, 7))}
            hold(check, axisd, flags, call if kind == "light" else {},
                 call if kind == "heavy" else {})


def check_regions(check: Checks, axisd: str) -> None:
    flags = ["--allow_shared_memory"]
    hold(check, axisd, flags, {"one op on 2 MB": infer(matrix(2 * KIB, 1000))},
         {})
    with Axisd(axisd, *flags) as server:
        client, before = Client(server), threads(server)
        shared = SharedMemory(bytes(KIB * KIB))
        client.register("r", shared.key, KIB * KIB)
        answer = client.transpose([10, 10], "UINT8", ("r", 0, 100))
        check("one op is done on 100 B in a region", code(answer) == "OK",
              answer)
        check("and wakes workers", threads(server) > before)
        shared.close()


def main() -> None:
    check = Checks()
    for check_requests in (check_ops, check_infer, check_models,
                           check_regions):
        check_requests(check, sys.argv[1])
    check.finish("light")


if __name__ == "__main__":
    main()

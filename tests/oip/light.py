#!/usr/bin/python3
"""Which requests wake no worker: those of up to 2 MiB that are raw data nearly
all, of several ops as much less; but none that speaks of shared memory, or makes
many tensors.

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


def infer_split(count: int, variadic: bool = False, unknown: bytes = b""):
    """Has as many bytes cut apart, by a message of unknown fields as well."""
    def call(server: Axisd) -> bool:
        request = oip.ModelInferRequest(
            model_name="VariadicSplit" if variadic else "Split")
        request.inputs.add(name="data", datatype="UINT8", shape=[count])
        request.inputs.add(name="axis", datatype="INT8", shape=[1])
        request.raw_input_contents.extend([bytes(count), b"\0"])
        if variadic:
            request.inputs.add(name="split_lengths", datatype="INT8",
                               shape=[count])
            request.raw_input_contents.append(b"\1" * count)
        else:
            request.parameters["num_splits"].int64_param = count
        method = server.channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer",
            response_deserializer=oip.ModelInferResponse.FromString)
        answer = outcome(method, request.SerializeToString() + unknown)
        return code(answer) == "OK" and len(answer.outputs) == count
    return call


def transpose(data_type: int, shape: list, **contents):
    def call(server: Axisd) -> bool:
        request = pb.TransposeRequest(input=pb.Tensor(
            data_type=data_type, shape=shape, **contents))
        request.op.SetInParent()
        answer = outcome(server.stub.Transpose, request)
        return code(answer) == "OK" and answer.output.shape == shape[::-1]
    return call


def pipeline(rows: int, columns: int, turns: int, pieces: int = 1,
             data_type: int = U8, **contents):
    """Has a matrix, of zeros unless it has contents, cut in pieces, and each
    turned so many times."""
    def call(server: Axisd) -> bool:
        size = rows * columns // (8 if data_type == U1 else 1)
        request = pb.RunPipelineRequest(inputs=[pb.Tensor(
            data_type=data_type, shape=[rows, columns],
            **(contents or {"data": bytes(size)}))])
        if pieces > 1:
            cut = request.ops.add().variadic_split
            cut.split_lengths.extend([rows // pieces] * pieces)
        for _ in range(turns):
            request.ops.add().transpose.SetInParent()
        answer = outcome(server.stub.RunPipeline, request)
        return code(answer) == "OK" and len(answer.outputs) == pieces
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
        "500 outputs": split([2000] + [0] * 499),
        "2 MB in a pipeline": pipeline(2000, 1000, turns=1),
        "600 kB turned three times": pipeline(600, 1000, turns=3),
        "20 kB of bits": pipeline(160, 1000, turns=3, data_type=U1),
        "200 pieces": pipeline(200, 2, turns=1, pieces=200),
        "64 ops": pipeline(10, 10, turns=64),
    }, {
        "4 MiB": transpose(U8, [2 * KIB, 2 * KIB], data=bytes(4 << 20)),
        "65 KiB of bits": transpose(U1, [520, KIB], data=bytes(65 * KIB)),
        "2100 numbers": transpose(U8, [1, 2100], values={"uints": [7] * 2100}),
        "600 outputs": split([1] * 600),
        "800 kB turned three times": pipeline(800, 1000, turns=3),
        "25 kB of bits": pipeline(200, 1000, turns=3, data_type=U1),
        "300 pieces": pipeline(300, 2, turns=1, pieces=300),
        "100 pieces turned five times": pipeline(100, 2, turns=5, pieces=100),
        "2100 numbers in a pipeline": pipeline(
            1, 2100, turns=1, values={"uints": [7] * 2100}),
    })


def check_infer(check: Checks, axisd: str) -> None:
    hold(check, axisd, [], {
        "one op on 2 MB": infer(matrix(2 * KIB, 1000)),
        "1800 numbers": infer_contents("uint_contents", "UINT8", [7] * 1800),
        "60 KiB of bits": infer_raw("UINT8", [60 * KIB], bytes(60 * KIB),
                                    data_type="U1", shape=f"{480 * KIB}"),
        "15000 strings": infer_raw("BYTES", [15000], bytes(60000)),
        "500 equal pieces": infer_split(500),
        "500 pieces": infer_split(500, variadic=True),
    }, {
        "one op on 4 MiB": infer(matrix(2 * KIB, 2 * KIB)),
        "2100 numbers": infer_contents("uint_contents", "UINT8", [7] * 2100),
        "65 KiB of bits": infer_raw("UINT8", [65 * KIB], bytes(65 * KIB),
                                    data_type="U1", shape=f"{520 * KIB}"),
        "17000 strings": infer_raw("BYTES", [17000], bytes(68000)),
        "600 equal pieces": infer_split(600),
        "beside a group": infer_split(600, unknown=b"\x7B\x7C"),
        "600 pieces": infer_split(600, variadic=True),
    })


def check_models(check: Checks, axisd: str) -> None:
    once = "ops { transpose {} }"
    cut = "ops { variadic_split { axis: 1 split_lengths: %s } }"
    with tempfile.TemporaryDirectory() as folder:
        models = pathlib.Path(folder)
        for name, ops in {"once": once, "thrice": 3 * once,
                          "pieces": cut % ([1] * 200) + once,
                          "crumbs": cut % ([1] * 300) + once}.items():
            (models / f"{name}.textproto").write_text(f'name: "{name}" {ops}')
        for rows in (600, 700):
            constant = Ir()
            source = constant.constant(matrix(rows, 100))
            turned = constant.add(
                "Transpose", {}, [source, constant.constant(np.array([1, 0]))],
                [(100, rows)])
            constant.result((turned, 2), "output")
            constant.write(models, f"constant{rows}")

        def small(model: str):
            def call(server: Axisd) -> bool:
                request = oip.ModelInferRequest(model_name=model)
                if not model.startswith("constant"):
                    request.inputs.add(name="input", datatype="UINT8",
                                       shape=[1, 300 if model == "crumbs" else
                                              200])
                    request.raw_input_contents.append(
                        bytes(request.inputs[0].shape[1]))
                answer = outcome(server.inference.ModelInfer, request)
                return code(answer) == "OK"
            return call

        hold(check, axisd, [f"--models={folder}"], {
            "an op beside models": infer(matrix(2 * KIB, 1000)),
            "a model on 2 MB": infer(matrix(2 * KIB, 1000), "once"),
            "three ops on 600 kB": infer(matrix(600, 1000), "thrice"),
            "a model of 200 pieces": small("pieces"),
            "a constant of 60 kB": small("constant600"),
        }, {
            "a model on 2.2 MB": infer(matrix(2200, 1000), "once"),
            "three ops on 800 kB": infer(matrix(800, 1000), "thrice"),
            "a model of 300 pieces": small("crumbs"),
            "a constant of 70 kB": small("constant700"),
        })


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

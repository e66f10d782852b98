#!/usr/bin/python3
"""Requests of the Open Inference Protocol that are wrong, each with the field
that the answer must name; beside them the nearest that are right.

Usage: refused.py AXISD
"""

import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import MIB, Axisd, Checks, Refusal, oip, outcome  # noqa: E402
from memory import SharedMemory  # noqa: E402
from region_client import Client, code, place  # noqa: E402

INFER = "/inference.GRPCInferenceService/ModelInfer"
READY = "/inference.GRPCInferenceService/ModelReady"


def put(parameters, values: dict) -> None:
    for name, value in values.items():
        field = {bool: "bool_param", int: "int64_param",
                 str: "string_param"}[type(value)]
        setattr(parameters[name], field, value)


def ask(model: str, *inputs, **parameters):
    """Of `inputs` (name, datatype, shape, bytes, parameters)."""
    request = oip.ModelInferRequest(model_name=model)
    for name, datatype, shape, data, of_input in inputs:
        tensor = request.inputs.add(name=name, datatype=datatype, shape=shape)
        put(tensor.parameters, of_input)
        request.raw_input_contents.append(data)
    put(request.parameters, parameters)
    return request


def arg(datatype="UINT8", extents=(2, 3), size=6, name="arg", **parameters):
    return name, datatype, extents, bytes(size), parameters


def order(*axes):
    return ("input_order", "INT64", [len(axes)],
            struct.pack(f"<{len(axes)}q", *axes), {})


def transpose(tensor, **parameters):
    return ask("Transpose", tensor, order(), **parameters)


def shuffle(name="src", shape=(1, 4), **parameters):
    return ask("Shuffle", arg(extents=shape, size=4, name=name), **parameters)


def split(*axis_shape, **parameters):
    count = axis_shape[0] if axis_shape else 1
    return ask("Split", arg(name="data"), ("axis", "INT64", axis_shape,
                                           bytes(8 * count), {}), **parameters)


def with_output(**parameters):
    request = transpose(arg())
    put(request.outputs.add(name="output").parameters, parameters)
    return request


def unsigned(number: int):
    request = ask("Split", arg(name="data"),
                  ("axis", "UINT8", [], b"\0", {}))
    request.parameters["num_splits"].uint64_param = number
    return request


PACKED = {"data_type": "U4", "shape": "2,3"}

WRONG = [  # (request, the field, what is said of it)
    (shuffle(group_size=2, layout="nchw"), "parameters.layout", "ncx16c"),
    (shuffle(group_size=2, layout=8), "parameters.layout", "string_param"),
    (shuffle(), "parameters.group_size", "must be set"),
    (shuffle(group_size="2"), "parameters.group_size", "int64_param"),
    (shuffle(group_size=2, prop_kind="sideways"), "parameters.prop_kind",
     "sideways"),
    (shuffle(group_size=2, prop_kind="backward"), "inputs", "diff_dst alone"),
    (shuffle("diff_dst", group_size=2), "inputs", "src alone"),
    (split(), "parameters.num_splits", "must be set"),
    (split(2, num_splits=2), "inputs.axis", "[1]"),
    (unsigned(2**63), "parameters.num_splits", "int64_param"),
    (transpose(arg(), axis=1), "parameters.axis", "Transpose"),
    (ask("Transpose", arg(), order(*[0] * 4097)), "inputs.input_order",
     "4096"),
    (transpose(arg(), **{"arg.layout": "nxc"}), "parameters.arg.layout",
     "Transpose"),
    (transpose(arg(colour="red")), "inputs[0].parameters.colour",
     "no parameter"),
    (transpose(arg(extents=[3], size=3, data_type="U4")), "inputs[0].parameters",
     "both"),
    (transpose(arg(extents=[3], size=3, **PACKED | {"data_type": "U5"})),
     "inputs[0].parameters.data_type", "U5"),
    (transpose(arg(extents=[3], size=3, **PACKED | {"data_type": "STRING"})),
     "inputs[0].parameters.data_type", "STRING"),
    (transpose(arg(extents=[3], size=3, **PACKED | {"shape": "2,x"})),
     "inputs[0].parameters.shape", "2,x"),
    (transpose(arg(extents=[1], size=1, **PACKED | {"shape": "1," * 32 + "1"})),
     "inputs[0].parameters.shape", "32"),
    (transpose(arg("INT8", [3], 3, **PACKED)), "inputs[0].datatype", "UINT8"),
    (transpose(arg("UINT8", [1, 3], 3, **PACKED)), "inputs[0].datatype",
     "UINT8"),
    (transpose(arg(extents=[4], size=4, **PACKED)), "inputs[0].shape", "[3]"),
    (transpose(arg(shared_memory_offset=1)),
     "inputs[0].parameters.shared_memory_region", "must be set"),
    (with_output(colour="red"), "outputs[0].parameters.colour",
     "no parameter"),
    (with_output(shared_memory_byte_size=6),
     "outputs[0].parameters.shared_memory_region", "must be set"),
]

RIGHT = [
    shuffle(group_size=2, layout="nxc"),
    shuffle(group_size=2, layout="ncx", dst_layout="ncx"),
    shuffle("diff_dst", group_size=2, prop_kind="backward"),
    split(num_splits=2), split(1, num_splits=2), unsigned(2),
    transpose(arg(extents=[3], size=3, **PACKED)),
    transpose(arg(extents=[3], size=3), **{"arg.data_type": "U4",
                                         "arg.shape": "2,3"}),
    transpose(arg(extents=[1], size=1, data_type="U8", shape="")),
    with_output(binary_data=True),
]


def check_requests(check: Checks, server: Axisd) -> None:
    for request, field, said in WRONG:
        answer = outcome(server.inference.ModelInfer, request)
        check(f"{request.model_name}: {field} is refused",
              isinstance(answer, Refusal) and
              answer.code == "INVALID_ARGUMENT" and
              any(f == field or f.startswith(field) for f in answer.fields) and
              said in answer.message, answer)
    for request in RIGHT:
        answer = outcome(server.inference.ModelInfer, request)
        check(f"{request.model_name} of {dict(request.parameters)} is right",
              not isinstance(answer, Refusal), answer)


def check_messages(check: Checks, server: Axisd) -> None:
    """What is no message at all, or has too much beside its tensors."""
    for method, path in ((INFER, "ModelInfer"), (READY, "ModelReady")):
        answer = outcome(server.channel.unary_unary(method), b"\x0a\x05ab")
        check(f"{path} of what is no message is refused",
              isinstance(answer, Refusal) and
              answer.code == "INVALID_ARGUMENT", answer)
    answer = outcome(server.inference.ModelReady,
                     oip.ModelReadyRequest(name="x" * (5 * MIB)))
    check("a name of 5 MiB is refused", isinstance(answer, Refusal) and
          "at most" in answer.message, answer)
    for size, field in ((MIB + 1, "inputs[0]"), (MIB * 2 // 3, "inputs")):
        request = transpose(arg())
        for tensor in request.inputs:
            tensor.name = "x" * size
        answer = outcome(server.inference.ModelInfer, request)
        check(f"{size} bytes for the name of each input, too",
              isinstance(answer, Refusal) and answer.fields == (field,) and
              "without the contents" in answer.message, answer)


def check_final_response(check: Checks, server: Axisd) -> None:
    request = transpose(arg(), triton_enable_empty_final_response=True)
    answer = outcome(server.inference.ModelInfer, request)
    check("the one answer is the final one, if that is asked for",
          code(answer) == "OK" and
          answer.parameters["triton_final_response"].bool_param, answer)


def check_strings(check: Checks, server: Axisd) -> None:
    """Strings, whose sizes are known last, go to a region that they fit."""
    words = [b"a", b"", b"ccc", b"dd"]
    spelled = [struct.pack("<I", len(w)) + w for w in words]
    wanted = b"".join(spelled[k] for k in (0, 2, 1, 3))
    shared = SharedMemory(b"." * 100)
    client = Client(server)
    client.register("r", shared.key, 100)
    request = ask("Transpose", ("arg", "BYTES", [2, 2], b"".join(spelled), {}),
                  order())
    place(request.outputs.add(name="output").parameters, "r", 10, 50)
    answer = outcome(server.inference.ModelInfer, request)
    check("strings go to a region", code(answer) == "OK" and
          list(answer.raw_output_contents) == [b""] and
          shared.read() == b"." * 10 + wanted + b"." * (90 - len(wanted)),
          (answer, shared.read()))
    for size in (len(wanted), len(wanted) - 1):
        place(request.outputs[0].parameters, "r", 10, size)
        answer = outcome(server.inference.ModelInfer, request)
        check(f"{size} bytes for {len(wanted)} bytes of strings",
              (code(answer) == "OK") == (size == len(wanted)), answer)
    client.unregister()
    shared.close()


def main() -> None:
    check = Checks()
    with Axisd(sys.argv[1], "--allow_shared_memory") as server:
        check_requests(check, server)
        check_messages(check, server)
        check_final_response(check, server)
        check_strings(check, server)
    check.finish("requests that are refused")


if __name__ == "__main__":
    main()

"""Turns conformance cases into ModelInfer requests with what must come back.

The native service's `jobs` say what moves where; this says it in the words of
the Open Inference Protocol, index tensors of every integer type included.
"""

import typing

import jobs
import numpy as np
import tensors
from harness import oip

# The protocol has no datatype for these: a UINT8 tensor with a description.
DATATYPES = {native: name for name, (native, _) in tensors.TYPES.items()
             if name.isupper()}
NUMPY = {"BOOL": "?", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8",
         **{f"{sign}INT{bits}".lstrip("S"): f"<{kind}{bits // 8}"
            for sign, kind in (("S", "i"), ("U", "u"))
            for bits in (8, 16, 32, 64)}}
INTEGERS = [name for name in NUMPY if "INT" in name]
LAYOUTS = {"NXC": "nxc", "NCX4C": "ncx4c", "NCX8C": "ncx8c",
           "NCX16C": "ncx16c"}


class Call(typing.NamedTuple):
    name: str
    request: object             # ModelInferRequest
    outputs: list = []          # [(shape, bytes)]
    data_type: str = ""         # of axis.v1, of every output
    accept: tuple = ()


def add_raw(request, name: str, datatype: str, shape, data: bytes) -> None:
    request.inputs.add(name=name, datatype=datatype, shape=shape)
    request.raw_input_contents.append(data)


def add_data(request, name: str, data_type: str, shape, data: bytes) -> None:
    """The tensor that is moved; described where its type has no name."""
    if data_type in DATATYPES:
        add_raw(request, name, DATATYPES[data_type], shape, data)
        return
    add_raw(request, name, "UINT8", [len(data)], data)
    described = {"data_type": data_type, "shape": ",".join(map(str, shape))}
    for key, value in described.items():
        request.parameters[f"{name}.{key}"].string_param = value


def index_bytes(values, datatype: str) -> bytes | None:
    """None where a number does not fit the type."""
    kind = np.dtype(NUMPY[datatype])
    if kind.kind in "iu":
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        if not all(low <= v <= high for v in values):
            return None
    return np.array(values, dtype=object).astype(kind).tobytes()


def index_types(values, wanted: str | None) -> list:
    """The integer types that can say `values`, or the one the case wants."""
    if wanted:
        return [wanted]
    return [t for t in INTEGERS if index_bytes(values, t) is not None]


def described_index(attrs: dict, name: str, values) -> tuple:
    """(values, shape, datatype or None) of an index input of a case."""
    given = np.ravel(np.array(values, dtype=object)).tolist()
    shape = attrs.get(f"{name}_shape",
                      [len(given)] if isinstance(values, list) else [])
    dtype = attrs.get(f"{name}_dtype")
    # INT64 is what every case says that does not mind.
    return given, shape, None if dtype == "INT64" else dtype


def index_inputs(case: dict) -> tuple:
    """The model of an OpenVINO case, its data input, index inputs, numbers."""
    op, attrs = case["op"], case["attrs"]
    if op == "Transpose-1":
        return "Transpose", "arg", {
            "input_order": described_index(attrs, "order",
                                           attrs["order"])}, {}
    if op == "ShuffleChannels-1":
        return "ShuffleChannels", "data", {}, attrs
    axis = described_index(attrs, "axis", attrs["axis"])
    if op == "VariadicSplit-1":
        return "VariadicSplit", "data", {
            "axis": axis,
            "split_lengths": described_index(attrs, "lengths",
                                             attrs["split_lengths"])}, {}
    return "Split", "data", {"axis": axis}, {"num_splits": attrs["num_splits"]}


def variants(inputs: dict) -> typing.Iterator[dict]:
    """Which type each index input has: every one that can say its numbers.

    Types are paired up, not multiplied: each occurs, and so do mixtures.
    """
    choices = {name: index_types(values, dtype)
               for name, (values, _, dtype) in inputs.items()}
    for k in range(max(map(len, choices.values()), default=1)):
        yield {name: types[(k + shift) % len(types)] if types else "INT64"
               for shift, (name, types) in enumerate(choices.items())}


def openvino_calls(case: dict) -> typing.Iterator[Call]:
    model, data, inputs, numbers = index_inputs(case)
    shape = case["in_shape"]
    if "error" in case["expect"]:
        dtype, = case["dtypes"]
        moves = [jobs.Job(dtype, "", {}, tensors.TYPES[dtype][0], "",
                          jobs.source(case, dtype).tobytes(),
                          accept=tuple(case["expect"]["accept"]))]
    else:
        moves = list(jobs.plain_jobs(case, "", {}))
    for number, move in enumerate(moves):
        for k, types in enumerate(variants(inputs)):
            if number > 0 and k > 0:
                break  # every index type once, every type of data once
            request = oip.ModelInferRequest(model_name=model, id=case["id"])
            add_data(request, data, move.data_type, shape, move.data)
            for name, (values, extents, _) in inputs.items():
                packed = index_bytes(values, types[name])
                if packed is None:
                    raise jobs.Unspeakable(
                        f"an index that does not fit {types[name]}")
                add_raw(request, name, types[name], extents, packed)
            for name, value in numbers.items():
                request.parameters[name].int64_param = value
            yield Call(f"{move.name} {types}", request, move.outputs,
                       move.data_type, move.accept)


def shuffle_request(case: dict, data_type: str, data: bytes, layout: str,
                    kind: str):
    attrs = case["attrs"]
    request = oip.ModelInferRequest(model_name="Shuffle")
    add_data(request, "diff_dst" if kind == "backward" else "src", data_type,
             case["in_shape"], data)
    request.parameters["axis"].int64_param = attrs["axis"]
    request.parameters["group_size"].int64_param = attrs["group_size"]
    request.parameters["prop_kind"].string_param = kind
    request.parameters["layout"].string_param = layout
    return request


def shuffle_calls(case: dict) -> typing.Iterator:
    attrs = case["attrs"]
    if "error" in case["expect"]:
        dtype, = case["dtypes"]
        request = shuffle_request(
            case, tensors.TYPES[dtype][0], jobs.source(case, dtype).tobytes(),
            "ncx", "forward_inference")
        if "dst_tag" in attrs:
            request.parameters["dst_layout"].string_param = LAYOUTS[
                tensors.layout_of(attrs["dst_tag"])]
        yield Call(dtype, request, accept=tuple(case["expect"]["accept"]))
        return
    moves = (jobs.shuffle_jobs if "tags" in attrs else jobs.plain_jobs)
    for job in moves(case, "", {}):
        if isinstance(job, jobs.Unspeakable):
            yield job
            continue
        kind = job.name.split()[-1] if "tags" in attrs else "forward_training"
        yield Call(job.name, shuffle_request(
            case, job.data_type, job.data, LAYOUTS.get(job.layout, "ncx"),
            kind), job.outputs, job.data_type)


def calls(case: dict) -> typing.Iterator:
    """The calls of an op's case; for a part that has no words, Unspeakable."""
    if case["op"] == "oneDNN-Shuffle":
        yield from shuffle_calls(case)
    else:
        yield from openvino_calls(case)

"""The good requests that the cases of the protocol change."""

import numpy as np
from harness import oip

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

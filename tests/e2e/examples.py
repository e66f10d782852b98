"""Calls with numbers typed by hand, in JSON, for every client that can call.

The requests and answers are the worked examples of the specifications, filled
with numbers that one can follow. Elements are spelled as `values`; only a
stream must send bytes, which JSON writes in base64.
"""

import base64
import typing

from google.protobuf import json_format
from harness import pb


class Example(typing.NamedTuple):
    """A call and its answer. Streams list messages; others have one."""

    name: str
    method: str
    request: object
    response: object


def ints(shape: list, *numbers: int, data_type: str = "I32") -> dict:
    return {"dataType": "DATA_TYPE_" + data_type, "shape": shape,
            "values": {"ints": list(numbers)}}


def uints(shape: list, *numbers: int, data_type: str) -> dict:
    return {"dataType": "DATA_TYPE_" + data_type, "shape": shape,
            "values": {"uints": list(numbers)}}


def floats(shape: list, *numbers: float, data_type: str = "F32") -> dict:
    return {"dataType": "DATA_TYPE_" + data_type, "shape": shape,
            "values": {"floats": list(numbers)}}


def data(data_type: str, shape: list, *parts: bytes,
         layout: str = "UNSPECIFIED") -> dict:
    return {"dataType": "DATA_TYPE_" + data_type, "shape": shape,
            "layout": "LAYOUT_" + layout,
            "data": base64.b64encode(b"".join(parts)).decode()}


def piece(*numbers: int, **header) -> dict:
    return {"input": {**header, "data": base64.b64encode(
        bytes(numbers)).decode()}}


TWELVE = ints([1, 12], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
CUBE = ints([2, 3, 4], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
            12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)

EXAMPLES = [
    Example("Transpose-1, example 1: [2, 3, 4] by [2, 0, 1]", "Transpose",
            {"input": CUBE, "op": {"order": [2, 0, 1]}},
            {"output": ints([4, 2, 3], 0, 4, 8, 12, 16, 20,
                            1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22,
                            3, 7, 11, 15, 19, 23)}),
    Example("Transpose-1, example 2: no order reverses the axes", "Transpose",
            {"input": CUBE, "op": {}},
            {"output": ints([4, 3, 2], 0, 12, 4, 16, 8, 20,
                            1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22,
                            3, 15, 7, 19, 11, 23)}),
    Example("a scalar stays as it is", "Transpose",
            {"input": ints([], 7), "op": {}}, {"output": ints([], 7)}),
    Example("a tensor without elements changes its shape", "Transpose",
            {"input": ints([1, 0, 2]), "op": {"order": [2, 0, 1]}},
            {"output": ints([2, 1, 0])}),
    Example("F32 rounds to nearest", "Transpose",
            {"input": floats([2, 1], 0.1, -2.5), "op": {"order": [1, 0]}},
            {"output": floats([1, 2], 0.10000000149011612, -2.5)}),
    Example("complex numbers stay whole", "Transpose",
            {"input": floats([1, 2], 1, 2, 3, 4, data_type="C64"),
             "op": {"order": [1, 0]}},
            {"output": floats([2, 1], 1, 2, 3, 4, data_type="C64")}),
    Example("numbers of 4 bits", "Transpose",
            {"input": uints([3, 1], 15, 0, 9, data_type="U4"), "op": {}},
            {"output": uints([1, 3], 15, 0, 9, data_type="U4")}),
    Example("strings", "Transpose",
            {"input": {"dataType": "DATA_TYPE_STRING", "shape": [2, 2],
                       "values": {"strings": ["YQ==", "", "YmI=", "Yw=="]}},
             "op": {}},
            {"output": {"dataType": "DATA_TYPE_STRING", "shape": [2, 2],
                        "values": {"strings": ["YQ==", "YmI=", "", "Yw=="]}}}),
    Example("strings as data, a 4-byte length and the bytes each",
            "VariadicSplit",
            {"input": data("STRING", [3], b"\2\0\0\0ab", b"\0\0\0\0",
                           b"\1\0\0\0c"),
             "op": {"splitLengths": [2, 1]}},
            {"outputs": [data("STRING", [2], b"\2\0\0\0ab", b"\0\0\0\0"),
                         data("STRING", [1], b"\1\0\0\0c")]}),
    Example("4-bit pieces that start within a byte, unused bits ignored",
            "VariadicSplit",
            {"input": data("U4", [5], b"\x21\x43\xf5"),
             "op": {"splitLengths": [1, 3, 1]}},
            {"outputs": [data("U4", [1], b"\x01"),
                         data("U4", [3], b"\x32\x04"),
                         data("U4", [1], b"\x05")]}),
    Example("channels last", "ShuffleChannels",
            {"input": data("U8", [1, 4, 2], b"\0\1\2\3\4\5\6\7", layout="NXC"),
             "op": {"group": 2}},
            {"output": data("U8", [1, 4, 2], b"\0\2\1\3\4\6\5\7",
                            layout="NXC")}),
    Example("blocks of 4 channels, padding ignored and zeroed", "Shuffle",
            {"input": data("U8", [1, 6], b"\0\1\2\3\4\5\t\t",
                           layout="NCX4C"),
             "op": {"groupSize": 3}},
            {"output": data("U8", [1, 6], b"\0\3\1\4\2\5\0\0",
                            layout="NCX4C")}),
    Example("ShuffleChannels-1: 12 channels in 3 groups", "ShuffleChannels",
            {"input": TWELVE, "op": {"group": 3}},
            {"output": ints([1, 12], 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11)}),
    Example("ShuffleChannels-1: its defaults change nothing",
            "ShuffleChannels", {"input": TWELVE, "op": {}},
            {"output": TWELVE}),
    Example("ShuffleChannels-1: counting axes from the end",
            "ShuffleChannels",
            {"input": uints([2, 4], 0, 1, 2, 3, 4, 5, 6, 255, data_type="U8"),
             "op": {"axis": -1, "group": 2}},
            {"output": uints([2, 4], 0, 2, 1, 3, 4, 6, 5, 255,
                             data_type="U8")}),
    Example("VariadicSplit-1, example 1: 6 as 1, 2, 3", "VariadicSplit",
            {"input": ints([6, 2], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
             "op": {"axis": 0, "splitLengths": [1, 2, 3]}},
            {"outputs": [ints([1, 2], 0, 1), ints([2, 2], 2, 3, 4, 5),
                         ints([3, 2], 6, 7, 8, 9, 10, 11)]}),
    Example("VariadicSplit-1, example 2: 6 as the rest, 2", "VariadicSplit",
            {"input": ints([2, 6], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
             "op": {"axis": -1, "splitLengths": [-1, 2]}},
            {"outputs": [ints([2, 4], 0, 1, 2, 3, 6, 7, 8, 9),
                         ints([2, 2], 4, 5, 10, 11)]}),
    Example("VariadicSplit-1: a piece may be empty", "VariadicSplit",
            {"input": ints([2], 4, 5), "op": {"splitLengths": [2, -1]}},
            {"outputs": [ints([2], 4, 5), ints([0])]}),
    Example("oneDNN shuffle, forward: groups of 3 channels", "Shuffle",
            {"input": TWELVE, "op": {"groupSize": 3}},
            {"output": ints([1, 12], 0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11)}),
    Example("oneDNN shuffle, backward: groups of 3 channels", "Shuffle",
            {"input": TWELVE, "op": {"groupSize": 3, "direction":
                                     "DIRECTION_BACKWARD"}},
            {"output": ints([1, 12], 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11)}),
    Example("a batch through two ops", "RunPipeline",
            {"inputs": [floats([2, 2], 1, 2, 3, 4, data_type="F64"),
                        ints([2, 2], 1, 0, 0, 0, data_type="BOOL")],
             "ops": [{"transpose": {}},
                     {"variadicSplit": {"splitLengths": [1, 1]}}]},
            {"outputs": [floats([1, 2], 1, 3, data_type="F64"),
                         floats([1, 2], 2, 4, data_type="F64"),
                         ints([1, 2], 1, 0, data_type="BOOL"),
                         ints([1, 2], 0, 0, data_type="BOOL")]}),
    Example("a pipeline of no ops", "RunPipeline",
            {"inputs": [TWELVE]}, {"outputs": [TWELVE]}),
    Example("a stream in three pieces", "StreamPipeline",
            [{**piece(0, 1, dataType="DATA_TYPE_U8", shape=[2, 3]),
              "ops": [{"transpose": {}},
                      {"variadicSplit": {"splitLengths": [1, 2]}}]},
             piece(2, 3, 4), piece(5)],
            {"outputs": [
                {"dataType": "DATA_TYPE_U8", "shape": [1, 2], "data": "AAM="},
                {"dataType": "DATA_TYPE_U8", "shape": [2, 2],
                 "data": "AQQCBQ=="}]}),
]


def joined(pieces) -> "pb.RunPipelineResponse":
    """The outputs that a stream of responses spells."""
    answer = pb.RunPipelineResponse()
    for response in pieces:
        if response.output.data_type:
            # By way of bytes: the classes of a reflection client are others.
            answer.outputs.add().ParseFromString(
                response.output.SerializeToString())
        else:
            answer.outputs[-1].data += response.output.data
    return answer


def expected(example: Example):
    """The answer as a message; that of a stream as its joined outputs."""
    method = example.method.replace("StreamPipeline", "RunPipeline")
    return json_format.ParseDict(example.response,
                                 getattr(pb, method + "Response")())

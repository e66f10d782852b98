"""Arrays as the wire has them: types, sizes, and the bytes in place."""

from __future__ import annotations

import dataclasses
import functools
import math
import struct
from typing import Any, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from axisd import _contract, errors

try:
    import ml_dtypes
except ImportError:  # then arrays of its types cannot come either
    ml_dtypes = None

_TENSOR = _contract.message("axis.v1.Tensor")
_TYPE_NAMES = _contract.names("axis.v1.DataType", "DATA_TYPE_")
_TYPES = {name: number for number, name in _TYPE_NAMES.items()}
_LAYOUT_NAMES = _contract.names("axis.v1.Layout", "LAYOUT_")
_LAYOUTS = {name: number for number, name in _LAYOUT_NAMES.items()}

_DTYPES = {"BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2",
           "F16": "<f2", "U32": "<u4", "I32": "<i4", "F32": "<f4",
           "U64": "<u8", "I64": "<i8", "F64": "<f8", "C64": "<c8",
           "C128": "<c16"}
_ML_DTYPES = {"BF16": "bfloat16", "F8E4M3": "float8_e4m3fn",
              "F8E5M2": "float8_e5m2", "F8E8M0": "float8_e8m0fnu",
              "U4": "uint4", "I4": "int4", "F4E2M1": "float4_e2m1fn",
              "U2": "uint2"}
# In memory these have a byte each; on the wire they are packed, the first
# element of a byte at these shifts, in order.
_SHIFTS = {"U4": (0, 4), "I4": (0, 4), "F4E2M1": (0, 4), "U2": (6, 4, 2, 0)}
_BITS = {"U4": 4, "I4": 4, "NF4": 4, "F4E2M1": 4, "U1": 1, "U2": 2, "U3": 3,
         "U6": 6, "BF16": 16, "F8E4M3": 8, "F8E5M2": 8, "F8E8M0": 8,
         **{name: 8 * np.dtype(code).itemsize
            for name, code in _DTYPES.items()}}

_DTYPE_OF = {name: np.dtype(code) for name, code in _DTYPES.items()}
for _name, _attribute in _ML_DTYPES.items():
    if hasattr(ml_dtypes, _attribute):
        _DTYPE_OF[_name] = np.dtype(getattr(ml_dtypes, _attribute))
_NAME_OF = {dtype: name for name, dtype in _DTYPE_OF.items()}


@dataclasses.dataclass(frozen=True)
class Raw:
    """A tensor as the wire has it: for the types NumPy has no name for (U1,
    U3, U6, NF4), and for layouts. The outputs of a Raw input are Raw.

    Attributes:
        data: the packed bytes, anything with a contiguous buffer.
        data_type: "U3", "F32", ...: a DataType of the contract.
        shape: the logical extents: batch, channels, spatial axes.
        layout: how `data` lies: "NXC", "NCX8C", ...; row-major if not said.
    """

    data: Any
    data_type: str
    shape: tuple[int, ...]
    layout: str = "UNSPECIFIED"


Tensor = Union[np.ndarray, Raw]
TensorLike = Union[npt.ArrayLike, Raw]


class Sent(NamedTuple):
    """An input on its way: its header, its bytes, and whether it was Raw."""

    header: bytes
    data: memoryview
    is_raw: bool


class Header(NamedTuple):
    data_type: str  # "" in the later messages of a stream
    shape: tuple[int, ...]
    layout: str


@functools.lru_cache(maxsize=256)
def _header(data_type: str, shape: tuple[int, ...], layout: str) -> bytes:
    if data_type not in _TYPES or layout not in _LAYOUTS:
        raise ValueError(f"no such data type and layout: {data_type!r}, "
                         f"{layout!r}")
    return _TENSOR(data_type=_TYPES[data_type], shape=shape,
                   layout=_LAYOUTS[layout]).SerializeToString()


@functools.lru_cache(maxsize=256)
def parse_header(header: bytes) -> Header:
    """What `header`, a Tensor without its contents, says."""
    tensor = _TENSOR.FromString(header)
    name = _TYPE_NAMES.get(tensor.data_type)
    if name is None or tensor.layout not in _LAYOUT_NAMES:
        raise errors.malformed("a type or a layout that is unknown here")
    return Header(name if tensor.data_type else "", tuple(tensor.shape),
                  _LAYOUT_NAMES[tensor.layout])


def encode(tensor: TensorLike) -> Sent:
    """The bytes of `tensor`, in place unless it is strided or big-endian.

    Raises:
        TypeError: its dtype has no name in the contract.
    """
    if isinstance(tensor, Raw):
        header = _header(tensor.data_type, tuple(tensor.shape), tensor.layout)
        data = tensor.data
        if isinstance(data, np.ndarray):
            data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        return Sent(header, memoryview(data).cast("B"), True)
    array = np.asarray(tensor)
    name = _NAME_OF.get(array.dtype)
    if name is None:
        name, array = _other(array)
    header = _header(name, array.shape, "UNSPECIFIED")
    if name == "STRING":
        return Sent(header, memoryview(_join_strings(array)), False)
    flat = array.reshape(-1)
    if not flat.flags.c_contiguous:
        flat = np.ascontiguousarray(flat)
    flat = flat.view(np.uint8)
    if name in _SHIFTS:
        flat = _pack(flat, _SHIFTS[name])
    return Sent(header, flat.data, False)


def _other(array: np.ndarray) -> tuple[str, np.ndarray]:
    if array.dtype.byteorder == ">":
        little = array.astype(array.dtype.newbyteorder("<"))
        if little.dtype in _NAME_OF:
            return _NAME_OF[little.dtype], little
    if array.dtype.kind in "SUO":
        return "STRING", array.astype(object)
    raise TypeError(f"no data type for arrays of {array.dtype}; "
                    f"see axisd.Raw")


def _join_strings(array: np.ndarray) -> bytes:
    parts = []
    for item in array.reshape(-1):
        text = item.encode() if isinstance(item, str) else bytes(item)
        parts += [struct.pack("<I", len(text)), text]
    return b"".join(parts)


def _pack(flat: np.ndarray, shifts: tuple[int, ...]) -> np.ndarray:
    packed = np.zeros(-(-flat.size // len(shifts)), np.uint8)
    mask = 0xFF >> (8 - 8 // len(shifts))
    for k, shift in enumerate(shifts):
        part = flat[k::len(shifts)]
        packed[:part.size] |= (part & mask) << shift
    return packed


def _unpack(packed: np.ndarray, name: str, shape: tuple[int, ...]):
    shifts = _SHIFTS[name]
    mask = 0xFF >> (8 - 8 // len(shifts))
    flat = (packed[:, None] >> np.array(shifts, np.uint8)) & mask
    flat = flat.astype(np.uint8).reshape(-1)[:math.prod(shape)]
    if name == "I4":  # ml_dtypes wants the sign spelled out
        flat = ((flat ^ 8) - 8).astype(np.uint8)
    return flat.view(_DTYPE_OF[name]).reshape(shape)


@functools.lru_cache(maxsize=256)
def data_bytes(header: Header) -> int:
    """The size of the data that a header calls for. Not for STRING."""
    shape = list(header.shape)
    if header.layout.endswith("C") and header.layout[3:-1].isdigit():
        block = int(header.layout[3:-1])
        shape[1] = -(-shape[1] // block) * block
    if header.data_type not in _BITS or min(shape, default=0) < 0:
        raise errors.malformed(f"no size for {header}")
    count = math.prod(shape)
    if header.data_type in ("U3", "U6"):
        return -(-count * _BITS[header.data_type] // 24) * 3
    return -(-count * _BITS[header.data_type] // 8)


def decode(header: Header, data: Any, is_raw: bool) -> Tensor:
    """The output that `data`, a buffer, holds; an array refers to it."""
    if is_raw:
        return Raw(data, *header)
    name, shape = header.data_type, header.shape
    if name == "STRING":
        return _split_strings(data, shape)
    if name not in _DTYPE_OF or len(data) != data_bytes(header):
        raise errors.malformed(f"{len(data)} bytes of {name} for {shape}")
    if name in _SHIFTS:
        return _unpack(np.frombuffer(data, np.uint8), name, shape)
    return np.frombuffer(data, _DTYPE_OF[name]).reshape(shape)


def _split_strings(data: Any, shape: tuple[int, ...]) -> np.ndarray:
    found, at = np.empty(math.prod(shape), object), 0
    try:
        for k in range(found.size):
            size, = struct.unpack_from("<I", data, at)
            found[k] = bytes(data[at + 4:at + 4 + size])
            at += 4 + size
    except struct.error:
        at = -1
    if at != len(data):
        raise errors.malformed("strings that do not fill their data")
    return found.reshape(shape)

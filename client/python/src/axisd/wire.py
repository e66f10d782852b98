"""Messages put together and taken apart around tensor bytes.

Protobuf's own Python code would copy the bytes into a message and again out of
it; here it sees the headers alone. What is left on the way out is one copy,
into the `bytes` that grpcio asks for; on the way in there is none.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from axisd import _contract, errors, tensors

# The data that one message of a stream carries at most. A multiple of every
# element.
PIECE_BYTES = (1 << 20) - 64


class Op(NamedTuple):
    """One op: its name as a field of axis.v1.Op, and what it is told."""

    name: str
    attributes: tuple[tuple[str, Any], ...]


@functools.lru_cache(maxsize=256)
def ops_bytes(request: str, ops: tuple[Op, ...]) -> bytes:
    """All of a request but its tensors: "TransposeRequest"."""
    message = _contract.message(f"axis.v1.{request}")()
    if "ops" in message.DESCRIPTOR.fields_by_name:
        for op in ops:
            part = getattr(message.ops.add(), op.name)
            part.SetInParent()
            _fill(part, op)
    else:
        message.op.SetInParent()
        _fill(message.op, ops[0])
    return message.SerializeToString()


def _fill(message: Any, op: Op) -> None:
    for name, value in op.attributes:
        if isinstance(value, tuple):
            getattr(message, name).extend(value)
        else:
            setattr(message, name, value)


@functools.lru_cache(maxsize=256)
def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _tensor(header: bytes, data: memoryview) -> tuple:
    """Field 1: a tensor of `header` and field 3, `data`."""
    size = _varint(len(data))
    whole = len(header) + 1 + len(size) + len(data)
    return b"\x0a", _varint(whole), header, b"\x1a", size, data


def request(inputs: Sequence[tensors.Sent], ops: bytes) -> bytes:
    """The request of a call: the one place that copies tensors."""
    parts: list = []
    for sent in inputs:
        parts += _tensor(sent.header, sent.data)
    parts.append(ops)
    return b"".join(parts)


def stream_requests(sent: tensors.Sent, ops: bytes) -> Iterator[bytes]:
    """The requests of a stream; a header comes first, and alone."""
    yield b"".join((b"\x0a", _varint(len(sent.header)), sent.header, ops))
    for begin in range(0, len(sent.data), PIECE_BYTES):
        yield b"".join(_tensor(b"", sent.data[begin:begin + PIECE_BYTES]))


def _number(message: bytes, at: int) -> tuple[int, int]:
    """The varint at `at`, and where it ends."""
    value = message[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    shift = 7
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _end(message: bytes, tag: int, at: int) -> int:
    """Where the field of `tag` ends whose contents begin at `at`."""
    kind = tag & 7
    if kind == 0:
        return _number(message, at)[1]
    if kind == 2:
        size, at = _number(message, at)
        return at + size
    if kind in (1, 5):
        return at + (8 if kind == 1 else 4)
    raise errors.malformed(f"a field of kind {kind}")


def _tensor_at(answer: bytes, at: int, end: int, whole: memoryview
               ) -> tuple[tensors.Header, memoryview]:
    """The tensor that lies at [at, end): its data in place."""
    header, kept, data = b"", at, whole[:0]
    while at < end:
        begin = at
        tag, at = _number(answer, at)
        if tag == 0x1A:
            size, at = _number(answer, at)
            header += answer[kept:begin]
            data = whole[at:at + size]
            kept = at = at + size
        else:
            at = _end(answer, tag, at)
    if at != end:
        raise errors.malformed("a field goes past the end of a tensor")
    return tensors.parse_header(header + answer[kept:end]), data


def response_tensors(
        answer: bytes) -> list[tuple[tensors.Header, memoryview]]:
    """The tensors of a response, field 1; their data in place."""
    found, whole, at, size = [], memoryview(answer), 0, len(answer)
    try:
        while at < size:
            tag, at = _number(answer, at)
            end = _end(answer, tag, at)
            if end > size:
                raise errors.malformed("a field goes past the end")
            if tag == 0x0A:
                _, at = _number(answer, at)
                found.append(_tensor_at(answer, at, end, whole))
            at = end
    except IndexError:
        raise errors.malformed("it ends within a number") from None
    except DecodeError as error:
        raise errors.malformed(str(error)) from None
    return found


def outputs(answer: bytes,
            inputs: Sequence[tensors.Sent]) -> list[tensors.Tensor]:
    """The outputs of a call, each in the form of the input it came from."""
    found = response_tensors(answer)
    return [tensors.decode(header, data,
                           inputs[k * len(inputs) // len(found)].is_raw)
            for k, (header, data) in enumerate(found)]


class StreamOutputs:
    """Puts the outputs of a stream together as its responses come."""

    def __init__(self, sent: tensors.Sent):
        self._is_raw = sent.is_raw
        self._found: list[tuple[tensors.Header, bytearray]] = []
        self._filled = 0

    @property
    def begun(self) -> bool:
        return bool(self._found)

    def take(self, answer: bytes) -> None:
        for header, data in response_tensors(answer):
            if header.data_type:
                self._check_full()
                self._found.append(
                    (header, bytearray(tensors.data_bytes(header))))
                self._filled = 0
            if not self._found:
                raise errors.malformed("data before a header")
            into = memoryview(self._found[-1][1])
            end = self._filled + len(data)
            if end > len(into):
                raise errors.malformed("more data than the header says")
            into[self._filled:end] = data
            self._filled = end

    def _check_full(self) -> None:
        if self._found and self._filled != len(self._found[-1][1]):
            raise errors.malformed("less data than the header says")

    def finish(self) -> list[tensors.Tensor]:
        self._check_full()
        return [tensors.decode(header, data, self._is_raw)
                for header, data in self._found]

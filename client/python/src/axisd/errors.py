"""What calls raise, with the field that the server found wrong."""

from __future__ import annotations

import grpc

from axisd import _contract

_STATUS = _contract.message("google.rpc.Status")
_BAD_REQUEST = _contract.message("google.rpc.BadRequest")
_RETRY_INFO = _contract.message("google.rpc.RetryInfo")


class Error(Exception):
    """A call that failed.

    Attributes:
        code: the gRPC code, "INVALID_ARGUMENT".
        fields: the paths of the fields that the server found wrong, spelled as
            in the message: ("op.order[1]",); "inputs[0].shape[3]" in a
            pipeline.
        retry_after: seconds after which a full server may have room; None
            where trying again does not help.
    """

    def __init__(self, code: str, message: str, fields: tuple[str, ...] = (),
                 retry_after: float | None = None):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.fields = fields
        self.retry_after = retry_after

    @property
    def field(self) -> str:
        """The first of `fields`; empty if the server named none."""
        return self.fields[0] if self.fields else ""


class InvalidArgument(Error, ValueError):
    """The request is wrong, whatever the state of the server."""


class ResourceExhausted(Error, MemoryError):
    """Too large for this server, or (with `retry_after`) it is full."""


class DeadlineExceeded(Error, TimeoutError):
    """No answer within `timeout`, or no server to ask."""


class Unavailable(Error, ConnectionError):
    """No server that takes calls."""


_CLASSES = {"INVALID_ARGUMENT": InvalidArgument,
            "RESOURCE_EXHAUSTED": ResourceExhausted,
            "DEADLINE_EXCEEDED": DeadlineExceeded,
            "UNAVAILABLE": Unavailable}


def malformed(why: str) -> Error:
    """The answer is none of the contract."""
    return Error("INTERNAL", f"malformed answer: {why}")


def of(error: grpc.RpcError) -> Error:
    """What to raise for an error of grpc or of grpc.aio."""
    fields: list[str] = []
    retry_after = None
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        for detail in _STATUS.FromString(value).details:
            if detail.type_url.endswith("/google.rpc.BadRequest"):
                bad = _BAD_REQUEST.FromString(detail.value)
                fields += [v.field for v in bad.field_violations]
            elif detail.type_url.endswith("/google.rpc.RetryInfo"):
                delay = _RETRY_INFO.FromString(detail.value).retry_delay
                retry_after = delay.seconds + delay.nanos / 1e9
    code = error.code().name
    return _CLASSES.get(code, Error)(code, error.details() or "",
                                     tuple(fields), retry_after)

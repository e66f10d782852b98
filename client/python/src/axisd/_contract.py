"""The messages of axis.v1, from the descriptors that the package carries.

They live in a pool of their own: a program may hold generated code of the
same protos beside, of any version.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_POOL = descriptor_pool.DescriptorPool()


def _load() -> None:
    found = resources.files(__package__).joinpath("contract.binpb")
    files = descriptor_pb2.FileDescriptorSet.FromString(found.read_bytes())
    for file in files.file:
        _POOL.AddSerializedFile(file.SerializeToString())


def message(name: str) -> Any:
    """The class of a message: "axis.v1.Tensor"."""
    descriptor = _POOL.FindMessageTypeByName(name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(_POOL).GetPrototype(descriptor)


def names(enum: str, prefix: str) -> dict[int, str]:
    """The numbers of an enum and their names, less the prefix."""
    values = _POOL.FindEnumTypeByName(enum).values
    return {v.number: v.name[len(prefix):] for v in values}


_load()

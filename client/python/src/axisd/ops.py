"""The ops as `wire.Op`: what the clients and the pipelines of both share."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from axisd.tensors import Raw, TensorLike
from axisd.wire import Op


def _integers(values: Iterable[int]) -> tuple[int, ...]:
    return tuple(operator.index(v) for v in values)


def transpose(order: Iterable[int] = ()) -> Op:
    return Op("transpose", (("order", _integers(order)),))


def shuffle_channels(group: int, axis: int = 1) -> Op:
    return Op("shuffle_channels", (("axis", operator.index(axis)),
                                   ("group", operator.index(group))))


def variadic_split(split_lengths: Iterable[int], axis: int = 0) -> Op:
    return Op("variadic_split",
              (("axis", operator.index(axis)),
               ("split_lengths", _integers(split_lengths))))


def split(tensor: TensorLike, num_splits: int, axis: int = 0) -> Op:
    """OpenVINO's Split-1: `num_splits` equal pieces."""
    shape: Sequence[int] = (tensor.shape if isinstance(tensor, Raw)
                            else np.shape(tensor))
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"axis: must lie in [{-len(shape)}, {len(shape)}), "
                         f"is {axis}")
    if num_splits < 1 or shape[axis] % num_splits:
        raise ValueError(f"num_splits: must divide the extent "
                         f"{shape[axis]} of axis {axis}, is {num_splits}")
    return variadic_split([shape[axis] // num_splits] * num_splits, axis)


def shuffle(group_size: int, axis: int = 1, *, backward: bool = False) -> Op:
    return Op("shuffle", (("axis", operator.index(axis)),
                          ("group_size", operator.index(group_size)),
                          ("direction", 2 if backward else 1)))


_Self = TypeVar("_Self", bound="Chain")


class Chain:
    """Ops in a row. Each method gives a new chain with one op more."""

    _ops: tuple[Op, ...]

    def _and(self: _Self, op: Op) -> _Self:
        raise NotImplementedError

    def transpose(self: _Self, order: Iterable[int] = ()) -> _Self:
        """As `Client.transpose`."""
        return self._and(transpose(order))

    def shuffle_channels(self: _Self, group: int, axis: int = 1) -> _Self:
        """As `Client.shuffle_channels`."""
        return self._and(shuffle_channels(group, axis))

    def variadic_split(self: _Self, split_lengths: Iterable[int],
                       axis: int = 0) -> _Self:
        """As `Client.variadic_split`."""
        return self._and(variadic_split(split_lengths, axis))

    def shuffle(self: _Self, group_size: int, axis: int = 1, *,
                backward: bool = False) -> _Self:
        """As `Client.shuffle`."""
        return self._and(shuffle(group_size, axis, backward=backward))

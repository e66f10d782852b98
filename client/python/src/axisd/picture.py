"""Draws small tensors before and after an op: elements keep their colours."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

import numpy as np

_CELL, _GAP, _LABEL, _MOST = 26, 8, 18, 4096


def numbers(shape: Sequence[int]) -> np.ndarray:
    """0, 1, ... of `shape`, int64."""
    count = int(np.prod(shape, dtype=np.int64))
    if count > _MOST:
        raise ValueError(f"shape: a picture holds {_MOST} elements at most, "
                         f"not {count}")
    return np.arange(count).reshape(shape)


def _places(shape: tuple[int, ...]) -> Iterator[tuple[float, float]]:
    """Where the elements lie: the last axis goes right, the one before it
    down, the next right again, each further pair with a wider gap."""
    steps, sides = [], [float(_CELL), float(_CELL)]
    for k, extent in enumerate(reversed(shape)):
        gap = _GAP * (k // 2)
        steps.append((k % 2, sides[k % 2] + gap))
        sides[k % 2] = extent * (sides[k % 2] + gap) - gap
    for index in np.ndindex(*shape):
        at = [0.0, 0.0]
        for k, i in enumerate(reversed(index)):
            at[steps[k][0]] += i * steps[k][1]
        yield at[0], at[1]


class Picture:
    """Tensors of the numbers of their elements, before and after."""

    def __init__(self, before: np.ndarray, *after: np.ndarray):
        self._tensors = [before, *after]
        self._colours = max(before.size - 1, 1)

    def _panel(self, tensor: np.ndarray, left: float) -> tuple:
        parts, width, height = [], 0.0, 0.0
        for value, (x, y) in zip(tensor.reshape(-1), _places(tensor.shape)):
            hue = round(300 * int(value) / self._colours)
            parts.append(
                f'<rect x="{left + x:g}" y="{_LABEL + y:g}" width="{_CELL}" '
                f'height="{_CELL}" fill="hsl({hue},70%,78%)" stroke="#fff"/>'
                f'<text x="{left + x + _CELL / 2:g}" '
                f'y="{_LABEL + y + 17:g}" text-anchor="middle">{value}</text>')
            width, height = max(width, x + _CELL), max(height, y + _CELL)
        title = html.escape(str(list(tensor.shape)))
        parts.append(f'<text x="{left:g}" y="12">{title}</text>')
        return parts, max(width, 7.0 * len(title)), height

    def svg(self) -> str:
        """The picture, as a document of its own."""
        parts: list[str] = []
        left = tallest = 0.0
        for k, tensor in enumerate(self._tensors):
            if k == 1:
                parts.append(f'<text x="{left:g}" y="{_LABEL + 17}">→</text>')
                left += 24
            drawn, width, height = self._panel(tensor, left)
            parts += drawn
            left += width + 16
            tallest = max(tallest, height)
        size = f'width="{left:g}" height="{_LABEL + tallest + 2:g}"'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
                f'font-family="monospace" font-size="12">{"".join(parts)}'
                f'</svg>')

    def _repr_html_(self) -> str:
        return self.svg()

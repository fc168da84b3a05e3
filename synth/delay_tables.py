"""Delay tables of a cell library as one array, interpolated at many points at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warpbank.synth.liberty import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Tables:
    """Tables by number, each added once. Number 0 is a table of zeros."""

    def __init__(self) -> None:
        self._tables = [Table((0.0,), (0.0,), ((0.0,),))]
        self._numbers: dict[int, int] = {}

    def add(self, table: Table) -> int:
        """Number of a table."""
        number = self._numbers.setdefault(id(table), len(self._tables))
        if number == len(self._tables):
            self._tables.append(table)
        return number

    def close(self) -> None:
        """Lay out the tables. None can be added afterwards."""
        axes = [[_axis(table.rows), _axis(table.columns)] for table in self._tables]
        self._points = []
        for side in (0, 1):
            points = np.full((max(len(pair[side]) for pair in axes), len(axes)), np.inf)
            for number, pair in enumerate(axes):
                points[: len(pair[side]), number] = pair[side]
            self._points.append(points)
        self._last = [np.array([len(pair[side]) - 2 for pair in axes]) for side in (0, 1)]
        height, self._width = (len(points) for points in self._points)
        values = np.zeros((len(axes), height, self._width))
        for number, table in enumerate(self._tables):
            block = np.array(table.values)
            block = np.repeat(block, 2, 0) if len(block) == 1 else block
            block = np.repeat(block, 2, 1) if block.shape[1] == 1 else block
            values[number, : block.shape[0], : block.shape[1]] = block
        self._values, self._size = values.reshape(-1), height * self._width

    def at(self, which: Ints, row: Floats, column: Floats) -> Floats:
        """Values of tables `which`, each at its point, interpolated linearly and beyond the last points."""
        (i, u), (j, v) = self._place(0, which, row), self._place(1, which, column)
        corner = which * self._size + i * self._width + j
        value = self._values
        low = value[corner] + v * (value[corner + 1] - value[corner])
        corner += self._width
        high = value[corner] + v * (value[corner + 1] - value[corner])
        return low + u * (high - low)

    def _place(self, side: int, which: Ints, at: Floats) -> tuple[Ints, Floats]:
        """Interval that holds each value, and where in it."""
        points = self._points[side]
        index = np.zeros(len(which), np.int64)
        for level in points[1:-1]:
            index += level[which] <= at
        np.minimum(index, self._last[side][which], out=index)
        low = points[index, which]
        return index, (at - low) / (points[index + 1, which] - low)


def _axis(points: tuple[float, ...]) -> list[float]:
    """Points of an axis; two where a table does not depend on it."""
    return [*points] if len(points) > 1 else [points[0], points[0] + 1.0]

"""Covering arrays: few cells of a crossing of parameters in which every two values of two parameters meet."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

Cell = tuple[Any, ...]


def pairs(cell: Cell) -> set[tuple[int, Any, int, Any]]:
    """The pairs of values of a cell, with the places of their parameters."""
    return {(a, cell[a], b, cell[b]) for a, b in combinations(range(len(cell)), 2)}


def all_pairs(*parameters: Sequence[Any]) -> list[Cell]:
    """Cells of the crossing that together have every pair of values of two parameters: always the cell with
    most new pairs, the first of them, until there is nothing new. The same every time."""
    crossing = list(product(*parameters))
    missing = set().union(*map(pairs, crossing))
    chosen = []
    while missing:
        best = max(crossing, key=lambda cell: len(pairs(cell) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return chosen

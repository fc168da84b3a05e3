"""Contents of a unit, for whoever draws it: the values that it keeps, as plain data."""

from __future__ import annotations

from typing import NamedTuple

from warpbank.golden.values import Value


class Kept(NamedTuple):
    """Register that a unit keeps.

    Parameters
    ----------
    warp, register : whose value it is.
    value : the value; None: it is still to come, or the unit keeps something else of the register.
    notes : what the unit knows about it, a word or two each ("dirty", "near").
    """

    warp: int
    register: int
    value: Value | None
    notes: tuple[str, ...] = ()


class Shelf(NamedTuple):
    """Group of registers that a unit keeps together.

    Parameters
    ----------
    place : number of the collector, of the cache's row, or of the table's warp.
    title : what the group is called in the paper ("window", "cache table").
    capacity : registers that there is room for; 0: as many as come.
    kept : the registers, in the unit's own order.
    """

    place: int
    title: str
    capacity: int
    kept: list[Kept]

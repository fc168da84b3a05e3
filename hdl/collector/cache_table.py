"""Cache table of a caching collector unit: register values that its warp may read again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.lfsr import any_of
from warpbank.hdl.round_robin import chosen


class Lines:
    """State of one cache table: a bit or a register number per line, and the order of use.

    Parameters
    ----------
    lines : size.
    name : of the signals.

    Attributes
    ----------
    valid : lines that hold a register.
    near : lines whose reuse is near.
    locked : lines that the uop in collection reads.
    registers : register of each line.
    newer : row i has the lines that line i was used after.
    """

    def __init__(self, lines: int, name: str) -> None:
        self.size = lines
        self.valid, self.near, self.locked = (
            Signal(lines, name=f"{mask}_{name}", reset_less=mask == "near")
            for mask in ("valid", "near", "locked")
        )
        self.registers = [
            Signal(REGISTER_WIDTH, name=f"register_{name}_{line}", reset_less=True) for line in range(lines)
        ]
        self.newer = [
            Signal(lines, init=(1 << line) - 1, name=f"newer_{name}_{line}") for line in range(lines)
        ]


def found(m: Module, lines: Lines, register: Value, name: str) -> Signal:
    """Mask of the line that holds `register`."""
    mask = Signal(lines.size, name=f"found_{name}")
    m.d.comb += mask.eq(Cat(number == register for number in lines.registers) & lines.valid)
    return mask


def touched(rows: Sequence[Value], line: Value) -> list[Value]:
    """Order of use after `line` (a mask of one bit, or 0) was used."""
    return [Mux(line[number], ~line & ((1 << len(rows)) - 1), row & ~line) for number, row in enumerate(rows)]


def renewed(rows: Sequence[Value], used: Sequence[Value]) -> list[Value]:
    """Order of use after the lines of `used` (masks of one bit, or 0) were used, one after the other."""
    size, every = len(rows), reduce(or_, used)
    after = []
    for line, row in enumerate(rows):
        later: Value = Const(0, size)  # lines used from this one on
        newer = []
        for own in reversed(used):
            newer.append(Mux(own[line], ~later, 0))
            later = later | own
        others = every & ~(1 << line)
        after.append(reduce(or_, newer) & others | Mux(every[line], ~others & ~(1 << line), row & ~every))
    return after


def victim(
    m: Module, lines: Lines, closed: Value, ranks: Sequence[Value], far_first: bool, name: str
) -> Signal:
    """Mask of the line to be replaced; 0 if all are `closed`.

    The first that is not valid; else, with `far_first`, one of those whose reuse is far, as `ranks` say
    (`warpbank.hdl.lfsr.any_of`); else the least recently used.
    """
    open_, far, oldest, line = (
        Signal(lines.size, name=f"{part}_{name}") for part in ("open", "far", "oldest", "line")
    )
    m.d.comb += open_.eq(~closed)
    empty = chosen(m, open_ & ~lines.valid, f"empty_{name}")
    m.d.comb += oldest.eq(
        Cat(open_[number] & ~(lines.newer[number] & open_).any() for number in range(lines.size))
    )
    m.d.comb += line.eq(Mux(empty.any, empty.one_hot, oldest))
    if far_first:
        m.d.comb += far.eq(open_ & ~lines.near)
        choice = any_of(m, far, ranks, f"random_{name}")
        with m.If(~empty.any & far.any()):
            m.d.comb += line.eq(choice)
    return line

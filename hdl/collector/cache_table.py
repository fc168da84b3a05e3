"""Cache table of a caching collector unit: register values that its warp may read again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from warpbank.arch.parameters import bits
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.lfsr import WIDTH as RANDOM_WIDTH
from warpbank.hdl.lfsr import any_of, turned
from warpbank.hdl.round_robin import chosen, encode


class Lines:
    """State of one cache table: a bit or a register number per line, and the order of use.

    Parameters
    ----------
    lines : size.
    name : of the signals.

    Attributes
    ----------
    valid : lines that hold or wait for a register.
    near : lines whose reuse is near.
    locked : lines that the uop in collection reads.
    filled : lines whose value is there.
    registers : register of each line.
    newer : row i has the lines that line i was used after.
    """

    def __init__(self, lines: int, name: str) -> None:
        self.size = lines
        masks = ("valid", "near", "locked", "filled")
        self.valid, self.near, self.locked, self.filled = (
            Signal(lines, name=f"{mask}_{name}", reset_less=mask in ("near", "filled")) for mask in masks
        )
        self.registers = [
            Signal(REGISTER_WIDTH, name=f"register_{name}_{line}", reset_less=True) for line in range(lines)
        ]
        self.newer = [
            Signal(lines, init=(1 << line) - 1, name=f"newer_{name}_{line}") for line in range(lines)
        ]

    def all(self) -> list[Signal]:
        """List every signal, in one order for all tables."""
        return [self.valid, self.near, self.locked, self.filled, *self.registers, *self.newer]


def found(m: Module, lines: Lines, register: Value, name: str) -> Signal:
    """Mask of the line that holds `register`."""
    mask = Signal(lines.size, name=f"found_{name}")
    m.d.comb += mask.eq(Cat(number == register for number in lines.registers) & lines.valid)
    return mask


def touched(rows: Sequence[Value], line: Value) -> list[Value]:
    """Order of use after `line` (a mask of one bit, or 0) was used."""
    return [Mux(line[number], ~line & ((1 << len(rows)) - 1), row & ~line) for number, row in enumerate(rows)]


def victim(
    m: Module, lines: Lines, valid: Value, closed: Value, random: Value, far_first: bool, name: str
) -> Signal:
    """Mask of the line to be replaced; 0 if all are `closed`.

    The first that is not `valid`; else, with `far_first`, one of those whose reuse is far, by the number
    `random`; else the least recently used.
    """
    open_, far, oldest, line = (
        Signal(lines.size, name=f"{part}_{name}") for part in ("open", "far", "oldest", "line")
    )
    m.d.comb += open_.eq(~closed)
    empty = chosen(m, open_ & ~valid, f"empty_{name}")
    m.d.comb += oldest.eq(
        Cat(open_[number] & ~(lines.newer[number] & open_).any() for number in range(lines.size))
    )
    m.d.comb += line.eq(Mux(empty.any, empty.one_hot, oldest))
    if far_first:
        m.d.comb += far.eq(open_ & ~lines.near)
        choice = any_of(m, far, random, f"random_{name}")
        with m.If(~empty.any & far.any()):
            m.d.comb += line.eq(choice)
    return line


@dataclass(frozen=True)
class Taken:
    """Effect of a uop on a cache table: slots found, lines taken and used, and the order of use afterwards.

    `places`: the line of each slot. `near`: lines used whose reuse is near. `misses`: some slot was not
    found.
    """

    hits: Signal
    places: list[Signal]
    fresh: Signal
    used: Signal
    near: Signal
    newer: list[Value]
    misses: Value


def take(
    m: Module,
    lines: Lines,
    keeps: Value,
    sources: Value,
    source_valid: Value,
    near: Value,
    random: Value,
    far_first: bool,
) -> Taken:
    """Find a uop's sources in a table that serves no other uop, and give lines to those that are not there.

    `keeps`: the table's content counts; else it is forgotten first.
    """
    size = lines.size
    valid = Signal(size, name="valid_taken")
    m.d.comb += valid.eq(Mux(keeps, lines.valid, 0))
    masks = [Signal(size, name=f"hit_{slot}") for slot in range(MAX_SOURCES)]
    for slot, mask in enumerate(masks):
        same = Cat(number == sources[slot] for number in lines.registers) & valid
        m.d.comb += mask.eq(Mux(source_valid[slot], same, 0))
    hits = Signal(MAX_SOURCES, name="hits")
    m.d.comb += hits.eq(Cat(mask.any() for mask in masks))
    closed: Value = reduce(or_, masks)
    fresh: Value = closed & 0
    places, used, rows, nears = [], [], list(lines.newer), []
    turn: Value = hits[0] & 0
    width = bits(size)
    for slot, mask in enumerate(masks):
        missed = Signal(name=f"missed_{slot}")
        m.d.comb += missed.eq(source_valid[slot] & ~hits[slot])
        number = Signal(RANDOM_WIDTH, name=f"number_{slot}")
        m.d.comb += number.eq(turned(random, turn, slot + 1))
        line = victim(m, lines, valid, closed | fresh, number, far_first, f"slot_{slot}")
        own = Signal(size, name=f"line_of_{slot}")
        m.d.comb += own.eq(Mux(missed, line, mask))
        grown = Signal(size, name=f"fresh_{slot}")
        m.d.comb += grown.eq(fresh | Mux(missed, line, 0))
        later = Signal(3, name=f"turn_{slot}")
        m.d.comb += later.eq(turn + missed)
        fresh, turn = grown, later
        place = Signal(width, name=f"place_{slot}")
        m.d.comb += place.eq(encode(own))
        places.append(place)
        used.append(own)
        nears.append(Mux(near[slot], own, 0))
        stage = [Signal(size, name=f"newer_{slot}_{number}") for number in range(size)]
        m.d.comb += [after.eq(row) for after, row in zip(stage, touched(rows, own), strict=True)]
        rows = list(stage)
    all_used, all_near, all_fresh = (
        Signal(size, name=name) for name in ("used_by_uop", "near_of_uop", "fresh")
    )
    m.d.comb += [all_used.eq(reduce(or_, used)), all_near.eq(reduce(or_, nears)), all_fresh.eq(fresh)]
    return Taken(hits, places, all_fresh, all_used, all_near, list(rows), turn != 0)

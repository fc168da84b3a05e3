"""Cache table of a caching collector unit: register values that its warp may read again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from warpbank.arch.parameters import bits
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.lfsr import WIDTH as RANDOM_WIDTH
from warpbank.hdl.lfsr import any_of, turned
from warpbank.hdl.prefix_counts import at_least, exactly, nth
from warpbank.hdl.round_robin import chosen, encode, pick


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


def victims(
    m: Module, lines: Lines, valid: Value, closed: Value, random: Value, far_first: bool
) -> list[Signal]:
    """Masks of the lines that are replaced one after the other by the missed sources of a uop, all at once;
    each is the `victim` of what those before it left.

    First come the lines that are not `valid`, then with `far_first` those whose reuse is far, in an order
    that follows from `random`, then the others, the least recently used first. Three searches side by side
    find the lines of each kind; only then it counts how many there are of each.
    """
    size, most = lines.size, MAX_SOURCES
    empty, far, other = (Signal(size, name=f"{kind}_lines") for kind in ("empty", "far", "other"))
    m.d.comb += [
        empty.eq(~closed & ~valid),
        far.eq(~closed & valid & ~lines.near if far_first else 0),
        other.eq(~closed & valid & (lines.near if far_first else ~Const(0, size))),
    ]
    empties = exactly(at_least(m, empty, most, "empty_count"))
    older = [exactly(at_least(m, row & other, most, f"older_{line}")) for line, row in enumerate(lines.newer)]
    behind: list[Value] = [  # the lines that are not empty, in their order
        Cat(counts[k] & other[line] if k < len(counts) else Const(0, 1) for line, counts in enumerate(older))
        for k in range(most)
    ]
    if far_first:
        counts = exactly(at_least(m, far, size, "far_count"))
        oldest, behind = behind, []
        for k, line in enumerate(_random_order(m, far, counts, empties, random)):
            behind.append(line | _or(Mux(counts[n], oldest[k - n], 0) for n in range(min(k, size) + 1)))
    found = [Signal(size, name=f"victim_{k}") for k in range(most)]
    for k, (line, own) in enumerate(zip(found, nth(m, empty, most, "empty_line"), strict=True)):
        before = range(min(k, len(empties) - 1) + 1)
        m.d.comb += line.eq(own | _or(Mux(empties[n], behind[k - n], 0) for n in before))
    return found


def _random_order(
    m: Module, far: Value, counts: Sequence[Value], empties: Sequence[Value], random: Value
) -> list[Signal]:
    """Far lines in the order in which they are replaced: each one of those left, by a number of its own.

    Parameters
    ----------
    far, counts : the lines, and how many they are, one-hot.
    empties : how many lines are replaced before them, one-hot.
    random : the shift register's number.
    """
    size, most = len(far), MAX_SOURCES
    # ranks[k][n]: which of n lines the choice k takes, one-hot; from registers.
    ranks: list[list[Value]] = []
    for k in range(most):
        number = turned(random, Const(k, 3), most)
        products = [(number * n)[RANDOM_WIDTH:] for n in range(1, size + 1)]
        ranks.append(
            [Const(0, size), *(Cat(product == place for place in range(size)) for product in products)]
        )
    nths = nth(m, far, size, "far_line")
    chosen_: list[Signal] = []  # of those that the ones before left
    lines = [Signal(size, name=f"far_victim_{k}") for k in range(most)]
    for k, line in enumerate(lines):
        rank = Signal(size, name=f"far_rank_{k}")
        m.d.comb += rank.eq(
            _or(
                Mux(
                    empties[before],
                    _or((Mux(counts[n], ranks[before + k][n - k], 0) for n in range(k + 1, size + 1)), size),
                    0,
                )
                for before in range(min(most - k, len(empties)))
            )
        )
        place: Value = rank
        for step, other in enumerate(reversed(chosen_)):  # count those that went before
            below = Cat(other[bit + 1 :].any() for bit in range(size))
            moved = Signal(size, name=f"far_place_{k}_{step}")
            m.d.comb += moved.eq(place & below | (place & ~below) << 1)
            place = moved
        chosen_.append(rank)
        m.d.comb += line.eq(pick(place, nths))
    return lines


@dataclass(frozen=True)
class Taken:
    """Effect of a uop on a cache table.

    Parameters
    ----------
    hits : slots found.
    places : line of each slot.
    fresh, used : lines taken; lines of all slots.
    near : lines used whose reuse is near.
    after : row i has the lines that line i is used after, both for this uop.
    misses : some slot was not found.
    """

    hits: Signal
    places: list[Signal]
    fresh: Signal
    used: Signal
    near: Signal
    after: list[Signal]
    misses: Value

    def renewed(self, rows: Sequence[Value]) -> list[Value]:
        """Order of use of a table after the uop."""
        return [
            after | Mux(self.used[line], ~self.used & ~(1 << line), row & ~self.used)
            for line, (after, row) in enumerate(zip(self.after, rows, strict=True))
        ]


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
    hits, missed = Signal(MAX_SOURCES, name="hits"), Signal(MAX_SOURCES, name="missed")
    m.d.comb += [hits.eq(Cat(mask.any() for mask in masks)), missed.eq(source_valid & ~hits)]
    replaced = victims(m, lines, valid, _or(masks), random, far_first)
    turns = nth(m, missed, MAX_SOURCES, "missed_slot")
    used = [Signal(size, name=f"line_of_{slot}") for slot in range(MAX_SOURCES)]
    m.d.comb += [
        own.eq(mask | _or(Mux(turn[slot], line, 0) for turn, line in zip(turns, replaced, strict=True)))
        for slot, (own, mask) in enumerate(zip(used, masks, strict=True))
    ]
    all_used, all_near, fresh = (Signal(size, name=name) for name in ("used_by_uop", "near_of_uop", "fresh"))
    places = [Signal(bits(size), name=f"place_{slot}") for slot in range(MAX_SOURCES)]
    m.d.comb += [
        *(place.eq(encode(own)) for place, own in zip(places, used, strict=True)),
        all_used.eq(_or(used)),
        all_near.eq(_or(Mux(near[slot], own, 0) for slot, own in enumerate(used))),
        fresh.eq(_or(Mux(turn.any(), line, 0) for turn, line in zip(turns, replaced, strict=True))),
    ]
    after = [Signal(size, name=f"after_{line}") for line in range(size)]
    for line, row in enumerate(after):
        later: Value = Const(0, size)  # lines of the slots from this one on
        newer = []
        for own in reversed(used):
            newer.append(Mux(own[line], ~later, 0))
            later = later | own
        m.d.comb += row.eq(_or(newer) & all_used & ~(1 << line))
    return Taken(hits, places, fresh, all_used, all_near, after, missed.any())


def _or(parts: Iterable[Value], width: int = 0) -> Value:
    """All of `parts`; 0 of `width` bits if there is none."""
    return reduce(or_, parts, Const(0, width))

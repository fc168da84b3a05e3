"""Places of a row of the register file cache: which are unused, and which are given next (LTRF, figure 8)."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.hdl.prefix_counts import below, nth
from warpbank.hdl.round_robin import encode, pick


class Places(wiring.Component):
    """The set of a row's banks that no register has. LTRF, section 4.2.

    Parameters
    ----------
    count : places; all of them are unused at first.
    registers : registers that may be given a place in a cycle.

    Members
    -------
    wants : In(registers). Registers that want a place.
    place : Out, per register. The place that it gets, if it wants one: the lowest unused ones, in the
        registers' order.
    given : In(registers). Registers that take theirs; some of those that want one and find one unused.
    back : In(count). Mask of the occupied places that are given back.
    occupied : Out(count). Places that registers have. From registers.

    Latency: a place given back in cycle t can be given in t + 1.

    No register waits for the choice of one before it: each place counts the unused ones below it, each
    register those before it that want one, and it gets the place whose number is equal.

    Raises
    ------
    TypeError : `count` or `registers` is no positive number.
    """

    wants: Signal
    place: list[Signal]
    given: Signal
    back: Signal
    occupied: Signal

    def __init__(self, count: int, registers: int) -> None:
        for name, number in (("places", count), ("registers", registers)):
            if type(number) is not int or number < 1:
                raise TypeError(f"Places needs a number of {name} of at least 1, not {number!r}.")
        self._count, self._registers = count, registers
        super().__init__(
            {
                "wants": In(registers),
                "place": Out(bits(count)).array(registers),
                "given": In(registers),
                "back": In(count),
                "occupied": Out(count),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, registers = self._count, self._registers
        occupied, taken = Signal(count), Signal(count)
        turns = nth(m, ~self.occupied, registers, "unused")  # the lowest unused place, the one above it, ...
        numbers = [encode(turn) for turn in turns]
        before, _ = below(m, self.wants, registers, "wanting")
        gone = []
        for register, (place, wanting) in enumerate(zip(self.place, before, strict=True)):
            mine = Cat(wanting)[: register + 1]
            m.d.comb += place.eq(pick(mine, numbers[: register + 1]))
            given = mine & self.given[register].replicate(len(mine))
            gone.append(pick(given, turns[: register + 1]))
        m.d.comb += [taken.eq(reduce(or_, gone)), self.occupied.eq(occupied)]
        m.d.sync += occupied.eq((occupied | taken) & ~self.back)
        return m

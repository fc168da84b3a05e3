"""Places of a row of the register file cache: which are unused, and which are given next (LTRF, figure 8)."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.hdl.round_robin import encode, lowest


class Places(wiring.Component):
    """The set of a row's banks that no register has. LTRF, section 4.2.

    Parameters
    ----------
    count : places; all of them are unused at first.
    registers : registers that may be given a place in a cycle.

    Members
    -------
    wants : In(registers). Registers that want a place.
    place : Out, per register. The place that it gets: the lowest unused ones, in the registers' order.
    given : In(registers). Registers that take theirs; some of those that want one and find one unused.
    back : In(count). Mask of the occupied places that are given back.
    occupied : Out(count). Places that registers have. From registers.

    Latency: a place given back in cycle t can be given in t + 1.

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
        count = self._count
        occupied, left = Signal(count), ~self.occupied
        taken = Signal(count)
        gone = []
        for register, place in enumerate(self.place):
            first = Signal(count, name=f"first_{register}")
            m.d.comb += [
                first.eq(lowest(left) & self.wants[register].replicate(count)),
                place.eq(encode(first)),
            ]
            gone.append(first & self.given[register].replicate(count))
            rest = Signal(count, name=f"rest_{register}")
            m.d.comb += rest.eq(left & ~first)
            left = rest
        for mask in gone[1:]:
            gone[0] = gone[0] | mask
        m.d.comb += [taken.eq(gone[0]), self.occupied.eq(occupied)]
        m.d.sync += occupied.eq((occupied | taken) & ~self.back)
        return m

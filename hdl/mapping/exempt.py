"""Registers that are not renamed: they have a physical register of their own at an address that is
computed."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Protocol

from amaranth.hdl import Array, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.typed import Interface

#: Registers that are counted together, and bits of the number of slots that a partial product takes.
_GROUP, _DIGIT = 16, 2
#: Registers of a group that are counted when one of them is asked for, where the others have been before.
_PART = 4


class Place(wiring.Signature):
    """Look-up of an exempt register's place (seen from who asks). Combinational.

    Members
    -------
    warp, register : Out.
    exempt : In. The register is not renamed.
    physical : In. Its physical register; meaningful while `exempt`.
    """

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__(
            {
                "warp": Out(core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "exempt": In(1),
                "physical": In(bits(core.warp_registers)),
            }
        )


class PlaceInterface(Interface, Protocol):
    """Interface object of the signature `Place`."""

    warp: Signal
    register: Signal
    exempt: Signal
    physical: Signal


class Summands(wiring.Signature):
    """Summands of the physical register of an exempt register (seen from who asks). Combinational.

    Members
    -------
    first : In. The warp's first physical register, and the exempt registers before the register's group of
        16.
    rest : In. Those before it in its group.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__({"first": In(bits(config.sub_core.warp_registers)), "rest": In(bits(_GROUP))})


class SummandsInterface(Interface, Protocol):
    """Interface object of the signature `Summands`."""

    first: Signal
    rest: Signal


class Exempt(wiring.Component):
    """The exempt registers of a launch. Renaming, section 7.1.

    The first physical registers are theirs: those of warp slot w begin at w x count, in the order of their
    numbers. A register's place in that order is its name. Warp slots that a launch leaves unused get none.

    The mask of a launch is counted in three steps, one a cycle: groups of 16 registers; all before a group;
    the count times the warp slots. The first uop of a launch issues in the cycle after the last of them. If
    it issues later, groups of 64 are counted in a step of their own, between the first two. A
    name is not kept: it is the number of registers before its group and of those before it in the group.

    Parameters
    ----------
    config : the machine: warps, physical registers.
    ports : registers that are asked for in a cycle.
    split : the summands of their physical registers are answered, too: for who has no time to wait for the
        sum.
    late : the groups are added up in two cycles, for who has a cycle more; and of a register's group only
        those of its four are counted when it is asked for, since those before them have been.

    Members
    -------
    launch, mask, slots : In. A launch begins; its registers that are not renamed, and the warp slots that it
        may use. The mask counts from the next cycle on, places from `counted` on.
    counted : Out(1). The registers of a launch have been counted: two cycles after `launch`, three if `late`.
    count, reserved : Out. How many there are, and how many physical registers are theirs; from registers,
        meaningful with `counted`.
    find : In(Place) per port.
    summands : Out(Summands) per port, if `split`. Their sum is `physical`.

    Raises
    ------
    TypeError : `ports` is no positive number.
    """

    #: Registers of a warp. The proofs make it smaller; register numbers are then below it.
    registers = 256

    launch: Signal
    mask: Signal
    slots: Signal
    counted: Signal
    count: Signal
    reserved: Signal
    find: list[PlaceInterface]
    summands: list[SummandsInterface]

    def __init__(self, config: SmConfig, ports: int, split: bool = False, late: bool = False) -> None:
        if type(ports) is not int or ports < 1:
            raise TypeError(f"Exempt needs a number of ports of at least 1, not {ports!r}.")
        self._config, self._split, self._late = config, split, late
        super().__init__(
            {
                "launch": In(1),
                "mask": In(self.registers),
                "slots": In(bits(config.sub_core.warps + 1)),
                "counted": Out(1),
                "count": Out(bits(self.registers + 1)),
                "reserved": Out(bits(config.sub_core.warp_registers + 1)),
                "find": In(Place(config)).array(ports),
                **({"summands": In(Summands(config)).array(ports)} if split else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        groups = _groups(self.mask, _GROUP)
        mask, grouped = Signal(self.registers), Signal()
        counts = [Signal(bits(len(group) + 1), name=f"count_{number}") for number, group in enumerate(groups)]
        quarters = _groups(self.mask, 4 * _GROUP)
        sums = [Signal(bits(len(part) + 1), name=f"sum_{number}") for number, part in enumerate(quarters)]
        slots = Signal.like(self.slots)
        self._grouped, self._mask, self._slots, self._counts, self._sums = grouped, mask, slots, counts, sums
        numbers, masks = counts + sums, groups + quarters
        begins: Value = self.launch
        if self._late:
            begins, numbers, masks = Signal(name="begins"), counts, groups
            m.d.sync += begins.eq(self.launch)
            with m.If(begins):
                m.d.sync += [
                    number.eq(sum(counts[4 * place : 4 * place + 4])) for place, number in enumerate(sums)
                ]
        m.d.sync += grouped.eq(begins)
        with m.If(self.launch):
            m.d.sync += [mask.eq(self.mask), slots.eq(self.slots)]
            m.d.sync += [number.eq(_ones(part)) for number, part in zip(numbers, masks, strict=True)]

        # Registers before each group: those of the groups of four before, and of up to three groups.
        count = Signal.like(self.count)
        before = [Signal.like(self.count, name=f"before_{number}") for number in range(len(groups))]
        digits = _groups(slots, _DIGIT)
        products = [Signal(len(count) + _DIGIT, name=f"product_{place}") for place in range(len(digits))]
        self._products = products
        total = Signal.like(count)
        m.d.comb += total.eq(sum(sums))
        m.d.sync += self.counted.eq(grouped)
        with m.If(grouped):
            m.d.sync += [
                count.eq(total),
                *(product.eq(total * digit) for product, digit in zip(products, digits, strict=True)),
                *(
                    first.eq(sum([*sums[: number // 4], *counts[number // 4 * 4 : number]]))
                    for number, first in enumerate(before)
                ),
            ]
        m.d.comb += [
            self.count.eq(count),
            self.reserved.eq(sum(product << place * _DIGIT for place, product in enumerate(products))),
        ]

        size = _PART if self._late else _GROUP
        words, places, parts = Array(_groups(mask, size)), Array(before), self._parts(m)
        inner = bits(size)
        for number, port in enumerate(self.find):
            register = port.register[: bits(self.registers)]
            word, lower = Signal(size, name=f"word_{number}"), Signal(size, name=f"lower_{number}")
            rest: Value = _ones(lower)
            if self._late:
                rest = parts[register[inner:]] + rest
            behind = port.warp * count + places[register[bits(_GROUP) :]]
            m.d.comb += [
                word.eq(words[register[inner:]]),
                lower.eq(word & ((1 << register[:inner]) - 1)),
                port.exempt.eq((word >> register[:inner])[0]),
                port.physical.eq(behind + rest),
            ]
            for summands in self.summands[number : number + 1] if self._split else []:
                m.d.comb += [summands.first.eq(behind), summands.rest.eq(rest)]
        return m

    def _parts(self, m: Module) -> Array[Value]:
        """Registers before each part of a group, in the group; from registers, but for the first part."""
        found: list[Value] = []
        for number, group in enumerate(_groups(self.mask, _GROUP) if self._late else []):
            for place in range(0, _GROUP, _PART):
                part: Value = Const(0)
                if place:
                    part = Signal(bits(_GROUP), name=f"before_{place}_in_{number}", reset_less=True)
                    with m.If(self.launch):
                        m.d.sync += part.eq(_ones(group[:place]))
                found.append(part)
        return Array(found)


def _groups(mask: Value, size: int) -> list[Value]:
    return [mask[first : first + size] for first in range(0, len(mask), size)]


def _ones(mask: Value) -> Value:
    """Number of bits that are set."""
    return reduce(add, mask)

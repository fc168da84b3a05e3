"""Registers that are not renamed: they have a physical register of their own at an address that is
computed."""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.typed import Interface


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


class Exempt(wiring.Component):
    """The exempt registers of a launch. Renaming, section 7.1.

    The first physical registers are theirs: those of warp slot w begin at w x count, in the order of their
    numbers. A register's place in that order is its name; the names of a launch are a table of 256 numbers.
    Warp slots that a launch leaves unused get none.

    Parameters
    ----------
    config : the machine: warps, physical registers.
    ports : registers that are asked for in a cycle.

    Members
    -------
    launch, mask, slots : In. A launch begins; its registers that are not renamed, and the warp slots that it
        may use. They count from the next cycle on.
    count, reserved : Out. How many there are by `mask`, and how many physical registers are theirs;
        meaningful with `launch`, combinational.
    find : In(Place) per port.

    Raises
    ------
    TypeError : `ports` is no positive number.
    """

    #: Registers of a warp. The proofs make it smaller; register numbers are then below it.
    registers = 256

    launch: Signal
    mask: Signal
    slots: Signal
    count: Signal
    reserved: Signal
    find: list[PlaceInterface]

    def __init__(self, config: SmConfig, ports: int) -> None:
        if type(ports) is not int or ports < 1:
            raise TypeError(f"Exempt needs a number of ports of at least 1, not {ports!r}.")
        self._config = config
        super().__init__(
            {
                "launch": In(1),
                "mask": In(self.registers),
                "slots": In(bits(config.sub_core.warps + 1)),
                "count": Out(bits(self.registers + 1)),
                "reserved": Out(bits(config.sub_core.warp_registers + 1)),
                "find": In(Place(config)).array(ports),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = bits(self.registers + 1)
        mask, count = Signal(self.registers), Signal(width)
        names = Signal(width * self.registers)
        ranks = [Signal(width, name=f"rank_{register}") for register in range(self.registers + 1)]
        m.d.comb += [
            ranks[register + 1].eq(ranks[register] + self.mask[register])
            for register in range(self.registers)
        ]
        m.d.comb += self.count.eq(ranks[-1])
        m.d.comb += self.reserved.eq(ranks[-1] * self.slots)
        with m.If(self.launch):
            m.d.sync += [mask.eq(self.mask), count.eq(ranks[-1]), names.eq(Cat(ranks[:-1]))]
        for port in self.find:
            m.d.comb += port.exempt.eq((mask >> port.register)[0])
            m.d.comb += port.physical.eq(port.warp * count + names.word_select(port.register, width))
        return m

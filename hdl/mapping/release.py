"""Release: registers that the compiler has declared dead give their physical registers back."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Protocol

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    ReadDone,
    ReadDoneInterface,
    Written,
    WrittenInterface,
    issue_stream,
)
from warpbank.hdl.layouts import REGISTER_WIDTH, UNITS
from warpbank.hdl.mapping.ports import Moving, MovingInterface
from warpbank.hdl.mapping.table import TABLE_BANKS
from warpbank.hdl.round_robin import chosen, decode, first_from
from warpbank.hdl.typed import Interface


class Mark(wiring.Signature):
    """A uop of `warp` that issues declares registers dead (seen from the front end): a mask."""

    def __init__(self, config: SmConfig, registers: int) -> None:
        super().__init__(
            {"valid": Out(1), "warp": Out(config.sub_core.warp_width), "registers": Out(registers)}
        )


class MarkInterface(Interface, Protocol):
    """Interface object of the signature `Mark`."""

    valid: Signal
    warp: Signal
    registers: Signal


class Released(wiring.Signature):
    """A register is released (seen from who does it)."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"valid": Out(1), "warp": Out(config.sub_core.warp_width), "register": Out(REGISTER_WIDTH)}
        )


class ReleasedInterface(Interface, Protocol):
    """Interface object of the signature `Released`."""

    valid: Signal
    warp: Signal
    register: Signal


class Release(wiring.Component):
    """Release unit: which registers are dying, and which of them a cycle releases. Renaming, 4.3 and 6.1.

    A register is dying from the cycle after the issue of the uop that declares it dead: a flagged read (pir)
    or a pbr. It is released when no read and no write of it is pending. One warp is served per cycle, by
    rotating priority among those with a dying register that is not still to be written; of it, one register
    per bank of the renaming table, the lowest such one, if no uop still has to read it. A uop that issues
    with a dying register as its destination takes the register over: it keeps its physical register, and dies
    no more.

    All registers of a warp that has drained are dying; until they are all released no other warp may issue in
    its slot.

    Pending writes are a mask per warp; pending reads are kept per uop in collection and compared, as in the
    scoreboard.

    Parameters
    ----------
    config : the machine.
    entries : uops that can be in collection at a time.
    movers : registers that can be on their way between a cache and the main register file. They are not
        released meanwhile.

    Members
    -------
    launch : In(1). A launch begins: no register has a physical one.
    issue : In(issue_stream). A uop that collects issues.
    entry : In(bits(entries)). Number of that uop among those in collection.
    mark : In(Mark). What is declared dead in this cycle, of the registers that have a physical one.
    read : In(ReadDone) per entry. Operands were read.
    written : In(Written) per unit. A register was written.
    end : In(warps). Warps that drain in this cycle.
    mapped : In(256) per warp. Registers that have a physical one.
    moving : In(Moving) per mover. A register is on its way.
    dying : Out(256) per warp. Registers that are about to be released; from registers.
    ended : Out(warps). Slots whose last warp has drained and still has registers; from registers.
    released : Out(Released) per bank of the table; depends on `issue`.

    What is set in cycle t counts from t + 1.

    Raises
    ------
    TypeError : `entries` is no positive number.
    """

    #: Registers of a warp. The proofs make it smaller.
    registers = 256

    launch: Signal
    issue: AlwaysInterface
    entry: Signal
    mark: MarkInterface
    read: list[ReadDoneInterface]
    written: list[WrittenInterface]
    end: Signal
    mapped: list[Signal]
    moving: list[MovingInterface]
    dying: list[Signal]
    ended: Signal
    released: list[ReleasedInterface]

    def __init__(self, config: SmConfig, entries: int, movers: int = 0) -> None:
        if type(entries) is not int or entries < 1:
            raise TypeError(
                f"Release needs the number of uops that can be in collection, at least 1, not {entries!r}."
            )
        self._config = config
        core = config.sub_core
        super().__init__(
            {
                "launch": In(1),
                "issue": In(issue_stream(config)),
                "entry": In(range(max(2, entries))),
                "mark": In(Mark(config, self.registers)),
                "read": In(ReadDone(config)).array(entries),
                "written": In(Written(config)).array(UNITS),
                "end": In(core.warps),
                "mapped": In(self.registers).array(core.warps),
                "ended": Out(core.warps),
                "released": Out(Released(config)).array(TABLE_BANKS),
                "moving": In(Moving(config)).array(movers),
                "dying": Out(self.registers).array(core.warps),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps, width = self._config.sub_core.warps, self.registers
        uop, issuer = self.issue.payload.uop, self.issue.payload.warp
        ended, pointer = Signal(warps), Signal(self._config.sub_core.warp_width)
        dying = [Signal(width, name=f"dying_{warp}") for warp in range(warps)]
        writing = [Signal(width, name=f"writing_{warp}") for warp in range(warps)]
        waiting = [Signal(width, name=f"waiting_{warp}") for warp in range(warps)]
        m.d.comb += [
            mask.eq(marked & ~pending) for mask, marked, pending in zip(waiting, dying, writing, strict=True)
        ]
        self._dying, self._writing, self._pointer = dying, writing, pointer
        some = Signal(warps)
        m.d.comb += some.eq(Cat(mask.any() for mask in waiting))
        served = first_from(m, some, pointer, "served")
        with m.If(served.any):
            m.d.sync += pointer.eq(served.after)

        # The destinations of the uop that issues are kept.
        destinations, mask = Signal(width), Signal(width)
        m.d.comb += destinations.eq(((1 << uop.count) - 1) << uop.destination)
        m.d.comb += mask.eq(Array(waiting)[served.index])
        chosen_ = self._choose(m, served.index, mask)
        gone = Signal(width)
        saved = Signal(width)
        m.d.comb += saved.eq(Mux(self.issue.valid & (issuer == served.index), destinations, 0))
        dropped: list[Value] = []
        for bank, (number, idle) in enumerate(chosen_):
            released = self.released[bank]
            m.d.comb += [
                released.valid.eq(idle & ~(saved >> number)[0]),
                released.warp.eq(served.index),
                released.register.eq(number),
            ]
            dropped.append(released.valid << number)
        m.d.comb += gone.eq(reduce(or_, dropped))

        issued = decode(m, issuer, self.issue.valid, warps, "issued")
        marked = decode(m, self.mark.warp, self.mark.valid, warps, "marked")
        for warp in range(warps):
            marks, kept, written = (
                Signal(width, name=f"{name}_{warp}") for name in ("marks", "kept", "written")
            )
            m.d.comb += [
                marks.eq(
                    Mux(marked[warp], self.mark.registers, 0) | Mux(self.end[warp], self.mapped[warp], 0)
                ),
                kept.eq(Mux(issued[warp], destinations, 0)),
                written.eq(
                    reduce(
                        or_, ((port.valid & (port.warp == warp)) << port.register for port in self.written)
                    )
                ),
            ]
            here = served.one_hot[warp]
            m.d.sync += dying[warp].eq((dying[warp] | marks) & ~kept & ~Mux(here, gone, 0))
            m.d.sync += writing[warp].eq(writing[warp] & ~written | kept)
        left = Cat(
            (mask & ~Mux(served.one_hot[warp], gone, 0)).any() for warp, mask in enumerate(self.mapped)
        )
        m.d.sync += ended.eq((ended | self.end) & left)
        with m.If(self.launch):
            m.d.sync += [ended.eq(0), *(mask.eq(0) for mask in dying)]
        m.d.comb += [
            self.ended.eq(ended),
            *(outer.eq(inner) for outer, inner in zip(self.dying, dying, strict=True)),
        ]
        return m

    def _choose(self, m: Module, warp: Value, mask: Value) -> list[tuple[Value, Value]]:
        """Per bank of the table the lowest register of `mask`, and whether there is one that no uop of `warp`
        has to read."""
        issue = self.issue.payload
        readers: list[tuple[Value, Value]] = []
        self._collecting: list[tuple[Value, Value, Value]] = []  # uops: slots still to be read, warp, sources
        for entry, read in enumerate(self.read):
            missing = Signal(MAX_SOURCES, name=f"missing_{entry}")
            owner = Signal.like(issue.warp, name=f"warp_{entry}")
            sources = Signal.like(issue.uop.sources, name=f"sources_{entry}")
            self._collecting.append((missing, owner, sources))
            m.d.sync += missing.eq(missing & ~read.slots)
            with m.If(self.issue.valid & (self.entry == entry)):
                m.d.sync += [
                    missing.eq(issue.uop.source_valid),
                    owner.eq(issue.warp),
                    sources.eq(issue.uop.sources),
                ]
            of_warp = Signal(MAX_SOURCES, name=f"of_warp_{entry}")
            m.d.comb += of_warp.eq(Mux(owner == warp, missing, 0))
            readers += [(of_warp[slot], sources[slot]) for slot in range(MAX_SOURCES)]
        readers += self._movers(warp)
        found: list[tuple[Value, Value]] = []
        for bank in range(TABLE_BANKS):
            mine = Signal(len(mask) // TABLE_BANKS, name=f"mine_{bank}")
            m.d.comb += mine.eq(Cat(mask[bank::TABLE_BANKS]))
            lowest = chosen(m, mine, f"lowest_{bank}")
            number = Signal(REGISTER_WIDTH, name=f"number_{bank}")
            m.d.comb += number.eq((lowest.index << bits(TABLE_BANKS)) | bank)
            idle = Signal(name=f"idle_{bank}")
            m.d.comb += idle.eq(
                lowest.any & ~Cat(valid & (source == number) for valid, source in readers).any()
            )
            found.append((number, idle))
        return found

    def _movers(self, warp: Value) -> list[tuple[Value, Value]]:
        """Registers of `warp` that are on their way: whether there is one, and which."""
        return [(moving.valid & (moving.warp == warp), moving.register) for moving in self.moving]

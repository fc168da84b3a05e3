"""Decompress moves: what must run before some lanes of a compressed register are written."""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_DESTINATIONS, MOVE, TO_BANKS, TO_COLLECTOR, Unit
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.layouts import REGISTER_WIDTH, uop_layout
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.round_robin import chosen
from warpbank.hdl.typed import Interface, Record


class Stored(wiring.Signature):
    """A register was written into a bank (seen from the hierarchy), and whether some of its bytes are not
    there."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "warp": Out(config.sub_core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "compressed": Out(1),
            }
        )


class StoredInterface(Interface, Protocol):
    """Interface object of the signature `Stored`."""

    valid: Signal
    warp: Signal
    register: Signal
    compressed: Signal


class DecompressMoves(wiring.Component):
    """Decompress moves: which registers of every warp are compressed, and what moves follow. G-Scalar, 3.3.

    A compressed register has lanes in the base value, so that writing some of its lanes into the banks would
    lose the others. A uop that is about to do so lets a move go first, which reads all lanes and writes them
    back as they are; the scoreboard makes the uop wait. A uop whose destinations hold nothing that any lane
    still needs goes at once.

    Parameters
    ----------
    config : the machine.
    banks : in which registers are compressed; 0: nothing needs a move, and nothing is built for any.
    probe : generate `events` (move).

    Members
    -------
    stored : In(Stored) per bank.
    warp : In. The warp that issues.
    uop : In(uop_layout). Its first uop, without hazards.
    missing : In(4). Its destinations that are nowhere, so that nothing of them can be lost.
    issues : In(1). It issues in this cycle.
    goes : Out(uop_layout). What issues: the uop, or a move of the first of its destinations that needs one.
    inserts : Out(1). It is a move; the uop stays where it is.

    Latency: none; what was stored in cycle t counts in t. A register that is being moved counts as not
    compressed.

    Raises
    ------
    TypeError : no configuration.
    """

    stored: list[StoredInterface]
    warp: Signal
    uop: Record
    missing: Signal
    issues: Signal
    goes: Record
    inserts: Signal
    events: EventsInterface

    def __init__(self, config: SmConfig, banks: int, probe: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Moves needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        self._probe = probe
        core = config.sub_core
        members = {
            "stored": In(Stored(config)).array(banks),
            "warp": In(core.warp_width),
            "uop": In(uop_layout(config)),
            "missing": In(MAX_DESTINATIONS),
            "issues": In(1),
            "goes": Out(uop_layout(config)),
            "inserts": Out(1),
        }
        if probe and banks:
            members["events"] = Out(Events(config, {"move": 1}))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        uop, goes = self.uop, self.goes
        if not self.stored:
            m.d.comb += goes.eq(uop)
            return m
        table = m.submodules.compressed = Memory(shape=1, depth=1 << REGISTER_WIDTH + len(self.warp), init=[])
        packed = Signal(MAX_DESTINATIONS)
        for number in range(MAX_DESTINATIONS):
            place = Signal(REGISTER_WIDTH + len(self.warp), name=f"place_{number}")
            m.d.comb += place.eq(Cat((uop.destination + number)[:REGISTER_WIDTH], self.warp))
            there = (number < uop.count) & ~self.missing[number]
            m.d.comb += packed[number].eq(there & read_at(m, table, place))
            for stored in self.stored:  # what a collector evicted in the cycle before
                with m.If(stored.valid & (Cat(stored.register, stored.warp) == place)):
                    m.d.comb += packed[number].eq(there & stored.compressed)
        first = chosen(m, packed, "first")
        register = Signal(REGISTER_WIDTH)
        moved = Cat(register, self.warp)
        for stored in self.stored:
            written = Cat(stored.register, stored.warp)
            write_at(
                m, table, written, stored.compressed & ~(self.inserts & (written == moved)), stored.valid
            )
        write_at(m, table, moved, 0, self.inserts)
        m.d.comb += [
            self.inserts.eq(self.issues & uop.part & ~uop.fresh & uop.collects & packed.any()),
            register.eq(uop.destination + first.index),
            goes.eq(uop),
        ]
        with m.If(self.inserts):
            m.d.comb += [
                goes.eq(0),
                goes.seq.eq(uop.seq | MOVE),
                goes.pc.eq(uop.pc),
                goes.unit.eq(Unit.ALU),
                goes.sources[0].eq(register),
                goes.source_valid.eq(1),
                goes.destination.eq(register),
                goes.count.eq(1),
                goes.mask.eq(self._config.lane_mask),
                goes.collects.eq(1),
                goes.write_back.eq(TO_COLLECTOR | TO_BANKS),
            ]
        if self._probe:
            emit(m, self.events.move[0], self.inserts, warp=self.warp, seq=goes.seq, register=register)
        return m

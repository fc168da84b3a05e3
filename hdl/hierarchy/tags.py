"""The tags of one row of a register file cache."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.front_end.age_matrix import age_matrix, oldest_of
from warpbank.hdl.layouts import REGISTER_WIDTH, UNITS
from warpbank.hdl.round_robin import pick
from warpbank.hdl.typed import Record


class TagRow(wiring.Component):
    """Tag row: the registers that a warp has in the cache, one per entry, found by comparing all of them.

    Parameters
    ----------
    config : the machine: size of the cache, which entry leaves.

    Members
    -------
    look : In(1). The uop whose sources are looked for is the row's.
    sources : In, registers. They.
    source_valid, last : In(slots). Which of them there are, and which are read for the last time.
    hits : Out, entries per slot. Where each is, one-hot; 0: nowhere.
    matched : Out(entries). All of them, if `look`.
    offered : In, registers. What the units offer.
    found : Out, entries per unit. Where each is.
    unused : Out(entries). The lowest free entry, one-hot. From registers.
    valid : Out(entries). Entries that hold a register. From registers.
    locked : In(entries). Entries that are still to be read.
    ripe : Out(entries). The entry that has to leave next, one-hot; 0: none can.
    leaver : Out. What is in it.
    live : Out(1). Somebody may still read it.
    drop : In(1). It leaves in this cycle.
    entered : In(entries). Entries that results are written into, `registers` of them.
    registers : In.
    clear : In(1). Nothing is in the row any more.
    """

    look: Signal
    sources: Record
    source_valid: Signal
    last: Signal
    hits: Record
    matched: Signal
    offered: Record
    found: Record
    unused: Signal
    valid: Signal
    locked: Signal
    ripe: Signal
    leaver: Signal
    live: Signal
    drop: Signal
    entered: Signal
    registers: Record
    clear: Signal

    def __init__(self, config: SmConfig) -> None:
        self._entries = config.sub_core.cache.registers
        self._renews = config.sub_core.cache.replacement == "lru"
        entries = self._entries
        super().__init__(
            {
                "look": In(1),
                "sources": In(data.ArrayLayout(REGISTER_WIDTH, MAX_SOURCES)),
                "source_valid": In(MAX_SOURCES),
                "last": In(MAX_SOURCES),
                "hits": Out(data.ArrayLayout(entries, MAX_SOURCES)),
                "matched": Out(entries),
                "offered": In(data.ArrayLayout(REGISTER_WIDTH, UNITS)),
                "found": Out(data.ArrayLayout(entries, UNITS)),
                "unused": Out(entries),
                "valid": Out(entries),
                "locked": In(entries),
                "ripe": Out(entries),
                "leaver": Out(REGISTER_WIDTH),
                "live": Out(1),
                "drop": In(1),
                "entered": In(entries),
                "registers": In(data.ArrayLayout(REGISTER_WIDTH, entries)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        entries = self._entries
        tags = [Signal(REGISTER_WIDTH, name=f"tag_{entry}", reset_less=True) for entry in range(entries)]
        valid, live = Signal(entries, name="valid_entries"), Signal(entries, name="live_entries")
        self._live = live
        m.d.comb += [self.valid.eq(valid), self.unused.eq(~valid & (valid + 1))]

        def holders(register: Value) -> Value:
            return Cat(valid[entry] & (tag == register) for entry, tag in enumerate(tags))

        read, last = Signal(entries, name="read_entries"), Signal(entries, name="last_entries")
        seen: Value = self.hits[0]
        dying: Value = Mux(self.last[0], self.hits[0], 0)
        for slot in range(MAX_SOURCES):
            m.d.comb += self.hits[slot].eq(Mux(self.source_valid[slot], holders(self.sources[slot]), 0))
            if slot:
                seen, dying = seen | self.hits[slot], dying | Mux(self.last[slot], self.hits[slot], 0)
        m.d.comb += [
            read.eq(Mux(self.look, seen, 0)),
            last.eq(Mux(self.look, dying, 0)),
            self.matched.eq(read),
        ]
        m.d.comb += [self.found[unit].eq(holders(self.offered[unit])) for unit in range(UNITS)]

        used = Signal(entries, name="used_entries")
        m.d.comb += used.eq(read | self.entered if self._renews else self.entered & ~valid)
        self._older = age_matrix(m, used)
        movable = Signal(entries, name="movable")
        m.d.comb += [
            movable.eq(valid & ~self.locked & ~read),
            self.ripe.eq(oldest_of(movable, self._older)),
            self.live.eq((live & self.ripe).any()),
        ]
        m.d.comb += self.leaver.eq(pick(self.ripe, tags))
        gone = Signal(entries, name="gone")
        m.d.comb += gone.eq(Mux(self.clear, -1, Mux(self.drop, self.ripe, 0)))
        m.d.sync += [valid.eq((valid | self.entered) & ~gone), live.eq((live & ~last | self.entered) & ~gone)]
        for entry, tag in enumerate(tags):
            with m.If(self.entered[entry]):
                m.d.sync += tag.eq(self.registers[entry])
        return m

"""SW-RFC: a register file cache without tags, whose content the compiler decides (the comparator SHRF of
LTRF)."""

from __future__ import annotations

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value

from warpbank.arch.parameters import bits
from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES, TO_BANKS
from warpbank.hdl.hierarchy.result_cache import Offer, Operands, ResultCache


class SwRfc(ResultCache):
    """Every source says whether it is in the cache, every result whether it goes there, or to the banks, or
    both. LTRF, section 6.6 and its reference 20.

    See `warpbank.golden.hierarchy.sw_rfc.SwRfc`. Parameters and members: those of
    `warpbank.hdl.hierarchy.result_cache.ResultCache`.

    Latency: an operand requested in t is granted in t + 1 at the earliest, and delivered in the cycle after
    its grant.
    """

    def _candidates(self, m: Module, others: Value) -> Value:
        """Mask of the warps that may get a free row: while physical registers are kept for one CTA, all if
        more rows are free than warps of that CTA have none, else these warps."""
        if not self._config.takes_flags:
            return others
        keeps, served = Signal(name="keeps_rows"), Signal(len(others), name="served_without_row")
        with m.If(self.launch):
            m.d.sync += keeps.eq(self.start.kept != 0)
        m.d.comb += served.eq(others & self.start.served)
        short = keeps & (sum(~self._held) <= sum(served))
        return Mux(short, served, others)

    def _operands(self, m: Module) -> Operands:
        read, near = self.read.payload, self.read.payload.near
        row = self._row_of(m, read.warp, "reader")
        entries = [self._entry(source) for source in read.sources]
        asked = [
            Mux(self.read.valid & read.source_valid[slot] & near[slot], 1 << entry, 0)
            for slot, entry in enumerate(entries)
        ]
        mask = Signal(self._entries, name="asked_entries")
        value: Value = asked[0]
        for one in asked[1:]:
            value = value | one
        m.d.comb += mask.eq(value)
        m.d.comb += [comes.eq(Mux(row[number], mask, 0)) for number, comes in enumerate(self._comes)]
        return Operands(self.read.valid, read, self._number(m, row, "row_read"), near, entries)

    def _entry(self, register: Value) -> Value:
        """The bank of the cache that a register may be in."""
        return register[: bits(self._entries)]

    def _offers(self, m: Module) -> list[Offer]:
        both = self._both(m)
        m.d.comb += self._empty.eq(self._quiet_rows)
        found = []
        for unit, result in enumerate(self.result):
            payload = result.payload
            row = self._row_of(m, payload.warp, f"unit_{unit}")
            offset, entry = self._number(m, row, f"offset_{unit}"), self._entry(payload.register)
            kept, locked = Signal(name=f"kept_{unit}"), Signal(name=f"locked_{unit}")
            m.d.comb += [
                kept.eq(payload.near & row.any()),
                locked.eq(Array(self._locks)[offset].bit_select(entry, 1)),
            ]
            too = Array(both)[offset].bit_select(entry, 1)
            found.append(
                Offer(result.valid & kept & ~locked, entry, offset, result.valid & (~kept | too & ~locked))
            )
        return found

    def _both(self, m: Module) -> list[Signal]:
        """Masks of the entries whose result goes to the banks, too, by row: noted at issue."""
        uop = self.issue.payload.uop
        row = self._row_of(m, self.issue.payload.warp, "issuer")
        written = Signal(self._entries, name="expected_entries")
        value: Value = Const(0, self._entries)
        for place in range(MAX_DESTINATIONS):
            value = value | Mux(uop.count > place, 1 << self._entry((uop.destination + place)[:8]), 0)
        m.d.comb += written.eq(value)
        both = [Signal(self._entries, name=f"both_{number}") for number in range(self._rows)]
        for number, mask in enumerate(both):
            with m.If(self.issue.valid & row[number] & uop.near[MAX_SOURCES]):
                m.d.sync += mask.eq(Mux(uop.write_back & TO_BANKS, mask | written, mask & ~written))
        return both

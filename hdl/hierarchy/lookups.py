"""Look-ups of operands in the warps' address tables (LTRF, section 4.1): which are looked up in a cycle."""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.headed_fifo import HeadedFifo
from warpbank.hdl.interfaces import AlwaysInterface, read_stream
from warpbank.hdl.layouts import REGISTER_WIDTH, read_layout, tag_fields
from warpbank.hdl.round_robin import lowest, pick
from warpbank.hdl.typed import Interface, Record, record

#: Registers of a warp whose place in the cache is looked up in a cycle.
LOOKUPS = 2


class LookUp(wiring.Signature):
    """Operands of one uop that are looked up in a cycle (seen from who chooses them).

    Members
    -------
    valid : Out(1). There are some.
    collector : Out. For whom.
    tag : Out, if `tags` > 1. For which of the collector's uops.
    warp : Out. Whose registers.
    slots : Out, per look-up. The source slot that it is for, one-hot; 0: none.
    registers : Out, per look-up.
    """

    def __init__(self, config: SmConfig, tags: int) -> None:
        core = config.sub_core
        super().__init__(
            {
                **{name: Out(width) for name, width in tag_fields(tags).items()},
                "valid": Out(1),
                "collector": Out(core.collector_width),
                "warp": Out(core.warp_width),
                "slots": Out(data.ArrayLayout(MAX_SOURCES, LOOKUPS)),
                "registers": Out(data.ArrayLayout(REGISTER_WIDTH, LOOKUPS)),
            }
        )


class LookUpInterface(Interface, Protocol):
    """Interface object of the signature `LookUp`."""

    tag: Signal
    valid: Signal
    collector: Signal
    warp: Signal
    slots: Record
    registers: Record


class OperandLookups(wiring.Component):
    """Queue of the operands whose places in the cache are not known yet. LTRF, section 4.1.

    A warp's table has two read ports. Two operands of the newest uop are looked up in a cycle, and two of the
    oldest one that has more, if that is of another warp.

    Parameters
    ----------
    config : the machine.
    tags : uops that one collector may have in collection.
    uops : that the collectors may have in collection, at most; so many may wait with more operands.
    whole : a uop asks for all its sources, which are its first slots. Then which are looked up next is known
        without a choice.

    Members
    -------
    read : In(read_stream). Operands are requested (operand read interface).
    newest, late : Out(LookUp). Those of the newest uop, and of the oldest one that has more; from registers,
        but for the choice between warps in `late.valid`.

    Latency: an operand that is asked for in t is looked up in t + 1 as the first or second of its uop.
    """

    read: AlwaysInterface
    newest: LookUpInterface
    late: LookUpInterface

    def __init__(self, config: SmConfig, tags: int, uops: int, whole: bool = False) -> None:
        self._uops, self._layout, self._whole = uops, read_layout(config, tags), whole
        look_up = LookUp(config, tags)
        super().__init__(
            {"read": In(read_stream(config, tags)), "newest": Out(look_up), "late": Out(look_up)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        newest = record(self._layout, name="newest_uop")
        there, head, done = (
            Signal(name="newest_valid"),
            record(self._layout, name="oldest"),
            Signal(MAX_SOURCES),
        )
        more = m.submodules.more = HeadedFifo(self._layout.size, max(2, self._uops))
        left, goes = Signal(MAX_SOURCES, name="left_sources"), Signal(name="oldest_goes")
        others = record(self._layout, name="newest_others")
        m.d.sync += [
            newest.eq(self.read.payload),
            there.eq(self.read.valid & self.read.payload.source_valid.any()),
        ]
        m.d.comb += [
            head.as_value().eq(more.r_data),
            left.eq(head.source_valid & ~done),
            goes.eq(more.r_rdy & ~(there & self._shared(newest, head))),
        ]
        # Slots that may be the next ones of a uop that asks for all its sources.
        firsts, later = range(LOOKUPS), range(LOOKUPS, MAX_SOURCES)
        behind = self._look_up(m, self.newest, newest, newest.source_valid, there, firsts)
        rest = self._look_up(m, self.late, head, left, goes, later)
        m.d.comb += [
            others.eq(newest),
            others.source_valid.eq(behind),
            more.w_data.eq(others.as_value()),
            more.w_may.eq(there),
            more.w_en.eq(there & behind.any()),
            more.r_en.eq(goes & (rest == 0)),
        ]
        with m.If(goes):
            m.d.sync += done.eq(Mux(rest == 0, 0, done | (left & ~rest)))
        return m

    def _shared(self, newest: Record, oldest: Record) -> Value:
        """Test of two uops for one warp, whose table's ports the newest has."""
        return newest.warp == oldest.warp

    def _look_up(
        self, m: Module, found: LookUpInterface, uop: Record, sources: Value, goes: Value, next_ones: range
    ) -> Value:
        """Choose the first operands among `sources` of a uop; whether it `goes` does not hold up the choice.
        Returns the others.

        The `next_ones` of a uop that asks for all its sources come in the order of their slots, so many at a
        time as there are look-ups: each look-up has slots of its own, and none where there is no choice.
        """
        m.d.comb += [found.valid.eq(goes), found.collector.eq(uop.collector), found.warp.eq(uop.warp)]
        if "tag" in self._layout.members:
            m.d.comb += found.tag.eq(uop.tag)
        remaining = sources
        for number in range(LOOKUPS):
            first = Signal(MAX_SOURCES, name=f"first_{number}")
            own = (
                sum(1 << slot for slot in next_ones[number::LOOKUPS])
                if self._whole
                else (1 << MAX_SOURCES) - 1
            )
            m.d.comb += [
                first.eq(lowest(remaining & own)),
                found.slots[number].eq(first),
                found.registers[number].eq(pick(first, list(uop.sources))),
            ]
            remaining = remaining & ~first
        return remaining

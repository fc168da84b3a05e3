"""RTL of the last-value collector."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value

from warpbank.hdl.collector.ocu import Ocu
from warpbank.hdl.probe import emit


class LastValueRtl(Ocu):
    """Last-value collector in RTL: one operand collector per warp, whose source slots keep what was last read
    into them.

    The values stay in the slots' memories, where they are; all that is added is the register that each slot
    has, and whether. Ports and latency are those of an `Ocu`.
    """

    def _reported(self) -> dict[str, int]:
        """The events of an `Ocu`, and hits."""
        return {**super()._reported(), "forward": 1}

    def _to_read(self, m: Module) -> Value:
        """Sources of the uop that issues that its collector's slots do not have."""
        core, uop, warp = self._config.sub_core, self.issue.payload.uop, self.issue.payload.warp
        slots = range(core.collector.slots)
        kept = [Signal(len(slots), name=f"kept_{number}") for number in range(core.warps)]
        registers = [
            [Signal(8, name=f"register_{number}_{slot}") for slot in slots] for number in range(core.warps)
        ]
        self._last_hits = [Signal(len(slots), name=f"hits_{number}") for number in range(core.warps)]

        same = Cat(Array(row[slot] for row in registers)[warp] == uop.sources[slot] for slot in slots)
        hits = Signal(len(slots))
        m.d.comb += hits.eq(uop.source_valid & Array(kept)[warp] & same)
        for number in range(core.warps):
            with m.If(self.issue.valid & (warp == number)):
                m.d.sync += self._last_hits[number].eq(hits)
                for slot in slots:
                    register = Mux(uop.source_valid[slot], uop.sources[slot], registers[number][slot])
                    m.d.sync += registers[number][slot].eq(register)
                    stays = (uop.source_valid[slot] | kept[number][slot]) & ~self._forgets(register)
                    m.d.sync += kept[number][slot].eq(stays)
            with m.If(self.start[number]):
                m.d.sync += kept[number].eq(0)
        if self._probe:
            emit(
                m,
                self.events.forward[0],
                self.issue.valid & hits.any(),
                collector=warp,
                warp=warp,
                seq=uop.seq,
                slots=hits,
                count=sum(hit for hit in hits),
            )
        return uop.source_valid & ~hits

    def _forgets(self, register: Value) -> Value:
        """The uop that issues writes the register."""
        uop = self.issue.payload.uop
        return (register >= uop.destination) & (register - uop.destination < uop.count)

    def _collect(self, m: Module, number: int, allocated: Value) -> Value:
        """The slots of an `Ocu`; hits count as read when their uop is dispatched."""
        completed = super()._collect(m, number, allocated)
        delivery = self.deliver[number]
        goes = [port.valid & port.ready & (port.payload.collector == number) for port in self.dispatch]
        hits = Mux(reduce(or_, goes), self._last_hits[number], 0)
        m.d.comb += self.read_done[number].slots.eq(delivery.valid << delivery.slot | hits)
        return completed

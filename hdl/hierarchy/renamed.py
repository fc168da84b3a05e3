"""The flat hierarchy over renamed registers: operands have names before they are requested, and registers come and go."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from arch.rooms import SmConfig
from arch.uop import MAX_SOURCES

from ..collector.arbiter import Arbiter
from ..front_end.instruction_buffer import Hazards
from ..mapping.renaming import Renaming
from ..seams import UNITS, ReadDone, Written, issue_stream
from ..storage.poison import PoisonedBanks
from .flat import Flat


class RenamedFlat(Flat):
    """As `Flat`; a source that was never written is delivered as zeros.

    Parameters
    ----------
    config, storage, arbiter, probe : as in `Flat`.
    mapping : with a port per writer.
    entries : uops that can be in collection at a time, one per collector.

    Members (beyond those of `Flat`)
    -------
    launch, here, hazards, issue, slide, entry, done, finished, end : In. As `Renaming`'s; `finished` is its `written`.
    lacking : Out(warps). Warps that lack registers.
    """

    renames = True

    def __init__(self, config: SmConfig, mapping: Renaming, storage: wiring.Component, arbiter: Arbiter, entries: int,
                 probe: bool = False) -> None:
        self._entries = entries
        super().__init__(config, mapping, storage, arbiter, probe=probe)

    def _more_members(self) -> dict[str, Any]:
        config = self._config
        warps = config.sub_core.warps
        return {
            "launch": In(1), "here": In(warps), "hazards": In(Hazards()).array(warps), "issue": In(issue_stream(config)),
            "slide": In(1), "entry": In(range(max(2, self._entries))), "done": In(ReadDone(config)).array(self._entries),
            "finished": In(Written(config)).array(UNITS), "end": In(warps), "lacking": Out(warps),
        }

    def _reporters(self) -> list[wiring.Component]:
        return [self._arbiter, self._mapping]

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        names = self._mapping
        m.d.comb += [
            names.launch.eq(self.launch), names.here.eq(self.here), names.slide.eq(self.slide), names.entry.eq(self.entry),
            names.end.eq(self.end), self.lacking.eq(names.lacking), names.issue.valid.eq(self.issue.valid),
            names.issue.payload.eq(self.issue.payload),
        ]
        for outer, inner in zip([*self.hazards, *self.done, *self.finished], [*names.hazards, *names.done, *names.written],
                                strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        if isinstance(self._storage, PoisonedBanks):
            for freed, event in zip(self._storage.freed, names.events.unmap, strict=True):
                m.d.comb += [freed.valid.eq(event.valid), freed.bank.eq(event.bank), freed.row.eq(event.row)]
        return m

    def _request(self, m: Module) -> None:
        """Have a uop's operands named, and their requests sent to the arbiter then."""
        names = self._mapping
        wiring.connect(m, wiring.flipped(self.read), names.read)
        wiring.connect(m, names.request, self._arbiter.request)
        self._blank = [Signal(MAX_SOURCES, name=f"blank_{number}") for number in range(len(self.deliver))]
        for number, blank in enumerate(self._blank):
            with m.If(names.request.valid & (names.request.collector == number)):
                m.d.sync += blank.eq(names.blank)

    def _places(self) -> list[Any]:
        return list(self._mapping.locate)

    def _content(self, number: int, slot: Value, value: Value) -> Value:
        return Mux(Array(self._blank[number])[slot], 0, value)

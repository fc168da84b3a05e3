"""The flat hierarchy over renamed registers: operands have names before they are requested, and registers come and go."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from arch.uop import MAX_DESTINATIONS, MAX_SOURCES

from ..front_end.instruction_buffer import Hazards
from ..probe import emit
from ..seams import UNITS, ReadDone, Written, issue_stream
from ..storage.poison import Poisoned
from .flat import Flat


class RenamedFlat(Flat):
    """As `Flat`; a source that was never written is delivered as zeros, and a value that a collector evicts from a register which
    has been released is dropped.

    Parameters
    ----------
    config, storage, arbiter, tags, evicts, probe : as in `Flat`.
    mapping : with a port per writer.

    Members (beyond those of `Flat`)
    -------
    launch, here, hazards, issue, slide, entry, done, finished, end : In. As `Renaming`'s; `finished` is its `written`.
    lacking, missing : Out. As `Renaming`'s.
    """

    renames = True

    def _more_members(self) -> dict[str, Any]:
        config = self._config
        warps = config.sub_core.warps
        entries = len(self._mapping.done)
        return {
            **super()._more_members(),
            "launch": In(1), "here": In(warps), "hazards": In(Hazards()).array(warps), "issue": In(issue_stream(config)),
            "slide": In(1), "entry": In(range(max(2, entries))), "done": In(ReadDone(config)).array(entries),
            "finished": In(Written(config)).array(UNITS), "end": In(warps), "lacking": Out(warps),
            "missing": Out(MAX_DESTINATIONS).array(warps),
        }

    def _reporters(self) -> list[wiring.Component]:
        return [*super()._reporters(), self._mapping]

    def _own_events(self) -> dict[str, int]:
        return {**super()._own_events(), **({"dead_value": 1} if self._writers > UNITS else {})}

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        names = self._mapping
        m.d.comb += [
            names.launch.eq(self.launch), names.here.eq(self.here), names.slide.eq(self.slide), names.entry.eq(self.entry),
            names.end.eq(self.end), self.lacking.eq(names.lacking), names.issue.valid.eq(self.issue.valid),
            names.issue.payload.eq(self.issue.payload),
        ]
        m.d.comb += [outer.eq(inner) for outer, inner in zip(self.missing, names.missing, strict=True)]
        for outer, inner in zip([*self.hazards, *self.done, *self.finished], [*names.hazards, *names.done, *names.written],
                                strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        if isinstance(self._storage, Poisoned):
            for freed, event in zip(self._storage.freed, names.events.unmap, strict=True):
                m.d.comb += [freed.valid.eq(event.valid), freed.bank.eq(event.bank), freed.row.eq(event.row)]
        return m

    def _request(self, m: Module) -> None:
        """Have a uop's operands named, and their requests sent to the arbiter then."""
        names = self._mapping
        wiring.connect(m, wiring.flipped(self.read), names.read)
        wiring.connect(m, names.request, self._arbiter.request)
        request = names.request
        self._blank = [[Signal(MAX_SOURCES, name=f"blank_{number}_{tag}") for tag in range(self._tags)]
                       for number in range(len(self.deliver))]
        for number, blanks in enumerate(self._blank):
            for tag, blank in enumerate(blanks):
                mine = request.valid & (request.collector == number)
                with m.If(mine & (request.tag == tag) if self._tags > 1 else mine):
                    m.d.sync += blank.eq(names.blank)

    def _places(self) -> list[Any]:
        return list(self._mapping.locate)

    def _exists(self, writer: int) -> Value:
        return self._mapping.mapped[writer] if writer == UNITS else Const(1, 1)

    def _write(self, m: Module) -> None:
        super()._write(m)
        if self._probe and self._writers > UNITS:
            evicted = self.evicted
            emit(m, self.events.dead_value[0], evicted.valid & ~self._exists(UNITS), warp=evicted.payload.warp,
                 register=evicted.payload.register)

    def _is_blank(self, number: int, delivery: Any) -> Value:
        """Whether a delivery to collector `number` is of a source that was never written."""
        blanks = self._blank[number]
        blank = Array(blanks)[delivery.tag] if self._tags > 1 else blanks[0]
        return blank.bit_select(delivery.slot, 1)

    def _content(self, number: int, delivery: Any, value: Value) -> Value:
        return Mux(self._is_blank(number, delivery), 0, super()._content(number, delivery, value))

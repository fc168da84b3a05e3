"""The flat hierarchy over renamed registers: operands have names before they are requested, and registers
come and go."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring

from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.hierarchy.flat import Flat
from warpbank.hdl.hierarchy.renaming_hooks import RenamingHooks
from warpbank.hdl.interfaces import UNITS
from warpbank.hdl.probe import emit


class RenamedFlat(RenamingHooks, Flat):
    """Flat hierarchy over renamed registers: a source that was never written is delivered as zeros, and a
    value that a collector evicts from a register which has been released is dropped.

    Parameters
    ----------
    config, storage, arbiter, tags, evicts, probe : as in `Flat`.
    mapping : with a port per writer.

    Members (beyond those of `Flat`)
    -------
    launch, here, hazards, issue, slide, entry, done, finished, end : In. As `Renaming`'s; `finished` is its
        `written`.
    lacking, missing : Out. As `Renaming`'s.
    """

    def _more_members(self) -> dict[str, Any]:
        return {**super()._more_members(), **self._followed()}

    def _reporters(self) -> list[wiring.Component]:
        return [*super()._reporters(), self._mapping]

    def _own_events(self) -> dict[str, int]:
        return {**super()._own_events(), **({"dead_value": 1} if self._writers > UNITS else {})}

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        self._follow(m)
        return m

    def _request(self, m: Module) -> None:
        """Have a uop's operands named, and their requests sent to the arbiter then."""
        names = self._mapping
        wiring.connect(m, wiring.flipped(self.read), names.read)
        wiring.connect(m, names.request, self._arbiter.request)
        request = names.request
        self._blank = [
            [Signal(MAX_SOURCES, name=f"blank_{number}_{tag}") for tag in range(self._tags)]
            for number in range(len(self.deliver))
        ]
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
            emit(
                m,
                self.events.dead_value[0],
                evicted.valid & ~self._exists(UNITS),
                warp=evicted.payload.warp,
                register=evicted.payload.register,
            )

    def _is_blank(self, number: int, delivery: Any) -> Value:
        """Whether a delivery to collector `number` is of a source that was never written."""
        blanks = self._blank[number]
        blank = Array(blanks)[delivery.tag] if self._tags > 1 else blanks[0]
        return blank.bit_select(delivery.slot, 1)

    def _content(self, number: int, delivery: Any, value: Value) -> Value:
        return Mux(self._is_blank(number, delivery), 0, super()._content(number, delivery, value))

"""Renaming hooks: the members that hierarchies over renamed registers share."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_DESTINATIONS
from warpbank.hdl.front_end.instruction_buffer import Hazards
from warpbank.hdl.interfaces import UNITS, ReadDone, Written, issue_stream
from warpbank.hdl.main.poison import Poisoned


class RenamingHooks:
    """Hierarchies that tell their mapping what the front end, the collectors and the units do.

    Members
    -------
    launch, here, hazards, issue, slide, entry, done, finished, end : In. As `Renaming`'s; `finished` is its
        `written`.
    lacking, missing : Out. As `Renaming`'s.
    """

    renames = True
    _config: SmConfig
    _mapping: Any
    _storage: wiring.Component

    def _followed(self) -> dict[str, Any]:
        """The members."""
        config = self._config
        warps, entries = config.sub_core.warps, len(self._mapping.done)
        return {
            "launch": In(1),
            "here": In(warps),
            "hazards": In(Hazards()).array(warps),
            "issue": In(issue_stream(config)),
            "slide": In(1),
            "entry": In(range(max(2, entries))),
            "done": In(ReadDone(config)).array(entries),
            "finished": In(Written(config)).array(UNITS),
            "end": In(warps),
            "lacking": Out(warps),
            "missing": Out(MAX_DESTINATIONS).array(warps),
        }

    def _follow(self, m: Module) -> None:
        """Connect them, and poison what is released, if the storage does that."""
        unit: Any = self
        names = self._mapping
        m.d.comb += [
            names.launch.eq(unit.launch),
            names.here.eq(unit.here),
            names.slide.eq(unit.slide),
            names.entry.eq(unit.entry),
            names.end.eq(unit.end),
            unit.lacking.eq(names.lacking),
            names.issue.valid.eq(unit.issue.valid),
            names.issue.payload.eq(unit.issue.payload),
        ]
        m.d.comb += [outer.eq(inner) for outer, inner in zip(unit.missing, names.missing, strict=True)]
        for outer, inner in zip(
            [*unit.hazards, *unit.done, *unit.finished],
            [*names.hazards, *names.done, *names.written],
            strict=True,
        ):
            wiring.connect(m, wiring.flipped(outer), inner)
        if isinstance(self._storage, Poisoned):
            for freed, event in zip(self._storage.freed, names.events.unmap, strict=True):
                m.d.comb += [freed.valid.eq(event.valid), freed.bank.eq(event.bank), freed.row.eq(event.row)]

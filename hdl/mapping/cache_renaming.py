"""Renaming below a register file cache: names are looked up for the registers that are moved, not for
operands."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.interfaces import REGISTER_WIDTH
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.mapping.renaming import Renaming
from warpbank.hdl.probe import emit


class Moving(wiring.Signature):
    """A register is on its way between cache and main register file (seen from its mover)."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"valid": Out(1), "warp": Out(config.sub_core.warp_width), "register": Out(REGISTER_WIDTH)}
        )


class CacheRelease(Release):
    """Release unit below a register cache: a register on its way between cache and banks is not released.

    Parameters
    ----------
    config, entries : as in `Release`.

    Members (beyond those of `Release`)
    -------
    moving : In(Moving) per bank of the main register file.
    dying : Out(256) per warp. Registers that are about to be released; from registers.
    """

    def _more_members(self) -> dict[str, Any]:
        core = self._config.sub_core
        return {
            "moving": In(Moving(self._config)).array(core.banks),
            "dying": Out(self.registers).array(core.warps),
        }

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += [outer.eq(inner) for outer, inner in zip(self.dying, self._dying, strict=True)]
        return m

    def _movers(self, warp: Value) -> list[tuple[Value, Value]]:
        return [(moving.valid & (moving.warp == warp), moving.register) for moving in self.moving]


class CacheRenaming(Renaming):
    """Renaming below a register file cache, where operands are read.

    Operands have no names: they are in the cache. A register is looked up when it is moved, one per cycle. A
    source counts as never written if it has no physical register when its uop issues.

    Parameters
    ----------
    config, entries, tags, probe : as in `Renaming`.
    writers : as there, and one for the register that is moved: the last of `locate`.

    Members (those of `Renaming` without `read`, `request`, `blank`, and)
    -------
    moving : In(Moving) per bank of the main register file. A register on its way is not released.
    content : Out(1). The last register of `locate` has a physical one whose content is wanted.
    moves : In(1). That register sets off.
    """

    operands = 0
    release_class: type[CacheRelease] = CacheRelease

    def _more_members(self, entries: int) -> dict[str, Any]:
        return {
            "moving": In(Moving(self._config)).array(self._config.sub_core.banks),
            "content": Out(1),
            "moves": In(1),
        }

    def _look_up(self, m: Module) -> None:
        """The register that is moved; what is wanted is not dying."""
        for outer, inner in zip(self.moving, self.release.moving, strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        place = self.locate[-1]
        dying = Array(self.release.dying)[place.warp].bit_select(place.register, 1)
        m.d.comb += self.content.eq(self.mapped[-1] & ~dying)
        if self._probe:
            exempt = self.exempt.find[-1].exempt
            emit(m, self.events.lookup[0], self.moves & ~exempt, count=1)
            uop, has = self.issue.payload.uop, Array(self._has)[self.issue.payload.warp]
            blank = Signal(MAX_SOURCES, name="blank")
            m.d.comb += blank.eq(
                Cat(
                    uop.source_valid[slot] & ~has.bit_select(uop.sources[slot], 1)
                    for slot in range(MAX_SOURCES)
                )
            )
            emit(m, self.events.unwritten[0], self.issue.valid & blank.any(), count=sum(blank))

"""The register file cache of LTRF over renamed registers: only what has a physical register is moved."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring

from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.hierarchy.mover import Mover
from warpbank.hdl.hierarchy.renaming_hooks import RenamingHooks
from warpbank.hdl.interfaces import UNITS
from warpbank.hdl.probe import emit


class RenamedLtrf(RenamingHooks, Ltrf):
    """LTRF's register cache over renamed registers: a register is moved to and from its physical register, by
    a name that is looked up when its turn comes.

    A register that has no physical one, or whose last read has issued, has nothing to be moved: it leaves the
    cache without that, and when it comes zeros are written into its place, in the cycle in which it is given
    it, if its bank of the cache is free then. It keeps its place in the cache when its physical register is
    released, since its interval may write it again. A register is not released while it is moved, so that
    what leaves the cache goes into no register of somebody else.

    Parameters
    ----------
    config, storage, entries, tags, evicts, probe : as in `Ltrf`.
    mapping : a `CacheRenaming` with a port per writer and one for the register that is moved.

    Members (beyond those of `Ltrf`): those of `RenamingHooks`.
    """

    def _more_members(self) -> dict[str, Any]:
        return {**super()._more_members(), **self._followed()}

    def _reporters(self) -> list[wiring.Component]:
        return [*super()._reporters(), self._mapping]

    def _own_events(self) -> dict[str, int]:
        return {**super()._own_events(), "cache_zero": 1, **({"dead_value": 1} if self._evicts else {})}

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        self._follow(m)
        names = self._mapping
        for mover, moving in zip(self._movers, names.moving, strict=True):
            m.d.comb += [
                moving.valid.eq(~mover.idle),
                moving.warp.eq(mover.move.warp),
                moving.register.eq(mover.move.register),
            ]
        m.d.comb += names.moves.eq(self._blocks.goes & self._carried)
        return m

    def _build(self, mover: Mover) -> Elaboratable:
        """A launch forgets what is still on its way, of warps that have ended: its physical registers are
        free."""
        return ResetInserter(self.launch)(mover)

    def _has_home(self) -> Value:
        return super()._has_home() & self._mapping.content

    def _needs_cache(self) -> Value:
        return self._blocks.leaves == self._carried

    def _taken(self) -> Value:
        return super()._taken() | self._cleared

    def _find_results(self, m: Module) -> None:
        super()._find_results(m)
        if self._evicts:
            exists, evicted = self._mapping.mapped[UNITS], self.evicted
            self._to_cache[UNITS] &= exists
            self._to_main[UNITS] &= exists
            self._gone = evicted.valid & ~exists
            if self._probe:
                emit(
                    m,
                    self.events.dead_value[0],
                    self._gone,
                    warp=evicted.payload.warp,
                    register=evicted.payload.register,
                )

    def _write_cache(self, m: Module) -> None:
        """Zeros go into the place of a register that comes without being moved."""
        super()._write_cache(m)
        blocks = self._blocks
        self._cleared = Signal(self._entries, name="cleared")
        m.d.comb += self._cleared.eq(Mux(blocks.goes & ~blocks.leaves & ~self._carried, 1 << blocks.entry, 0))
        for number, port in enumerate(self._cache_ports):
            with m.If(self._cleared[number]):
                m.d.comb += [port.addr.eq(blocks.offset), port.data.eq(0), port.en.eq(-1)]
        if self._probe:
            emit(
                m,
                self.events.cache_zero[0],
                self._cleared.any(),
                entry=blocks.entry,
                offset=blocks.offset,
                warp=blocks.warp,
                register=blocks.moved,
            )

    def _main(self, m: Module) -> None:
        super()._main(m)
        if self._evicts:
            with m.If(self._gone):
                m.d.comb += self.evicted.ready.eq(1)


class RenamedLtrfPlus(RenamedLtrf):
    """LTRF+ over renamed registers: dead registers are not moved. LTRF, section 3.2."""

    liveness = True

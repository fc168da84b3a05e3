"""Greedy then oldest."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from arch.rooms import bits

from ..priority import encode
from .lrr import check_warps


class Gto(wiring.Component):
    """The warp that issued last as long as it is eligible, then the oldest eligible one.

    Age is an age matrix: row w has a bit for every warp older than w. A warp that starts becomes the youngest; of several that
    start in one cycle the lower slot is the older.

    Parameters
    ----------
    warps : warp slots.

    Members
    -------
    start : In(warps). Slots that receive a warp, the youngest from the next cycle on.
    eligible : In(warps). Warps that may issue in this cycle.
    pick : Out(bits(warps)). The warp that does, if `eligible` is not 0. Combinational; the state follows at the clock edge.

    Raises
    ------
    TypeError : `warps` is no positive number.
    """

    def __init__(self, warps: int) -> None:
        check_warps("Gto", warps)
        self._warps = warps
        super().__init__({"start": In(warps), "eligible": In(warps), "pick": Out(bits(warps))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self._warps
        older = [Signal(warps, init=(1 << warp) - 1, name=f"older_{warp}") for warp in range(warps)]
        last = Signal(warps, init=1)

        oldest = Signal(warps)
        m.d.comb += oldest.eq(Cat(bit & ~(row & self.eligible).any() for bit, row in zip(self.eligible, older, strict=True)))
        picked = Signal(warps)
        m.d.comb += picked.eq(Mux((self.eligible & last).any(), last, oldest))
        m.d.comb += self.pick.eq(encode(picked))
        with m.If(self.eligible.any()):
            m.d.sync += last.eq(picked)

        with m.If(self.start.any()):
            for warp, row in enumerate(older):
                before = (1 << warp) - 1
                with m.If(self.start[warp]):
                    m.d.sync += row.eq(~self.start & ((1 << warps) - 1) | self.start & before)
                with m.Else():
                    m.d.sync += row.eq(row & ~self.start)
        return m

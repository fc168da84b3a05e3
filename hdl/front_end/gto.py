"""Greedy-then-oldest warp scheduler."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.front_end.age_matrix import age_matrix, oldest_of
from warpbank.hdl.front_end.lrr import check_warps
from warpbank.hdl.front_end.ports import SchedulerPorts
from warpbank.hdl.round_robin import encode


class Gto(wiring.Component):
    """Greedy-then-oldest warp scheduler.

    It picks the warp that issued last as long as that one is eligible, then the oldest eligible one.

    A warp that starts becomes the youngest; of several that start in one cycle the lower slot is the older.
    Which slot issued last is remembered beyond its warp: one that starts there goes first nevertheless.

    Parameters
    ----------
    warps : warp slots.

    Members
    -------
    those of `warpbank.hdl.front_end.ports.SchedulerPorts`.

    Raises
    ------
    TypeError : `warps` is no positive number.
    """

    start: Signal
    eligible: Signal
    pick: Signal

    def __init__(self, warps: int) -> None:
        check_warps("Gto", warps)
        self._warps = warps
        super().__init__(dict(SchedulerPorts(warps).members))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self._warps
        last = Signal(warps, init=1)

        oldest = Signal(warps)
        m.d.comb += oldest.eq(oldest_of(self.eligible, age_matrix(m, self.start)))
        picked = Signal(warps)
        m.d.comb += picked.eq(Mux((self.eligible & last).any(), last, oldest))
        m.d.comb += self.pick.eq(encode(picked))
        with m.If(self.eligible.any()):
            m.d.sync += last.eq(picked)
        return m


def gto(config: SmConfig, probe: bool) -> Gto:
    """Greedy-then-oldest scheduler of a sub-core, which reports nothing."""
    return Gto(config.sub_core.warps)

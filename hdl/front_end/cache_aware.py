"""Cache-aware warp scheduler: greedy, then the warps that have cached values, then the oldest."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.front_end.age_matrix import age_matrix, oldest_of
from warpbank.hdl.front_end.lrr import check_warps
from warpbank.hdl.front_end.ports import SchedulerPorts
from warpbank.hdl.round_robin import encode


class CacheAware(wiring.Component):
    """Warp scheduler that prefers warps whose values stand in a collector. Malekeh, section IV-B1.

    It picks the warp that issued last as long as that one is eligible, then the oldest of those that have
    values in a collector, then the oldest. Age and the last to issue are as with `Gto`.

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
    holds: Signal
    pick: Signal

    def __init__(self, warps: int) -> None:
        check_warps("CacheAware", warps)
        self._warps = warps
        super().__init__(dict(SchedulerPorts(warps).members))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        last, picked = Signal(self._warps, init=1), Signal(self._warps)
        older = age_matrix(m, self.start)
        # Who is eligible is known last: the oldest of all is found beside the oldest of those with values.
        cached, first, oldest = (Signal(self._warps, name=name) for name in ("cached", "first", "oldest"))
        m.d.comb += [
            cached.eq(self.eligible & self.holds),
            first.eq(oldest_of(cached, older)),
            oldest.eq(oldest_of(self.eligible, older)),
            picked.eq(Mux((self.eligible & last).any(), last, Mux(cached.any(), first, oldest))),
            self.pick.eq(encode(picked)),
        ]
        with m.If(self.eligible.any()):
            m.d.sync += last.eq(picked)
        return m


def cache_aware(config: SmConfig, probe: bool) -> CacheAware:
    """Cache-aware scheduler of a sub-core, which reports nothing."""
    return CacheAware(config.sub_core.warps)

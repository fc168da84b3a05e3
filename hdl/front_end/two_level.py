"""Two-level warp scheduler: few active warps issue, and one that waits for memory makes room for another."""

from __future__ import annotations

from functools import reduce
from operator import add

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.front_end.age_matrix import age_matrix, oldest_of
from warpbank.hdl.front_end.lrr import Lrr
from warpbank.hdl.front_end.ports import SchedulerPorts
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.round_robin import encode

#: Warps that are counted together; and with issue stages, where it is late in a cycle that a warp is known to
#: be away.
GROUP, LATE_GROUP = 8, 4


class TwoLevel(wiring.Component):
    """Two-level warp scheduler, whose active warps issue by loose round robin. LTRF, section 3.2; Malekeh,
    section II.

    Warps are active or pending, and only active ones may issue.

    At the clock edge every active warp that is away becomes pending, and one pending warp that is not away,
    the oldest, becomes active if there was room before the edge. A warp that starts is pending. Age is the
    order in which warps were started.

    With `replacement` `on_demand` an active warp that is away stays active until a pending warp that is not
    away finds no room: then one of them, the oldest, becomes pending. One that is over does so at once.

    Parameters
    ----------
    config : the machine.
    probe : generate `events` (activate, deactivate, ready_pending).

    Members
    -------
    those of `warpbank.hdl.front_end.ports.SchedulerPorts`.

    Raises
    ------
    TypeError : no SmConfig.
    """

    start: Signal
    away: Signal
    over: Signal
    may_activate: Signal
    ready: Signal
    eligible: Signal
    pick: Signal
    active: Signal
    activated: Signal
    deactivated: Signal
    events: EventsInterface

    def __init__(self, config: SmConfig, probe: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"TwoLevel needs an SmConfig, not {config!r}.")
        self._config = config
        self._probe = probe
        core = config.sub_core
        warps = core.warps
        members = dict(SchedulerPorts(warps, sets=True).members)
        if probe:
            members["events"] = Out(Events(config, {"activate": 1, "deactivate": warps, "ready_pending": 1}))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self._config.sub_core.warps
        m.submodules.inner = inner = Lrr(warps)
        m.d.comb += [inner.start.eq(self.start), inner.eligible.eq(self.eligible), self.pick.eq(inner.pick)]

        active, staying = Signal(warps), Signal(warps)
        room, candidates = Signal(), Signal(warps)
        older = age_matrix(m, self.start)
        m.d.comb += [
            self.active.eq(active),
            staying.eq(active & ~self.deactivated),
            room.eq(self._count(m, staying, room & candidates.any()) < self._config.sub_core.active_warps),
            candidates.eq(self.may_activate & ~self.away & ~active),
            self.activated.eq(oldest_of(candidates, older) & room.replicate(warps)),
            self.deactivated.eq(self._leaving(active, room, older)),
        ]
        m.d.sync += active.eq(staying | self.activated)
        if self._probe:
            self._events(m, active)
        return m

    def _leaving(self, active: Signal, room: Signal, older: list[Signal]) -> Value:
        """Active warps that become pending."""
        idle = active & self.away
        if self._config.sub_core.replacement == "strict":
            return idle
        needed = ~room & (~self.away & ~active).any()
        return idle & (self.over | Mux(needed, oldest_of(idle, older), 0))

    def _count(self, m: Module, staying: Value, came: Value) -> Value:
        """Number of active warps, counted by groups in the cycle before: a count of all would take most of a
        cycle."""
        late = Signal()
        m.d.sync += late.eq(came)
        groups, size = [], LATE_GROUP if self._config.sub_core.front_end.issue_stages else GROUP
        for first in range(0, len(staying), size):
            group = staying[first : first + size]
            count = Signal(range(len(group) + 1), name=f"staying_{first}")
            m.d.sync += count.eq(population(group))
            groups.append(count)
        return reduce(add, groups, late)

    def _events(self, m: Module, active: Signal) -> None:
        emit(m, self.events.activate[0], self.activated.any(), warp=encode(self.activated))
        for warp, event in enumerate(self.events.deactivate):
            emit(m, event, self.deactivated[warp], warp=warp)
        waiting = Signal.like(active)
        m.d.comb += waiting.eq(self.ready & ~active)
        emit(m, self.events.ready_pending[0], waiting.any() & ~self.eligible.any(), warps=population(waiting))


def population(mask: Value) -> Value:
    """Number of bits that are set."""
    return reduce(add, list(mask))

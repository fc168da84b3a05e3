"""The adaptive waiting time of the caching collectors: a machine that walks to the knee of the IPC curve."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from arch.rooms import SmConfig, bits

from ..probe import Events, emit

#: State -> (after a small change: step, next state), (after a large one). Malekeh, Figure 8, which the paper's text has lost: our
#: reconstruction from section IV-B3. 1 start, 2 climb, 3 speculate, 4 retreat, 5 confirm, 6 hold.
TRANSITIONS: dict[int, tuple[tuple[int, int], tuple[int, int]]] = {
    1: ((1, 2), (1, 2)),
    2: ((1, 2), (1, 3)),
    3: ((1, 2), (-2, 4)),
    4: ((0, 5), (-1, 4)),
    5: ((0, 6), (-1, 4)),
    6: ((0, 6), (1, 3)),
}
START = 1
#: A change is large if it is at least one part in so many of the interval before (0.02).
LARGE = 50
#: Bits of STHLD.
WIDTH = 8


class Sthld(wiring.Component):
    """Sets STHLD at the end of every interval from the IPC of the last two. Malekeh, section IV-B3. One per SM.

    The uops issued in an interval stand for its IPC, since all intervals are of the same length. The change is small if
    |now - before| x 50 < before; with nothing before, if nothing was issued now either.

    Parameters
    ----------
    config : the machine: interval, upper bound of STHLD, sub-cores.
    probe : generate `events` (sthld).

    Members
    -------
    launch : In(1). The next cycle is the first one, if none was before.
    issues : In(sub_cores). A sub-core issues a uop in this cycle.
    value : Out(8). STHLD; from registers.

    Latency: what is set at the end of an interval counts from the first cycle of the next one on.
    """

    def __init__(self, config: SmConfig, probe: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Sthld needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        self._probe = probe
        members = {"launch": In(1), "issues": In(config.sub_cores), "value": Out(WIDTH)}
        if probe:
            members["events"] = Out(Events(config, {"sthld": 1}))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape = self._config.sub_core.collector
        running, cycle = Signal(), Signal(range(shape.sthld_interval))
        width = bits(shape.sthld_interval * self._config.sub_cores + 1)
        count, before, now = Signal(width), Signal(width), Signal(width)
        state, value = Signal(3, init=START), Signal(WIDTH)
        end = Signal()
        m.d.comb += [
            now.eq(count + sum(self.issues)), end.eq(running & (cycle == shape.sthld_interval - 1)), self.value.eq(value),
        ]
        change = Signal(width)
        m.d.comb += change.eq(Mux(now > before, now - before, before - now))
        large = Signal()
        m.d.comb += large.eq(Mux(before == 0, now != 0, change * LARGE >= before))
        with m.If(self.launch):
            m.d.sync += running.eq(1)
        with m.If(running):
            m.d.sync += [cycle.eq(Mux(end, 0, cycle + 1)), count.eq(Mux(end, 0, now))]
        following, step = Signal.like(state), Signal(signed(3))
        with m.Switch(state):
            for number, (small_change, large_change) in TRANSITIONS.items():
                with m.Case(number):
                    m.d.comb += [
                        step.eq(Mux(large, large_change[0], small_change[0])),
                        following.eq(Mux(large, large_change[1], small_change[1])),
                    ]
        moved, bounded = Signal(signed(WIDTH + 2)), Signal(WIDTH)
        m.d.comb += moved.eq(value + step)
        m.d.comb += bounded.eq(Mux(moved < 0, 0, Mux(moved > shape.sthld_max, shape.sthld_max, moved)))
        with m.If(end):
            m.d.sync += [before.eq(now), state.eq(following), value.eq(bounded)]
        if self._probe:
            emit(m, self.events.sthld[0], end, state=following, cycles=bounded)
        return m

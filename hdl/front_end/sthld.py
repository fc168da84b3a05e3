"""Adaptive waiting time (STHLD) of the caching collectors, which walks to the knee of the IPC curve."""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.probe import Events, EventsInterface, emit


class State(IntEnum):
    """State of the walk to the knee of the IPC curve."""

    START = 1
    CLIMB = 2
    SPECULATE = 3
    RETREAT = 4
    CONFIRM = 5
    HOLD = 6


#: State -> (after a small change: step, next state), (after a large one). Malekeh, Figure 8, which the
#: paper's text has lost: our reconstruction from section IV-B3.
TRANSITIONS: dict[State, tuple[tuple[int, State], tuple[int, State]]] = {
    State.START: ((1, State.CLIMB), (1, State.CLIMB)),
    State.CLIMB: ((1, State.CLIMB), (1, State.SPECULATE)),
    State.SPECULATE: ((1, State.CLIMB), (-2, State.RETREAT)),
    State.RETREAT: ((0, State.CONFIRM), (-1, State.RETREAT)),
    State.CONFIRM: ((0, State.HOLD), (-1, State.RETREAT)),
    State.HOLD: ((0, State.HOLD), (1, State.SPECULATE)),
}
#: A change is large if it is at least one part in so many of the interval before (0.02).
LARGE = 50
#: Bits of STHLD.
WIDTH = 8


class Sthld(wiring.Component):
    """State machine that sets STHLD from the IPC of the last two intervals. Malekeh, section IV-B3.

    There is one per SM. It changes STHLD at the end of every interval.

    The uops issued in an interval stand for its IPC, since all intervals are of the same length. The change
    is small if |now - before| x 50 < before; with nothing before, if nothing was issued now either.

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

    launch: Signal
    issues: Signal
    value: Signal
    events: EventsInterface

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
        running, cycle, end = Signal(), Signal(range(shape.sthld_interval)), Signal()
        state, value = Signal(3, init=State.START), Signal(WIDTH)
        # Before the launch the cycle is 0, which is the last one of no interval.
        m.d.comb += [end.eq(cycle == shape.sthld_interval - 1), self.value.eq(value)]
        large = self._large(m, running, end)

        # What follows a small change and a large one is ready when the last issues are known.
        following, bounded = Signal.like(state), Signal(WIDTH)
        after = [Signal.like(state, name=f"after_{size}") for size in ("small", "large")]
        moved = [Signal(WIDTH, name=f"moved_{size}") for size in ("small", "large")]
        with m.Switch(state):
            for number, edges in TRANSITIONS.items():
                with m.Case(number):
                    for (step, target), to, where in zip(edges, after, moved, strict=True):
                        m.d.comb += [to.eq(target), where.eq(_bounded(value, step, shape.sthld_max))]
        m.d.comb += [following.eq(Mux(large, after[1], after[0])), bounded.eq(Mux(large, moved[1], moved[0]))]
        with m.If(self.launch):
            m.d.sync += running.eq(1)
        with m.If(running):
            m.d.sync += cycle.eq(Mux(end, 0, cycle + 1))
        with m.If(end):
            m.d.sync += [state.eq(following), value.eq(bounded)]
        if self._probe:
            emit(m, self.events.sthld[0], end, state=following, cycles=bounded)
        return m

    def _large(self, m: Module, running: Value, end: Value) -> Signal:
        """Test whether the interval's uops, this cycle's among them, differ largely from the last interval's.

        That is so from before + part and down to before - part, with a part of before / 50, rounded up, and
        at least 1. Both bounds are kept while the uops are counted: a part more for every group of 50 that
        begins. So nothing is multiplied, and at an end only this cycle's issues are compared. A difference of
        an interval's whole length may overflow, and is large then, too.
        """
        cores = self._config.sub_cores
        width = bits(2 * self._config.sub_core.collector.sthld_interval * cores)
        issued, phase, begins = Signal(range(cores + 1)), Signal(range(LARGE + 1)), Signal()
        grown = Signal(range(LARGE + cores + 1))
        m.d.comb += [issued.eq(sum(self.issues)), grown.eq(phase + issued), begins.eq(grown > LARGE)]
        # Of the interval that runs: uops + part, part - uops. What is missing to the bounds from the interval
        # before; the first one has none before it, and the machine moves alike then, whatever they say.
        upper, lower = (Signal(signed(width), name=name, init=1) for name in ("upper", "lower"))
        rise, fall = (Signal(signed(width), name=name, reset_less=True) for name in ("rise", "fall"))
        above, below = Signal.like(upper), Signal.like(lower)
        m.d.comb += [above.eq(upper + (issued + begins)), below.eq(lower - issued + begins)]
        with m.If(end):
            m.d.sync += [phase.eq(0), upper.eq(1), lower.eq(1), rise.eq(above), fall.eq(below)]
        with m.Elif(running):
            m.d.sync += [
                phase.eq(Mux(begins, grown - LARGE, grown)),
                upper.eq(above),
                lower.eq(below),
                rise.eq(rise - issued),
                fall.eq(fall + issued),
            ]
        large = Signal()
        m.d.comb += large.eq((rise <= issued) | (fall <= -issued))
        return large


def _bounded(value: Value, step: int, limit: int) -> Value:
    """value + step, from 0 to `limit`; `value` is in these bounds."""
    if step < 0:
        return Mux(value < -step, 0, value + step)
    return Mux(value > limit - step, limit, value + step) if step else value

"""Execution units of a sub-core: no arithmetic, only when a uop may enter and when its result comes out."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, UnitConfig, bits
from warpbank.arch.uop import Unit
from warpbank.hdl.headed_fifo import HeadedFifo
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    NextResult,
    NextResultInterface,
    dispatch_stream,
    lsu_stream,
    returned_stream,
)
from warpbank.hdl.layouts import UNITS, result_layout
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.typed import record


class Pipelines(wiring.Component):
    """Unit pipelines of a sub-core with latency, initiation interval and result queues.

    A unit takes a uop if its interval has passed and it has a credit left: a unit may have `result_queue`
    uops between dispatch and last write, so that a pipeline never has to stop. A memory uop is taken
    if the queue to the load/store unit has room; that unit is offered the oldest one while fewer than
    `lsu.unwritten` of those that it has taken are to be written: each has a place in the queue of what it
    returns.

    A uop goes into its unit's result queue when it is dispatched; a delay line of single bits tells how many
    at the front of the queue have run through the unit.

    Parameters
    ----------
    config : the machine: latencies, intervals, queue sizes.
    ahead : a result stage takes the uops, a cycle before their results are there.
    shown : collectors find a result's entry a cycle ahead, or a mapping its place; not with `ahead`.
    held : what is shown comes from registers, since a mapping takes long: of a unit that takes two cycles and
        more, a uop that comes into an empty queue is shown in the next cycle.
    probe : generate `events` (dispatch, lsu_accept).

    Members
    -------
    dispatch : In(dispatch_stream) per unit. Dispatch interface: a uop for the unit; `ready` is from
        registers.
    lsu : Out(lsu_stream). The load/store unit's input queue. From registers.
    alone : In(1), if `scalar_sfu` is "one". One lane executes the uop that enters the special-function unit
        in this cycle.
    returned : In(returned_stream). A complete uop from the load/store unit.
    result : Out(stream of result_layout) per unit. The oldest uop, once its result is there; with `ahead`, is
        there in the next cycle. Its `count` registers from `destination` on are still to be written.
    step : In(1) per unit, without `ahead`. The first of these registers is written, and others are left.
    left : In(1) per unit, with `ahead`. The last write of one of the unit's uops is done.
    upcoming : Out(NextResult) per unit, if `shown`. Register that `result` names next.
    overflow : Out(1). The load/store unit returned a uop that it had not taken: its queue was full, and the
        uop is lost.

    Latency: a uop dispatched in t is first offered to the banks in t + latency; one returned in t, in t + 1.
    """

    dispatch: list[stream.Interface]
    lsu: stream.Interface
    returned: AlwaysInterface
    result: list[stream.Interface]
    step: list[Signal]
    left: list[Signal]
    upcoming: list[NextResultInterface]
    overflow: Signal
    alone: list[Signal]
    events: EventsInterface

    def __init__(
        self,
        config: SmConfig,
        ahead: bool = False,
        probe: bool = False,
        shown: bool = False,
        held: bool = False,
    ) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Pipelines needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        self._ahead, self._probe, self._held = ahead, probe, held
        members = {
            "dispatch": In(dispatch_stream(config)).array(UNITS),
            "lsu": Out(lsu_stream(config)),
            "returned": In(returned_stream(config)),
            "result": Out(stream.Signature(result_layout(config))).array(UNITS),
            "step": In(1).array(0 if ahead else UNITS),
            "left": In(1).array(UNITS if ahead else 0),
            "upcoming": Out(NextResult(config)).array(UNITS if shown else 0),
            "overflow": Out(1),
            "alone": In(1).array(int(config.sub_core.execute.scalar_sfu == "one")),
        }
        if probe:
            members["events"] = Out(Events(config, {"dispatch": UNITS, "lsu_accept": 1}))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for unit in Unit:
            if unit is Unit.LSU:
                self._load_store(m)
            else:
                self._unit(m, unit)
            if self._probe:
                port = self.dispatch[unit]
                emit(
                    m,
                    self.events.dispatch[unit],
                    port.valid & port.ready,
                    collector=port.payload.collector,
                    unit=unit,
                    warp=port.payload.result.warp,
                    seq=port.payload.result.seq,
                )
        if self._probe:
            result = self.lsu.payload.result
            emit(
                m,
                self.events.lsu_accept[0],
                self.lsu.valid & self.lsu.ready,
                warp=result.warp,
                seq=result.seq,
            )
        return m

    def _queue(self, m: Module, unit: Unit, places: int, latency: int) -> HeadedFifo:
        """Build a unit's result queue. The oldest uop in it names the register that is written next, so that
        nothing is added up when it is offered. `latency`: cycles from a uop's entry to its first offer, at
        the least."""
        layout = result_layout(self._config)
        held = self._held and latency > 1
        queue = HeadedFifo(layout.size, places, not self._ahead, len(self.upcoming) > 0, held)
        oldest, rest = self.result[unit].payload, record(layout, name=f"rest_{unit.name.lower()}")
        if not self._ahead:
            m.d.comb += [
                rest.eq(oldest),
                rest.destination.eq(oldest.destination + 1),
                rest.count.eq(oldest.count - 1),
                queue.c_data.eq(rest.as_value()),
                queue.c_en.eq(self.step[unit]),
            ]
        for upcoming in self.upcoming[unit : unit + 1]:
            behind = record(layout, name=f"behind_{unit.name.lower()}")
            more = queue.r_rdy & oldest.count[1:].any()
            m.d.comb += [
                behind.as_value().eq(queue.n_data),
                upcoming.changes.eq(queue.n_en | queue.c_en),
                upcoming.warp.eq(Mux(more, oldest.warp, behind.warp)),
                upcoming.register.eq(Mux(more, rest.destination, behind.destination)),
            ]
            if held:
                self._show_oldest(m, unit, queue)
        return queue

    def _show_oldest(self, m: Module, unit: Unit, queue: HeadedFifo) -> None:
        """Show the oldest uop in the cycle after it has come into an empty queue."""
        oldest, upcoming = self.result[unit].payload, self.upcoming[unit]
        shown = Signal(name=f"shown_{unit.name.lower()}")
        m.d.sync += shown.eq(~queue.n_en | queue.n_held)
        with m.If(~shown):
            m.d.comb += [
                upcoming.changes.eq(1),
                upcoming.warp.eq(oldest.warp),
                upcoming.register.eq(oldest.destination),
            ]

    def _unit(self, m: Module, unit: Unit) -> None:
        """A unit with a constant latency."""
        execute = self._config.sub_core.execute
        shape: UnitConfig = execute.unit(unit)
        name = unit.name.lower()
        port, result = self.dispatch[unit], self.result[unit]
        queue = m.submodules[f"results_{name}"] = self._queue(m, unit, execute.result_queue, shape.latency)
        enters, leaves = port.valid & port.ready, result.valid & result.ready
        m.d.comb += [
            queue.w_data.eq(port.payload.result.as_value()),
            queue.w_may.eq(port.ready),
            queue.w_en.eq(enters),
            queue.r_en.eq(leaves),
        ]

        wait = Signal(
            range(max(2, shape.interval)), name=f"wait_{name}"
        )  # cycles until the unit takes another one
        # Results that have not been written: with a look-ahead, what is in its stage has a place, too.
        used = Signal(range(execute.result_queue + 1), name=f"used_{name}")
        m.d.sync += used.eq(used + enters - (self.left[unit] if self._ahead else leaves))
        m.d.comb += port.ready.eq((used != execute.result_queue) & (wait == 0))
        if shape.interval > 1:
            busy = shape.interval - 1
            with m.If(enters):
                alone = list(self.alone) if unit is Unit.SFU else []
                m.d.sync += wait.eq(Mux(alone[0], 0, busy) if alone else busy)
            with m.Elif(wait != 0):
                m.d.sync += wait.eq(wait - 1)

        through: Value = enters
        latency = shape.latency - (self._ahead and shape.latency > 1)
        if latency > 1:
            line = Signal(latency - 1, name=f"line_{name}")
            m.d.sync += line.eq(Cat(enters, line))
            through = line[-1]
        done = Signal(bits(execute.result_queue + 1), name=f"done_{name}")
        m.d.sync += done.eq(done + through - leaves)
        m.d.comb += [result.valid.eq(done != 0), result.payload.as_value().eq(queue.r_data)]

    def _load_store(self, m: Module) -> None:
        """The queues to and from the load/store unit."""
        config = self._config
        port, result = self.dispatch[Unit.LSU], self.result[Unit.LSU]
        asked, there = port.payload, self.lsu.payload
        queue = m.submodules.lsu_queue = SyncFIFO(width=len(there.as_value()), depth=config.lsu.queue)
        entry = record(there.shape(), name="lsu_entry")
        m.d.comb += [
            getattr(entry, name).eq(getattr(asked, name)) for name in ("memory", "lines", "passes", "result")
        ]
        unwritten, places = Signal(range(config.lsu.unwritten + 1), name="unwritten"), config.lsu.unwritten
        written = self.left[Unit.LSU] if self._ahead else result.valid & result.ready
        m.d.comb += [
            queue.w_data.eq(entry.as_value()),
            queue.w_en.eq(port.valid),
            port.ready.eq(queue.w_rdy),
            there.as_value().eq(queue.r_data),
            self.lsu.valid.eq(queue.r_rdy & (unwritten != places)),
            queue.r_en.eq(self.lsu.valid & self.lsu.ready),
        ]
        m.d.sync += unwritten.eq(unwritten + queue.r_en - written)
        back = m.submodules.results_lsu = self._queue(m, Unit.LSU, places, 1)
        held, room = Signal(range(places + 1), name="held_lsu"), Signal(name="room_lsu")
        m.d.sync += held.eq(held + back.w_en - back.r_en)
        m.d.comb += [
            room.eq(held != places),
            back.w_data.eq(self.returned.payload.as_value()),
            back.w_may.eq(room),
            back.w_en.eq(self.returned.valid & room),
            self.overflow.eq(self.returned.valid & ~room),
            result.payload.as_value().eq(back.r_data),
            result.valid.eq(back.r_rdy),
            back.r_en.eq(result.valid & result.ready),
        ]

"""Issue: every warp's status, the stall reason of the cycle, and what an issued uop sets off."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.events import Stall
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MOVE, Memory
from warpbank.hdl.front_end.issue_stage import IssueStage
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    Arrival,
    ArrivalInterface,
    Retired,
    RetiredInterface,
    Start,
    StartInterface,
    issue_stream,
    optional,
)
from warpbank.hdl.layouts import UNITS, uop_layout
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.round_robin import decode
from warpbank.hdl.typed import Record


class Status(wiring.Component):
    """Warp status at issue: which warps can issue at the clock edge, and why the others cannot.

    There is one bit mask over the warps per reason.

    Parameters
    ----------
    config : the machine.
    probe : generate `events` (warp_start, issue, retire of uops that are complete at issue, scheduler).

    Members
    -------
    start : In(Start). Warps that start.
    release : In(warps). Warps whose barrier is open.
    first : In(warps). Warps that have a uop in their buffer.
    collects : In(warps). Warps whose first uop needs a collector.
    blocked : In(warps). Warps whose first uop has a hazard.
    memory : In(warps). Warps whose first uop waits for a result of the load/store unit.
    distant : In(warps). Warps whose first uop waits for a value from beyond the SM.
    active : In(warps). Warps that may issue; all, unless scheduling has two levels.
    may_issue : In(warps). Warps whose next uop a collector would take.
    may_slide : In(warps). Warps that may issue a uop that needs no collector.
    here : Out(warps). Warps that have uops to issue and do not wait at a barrier. From registers.
    ready : Out(warps). Warps whose next uop has no hazard.
    eligible : Out(warps). Warps among which the scheduler picks.
    collecting : Out(warps). Active warps whose next uop has no hazard and needs a collector.
    away : Out(warps). Warps that cannot issue for long, and those that are over.
    over : Out(warps). Warps that had no uop left to issue before this cycle. From registers.
    pick : In(bits(warps)). Warp that the scheduler picked.
    warp : Out(bits(warps)), if the machine has an issue stage. Warp that has its turn; else `pick` has it.
    coming : Out(bits(warps)), if the machine has two issue stages or more. Warp that has its turn in the next
        cycle.
    uop : In(uop_layout). First uop of the warp that has its turn.
    issues : Out(1). A uop issues.
    issue : Out(issue_stream). Issue interface: the uop that issues, if it collects.
    done : Out(1). The uop that issues is complete, since it does not collect.
    arrival : Out(Arrival). What the uop that issues does at barriers, and whether its warp ends.
    retired : In(Retired) per unit. Fences that come back.
    refused : In(1). A unit refused a complete uop in this cycle; colours the stall reason.
    live : Out(warps). Warps that will have uops left to issue after this cycle.

    All outputs are combinational; what changes in cycle t counts from t + 1.
    """

    start: StartInterface
    release: Signal
    first: Signal
    collects: Signal
    blocked: Signal
    memory: Signal
    distant: Signal
    active: Signal
    may_issue: Signal
    may_slide: Signal
    here: Signal
    ready: Signal
    eligible: Signal
    collecting: Signal
    away: Signal
    over: Signal
    pick: Signal
    warp: Signal
    uop: Record
    issues: Signal
    issue: AlwaysInterface
    done: Signal
    arrival: ArrivalInterface
    retired: list[RetiredInterface]
    refused: Signal
    live: Signal
    events: EventsInterface

    def __init__(self, config: SmConfig, probe: bool = False) -> None:
        self._config = config
        self._probe = probe
        core = config.sub_core
        self._staged = core.front_end.issue_stages > 0
        members = {
            "start": In(Start(config)),
            "release": In(core.warps),
            "first": In(core.warps),
            "collects": In(core.warps),
            "blocked": In(core.warps),
            "memory": In(core.warps),
            "distant": In(core.warps),
            "active": In(core.warps),
            "may_issue": In(core.warps),
            "may_slide": In(core.warps),
            "here": Out(core.warps),
            "ready": Out(core.warps),
            "eligible": Out(core.warps),
            "collecting": Out(core.warps),
            "away": Out(core.warps),
            "over": Out(core.warps),
            "pick": In(core.warp_width),
            **({"warp": Out(core.warp_width)} if self._staged else {}),
            **({"coming": Out(core.warp_width)} if core.front_end.issue_stages > 1 else {}),
            "uop": In(uop_layout(config)),
            "issues": Out(1),
            "issue": Out(issue_stream(config)),
            "done": Out(1),
            "arrival": Out(Arrival(config)),
            "retired": In(Retired(config)).array(UNITS),
            "refused": In(1),
            "live": Out(core.warps),
        }
        if probe:
            members["events"] = Out(
                Events(config, {"warp_start": core.warps, "issue": 1, "retire": 1, "scheduler": 1})
            )
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self._config.sub_core.warps
        uop = self.uop
        live, at_barrier, fenced = Signal(warps), Signal(warps), Signal(warps)

        here, ready = Signal(warps), Signal(warps)
        m.d.comb += [here.eq(live & ~at_barrier), self.over.eq(~live), self.here.eq(here)]
        m.d.comb += self.ready.eq(here & self.first & ~fenced & ~self.blocked)
        m.d.comb += ready.eq(self.ready & self.active)
        takes = self.collects & self.may_issue | ~self.collects & self.may_slide
        stage = self._stage(m, ready, takes) if self._staged else None
        if stage is None:
            m.d.comb += self.eligible.eq(ready & takes)
            m.d.comb += self.issues.eq(self.eligible.any())
        m.d.comb += self.collecting.eq(ready & self.collects)
        m.d.comb += self.away.eq(~here | fenced | self.first & self.distant)

        warp = self.pick if stage is None else stage.warp
        issued = decode(m, warp, self.issues, warps, "issued") if stage is None else stage.issued
        fence = Signal()
        m.d.comb += fence.eq((uop.memory == Memory.FENCE) & uop.collects)
        m.d.comb += self.live.eq(live & ~Mux(uop.last, issued, 0) | self.start.warps)
        m.d.sync += live.eq(self.live)
        m.d.sync += at_barrier.eq((at_barrier | Mux(uop.wait, issued, 0)) & ~self.release)
        # Only the load/store unit has fences, and it retires one uop a cycle.
        back = [
            decode(m, retired.warp, retired.valid & retired.fence, warps, f"fence_{unit}")
            for unit, retired in enumerate(self.retired)
        ]
        returned: Value = back[0]
        for mask in back[1:]:
            returned = returned | mask
        m.d.sync += fenced.eq(fenced & ~returned | Mux(fence, issued, 0))

        m.d.comb += [
            self.issue.valid.eq(self.issues & uop.collects),
            self.issue.payload.warp.eq(warp),
            self.issue.payload.uop.eq(uop),
            self.done.eq(self.issues & ~uop.collects),
            self.arrival.warp.eq(warp),
            self.arrival.arrive.eq(self.issues & uop.arrive),
            self.arrival.wait.eq(self.issues & uop.wait),
            self.arrival.barrier.eq(uop.barrier),
            self.arrival.barrier_warps.eq(uop.barrier_warps),
            self.arrival.last.eq(self.issues & uop.last),
        ]
        if self._probe:
            self._events(m, self._reason(m, here, ready, fenced, at_barrier), warp)
        return m

    def _stage(self, m: Module, ready: Value, takes: Value) -> IssueStage:
        """Build the issue stages, behind which a warp has its turn some cycles after it was picked."""
        core = self._config.sub_core
        stage = m.submodules.stage = IssueStage(core.warps, core.front_end.issue_stages)
        m.d.comb += [
            stage.ready.eq(ready),
            stage.takes.eq(self.active & takes),
            stage.pick.eq(self.pick),
            self.eligible.eq(stage.candidates),
            self.warp.eq(stage.warp),
            self.issues.eq(stage.issued.any()),
            *(coming.eq(stage.coming) for coming in optional(self, "coming")),
        ]
        self._chosen = ~stage.turn & (stage.candidates.any() | stage.comes)
        return stage

    def _reason(self, m: Module, here: Value, ready: Value, fenced: Value, at_barrier: Value) -> Signal:
        """Reason of this cycle for the scheduler's statistics: the first reason that any warp has."""
        reason = Signal(Stall, init=Stall.NO_WARP)
        hazard = Signal.like(here)
        m.d.comb += hazard.eq(here & self.first & ~fenced & self.blocked & ~self.memory)
        fetch = Signal.like(here)
        m.d.comb += fetch.eq(here & ~self.first)
        with m.If(self.issues):
            m.d.comb += reason.eq(Stall.ISSUED)
        if self._staged:
            with m.Elif(self._chosen):
                m.d.comb += reason.eq(Stall.CHOSEN)
        with m.Elif(ready.any()):
            m.d.comb += reason.eq(Mux(self.refused, Stall.UNIT_BUSY, Stall.COLLECTOR_FULL))
        with m.Elif(self.ready.any()):
            m.d.comb += reason.eq(Stall.PENDING)
        with m.Elif(hazard.any()):
            m.d.comb += reason.eq(Stall.SCOREBOARD)
        with m.Elif(fetch.any()):
            m.d.comb += reason.eq(Stall.FETCH)
        with m.Elif(here.any()):  # all that are left wait for the load/store unit
            m.d.comb += reason.eq(Stall.MEMORY)
        with m.Elif(at_barrier.any()):
            m.d.comb += reason.eq(Stall.BARRIER)
        return reason

    def _events(self, m: Module, reason: Signal, warp: Value) -> None:
        events, uop = self.events, self.uop
        for slot in range(self._config.sub_core.warps):
            emit(m, events.warp_start[slot], self.start.warps[slot], warp=slot, row=self.start.rows * slot)
        moves = uop.seq[MOVE.bit_length() - 1]  # reported by what inserts them
        emit(m, events.issue[0], self.issues & ~moves, warp=warp, seq=uop.seq, pc=uop.pc)
        emit(m, events.retire[0], self.done, warp=warp, seq=uop.seq)
        emit(m, events.scheduler[0], 1, reason=reason)


class InFlight(wiring.Component):
    """Counters of each warp's uops between issue and retirement, which tell when it has drained.

    A warp has drained when it has issued its last uop and all have retired.

    The counters are bit-sliced: plane k holds bit k of all of them, so that all warps count in the same few
    word operations. They count a cycle later, so that the count before comes from registers. With two issue
    stages or more that is soon enough: who has drained is told in the cycle after its last uop has retired.

    Parameters
    ----------
    config : the machine.

    Members
    -------
    start : In(warps). Slots that receive a warp.
    live : In(warps). Warps that will have uops left to issue after this cycle.
    issue : In(1). A uop of `warp` issues that is not complete at issue.
    warp : In(bits(warps)). Warp that issues.
    retired : In(Retired) per unit. A uop retires.
    drain : Out(warps). Warps whose last uop retires in this cycle; combinational. With two issue stages or
        more, in the cycle before; from registers.
    """

    start: Signal
    live: Signal
    issue: Signal
    warp: Signal
    retired: list[RetiredInterface]
    drain: Signal

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        core = config.sub_core
        self._late = core.front_end.issue_stages > 1
        super().__init__(
            {
                "start": In(core.warps),
                "live": In(core.warps),
                "issue": In(1),
                "warp": In(core.warp_width),
                "retired": In(Retired(config)).array(UNITS),
                "drain": Out(core.warps),
            }
        )

    @property
    def limit(self) -> int:
        """Uops of one warp that can be in flight: in collection, in the units' queues, and in the load/store
        unit."""
        config = self._config
        core = config.sub_core
        collecting = core.collectors * max(8, core.collector.window)
        return collecting + UNITS * core.execute.result_queue + config.lsu.queue + 5 * config.lsu.pending

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self._config.sub_core.warps
        issued = decode(m, self.warp, self.issue, warps, "issued")
        retires = [
            decode(m, retired.warp, retired.valid, warps, f"retires_{unit}")
            for unit, retired in enumerate(self.retired)
        ]
        left = _columns(m, retires)
        flying = self._count(m, issued, left)
        active, live = Signal(warps), Signal(warps)
        m.d.sync += active.eq(active & ~self.drain | self.start)
        if self._late:
            # All that issued and retired before this cycle has been counted, so that nothing is compared.
            m.d.sync += live.eq(self.live)
            m.d.comb += self.drain.eq(active & ~live & ~reduce(or_, flying))
        else:
            m.d.comb += [
                live.eq(self.live),
                self.drain.eq(active & ~live & _none_left(m, flying, issued, left)),
            ]
        return m

    def _count(self, m: Module, issued: Signal, left: list[Value]) -> list[Signal]:
        """Count each warp's uops in flight, those that issue or retire in this cycle left out, as bit planes.
        These are added up in the next cycle."""
        warps = len(issued)
        planes, flying = (
            [Signal(warps, name=f"{name}_{bit}") for bit in range(self.limit.bit_length())]
            for name in ("plane", "flying")
        )
        came, went = (
            Signal(warps, name="came"),
            [Signal(warps, name=f"went_{bit}") for bit in range(len(left))],
        )
        m.d.sync += [came.eq(issued), *(old.eq(new) for old, new in zip(went, left, strict=True))]
        carry, borrow = came, Signal(warps, name="no_borrow")
        for bit, (plane, now) in enumerate(zip(planes, flying, strict=True)):
            plus, with_carry, less = (
                Signal(warps, name=f"{name}_{bit}") for name in ("plus", "carry", "less")
            )
            take = went[bit] if bit < len(went) else Const(0, warps)
            m.d.comb += [
                plus.eq(plane ^ carry),
                with_carry.eq(plane & carry),
                now.eq(plus ^ borrow ^ take),
                less.eq(~plus & (borrow | take) | borrow & take),
            ]
            m.d.sync += plane.eq(now)
            carry, borrow = with_carry, less
        return flying


def _none_left(m: Module, flying: Sequence[Value], issued: Value, left: Sequence[Value]) -> Value:
    """Mask of the warps of which no uop is left: as many retire as there were, one that issues included. Who
    issues and who retires is known late, the count before that, `flying`, is not."""
    numbers = range(UNITS + 1)
    there, gone = ([_equal(planes, number) for number in numbers] for planes in (flying, left))
    as_many, one_more = (Signal.like(issued, name=name) for name in ("as_many", "one_more"))
    m.d.comb += [
        as_many.eq(reduce(or_, (here & away for here, away in zip(there, gone, strict=True)))),
        one_more.eq(reduce(or_, (here & away for here, away in zip(there[:-1], gone[1:], strict=True)))),
    ]
    return issued & one_more | ~issued & as_many


def _equal(planes: Sequence[Value], number: int) -> Value:
    """Mask of the places at which the bit planes hold a number."""
    return reduce(and_, (plane if number >> bit & 1 else ~plane for bit, plane in enumerate(planes)))


def _columns(m: Module, masks: list[Signal]) -> list[Value]:
    """Sum of one-bit numbers, one per position of the masks, as bit planes: a tree of full adders."""
    columns: list[list[Value]] = [list(masks)]
    place = 0
    while place < len(columns):
        column = columns[place]
        while len(column) > 1:
            parts = [column.pop(0) for _ in range(min(3, len(column)))]
            if len(columns) == place + 1:
                columns.append([])
            total, carry = (
                Signal.like(masks[0], name=f"{name}_{place}_{len(columns[place + 1])}")
                for name in ("sum", "over")
            )
            if len(parts) == 3:
                first, second, third = parts
                m.d.comb += [
                    total.eq(first ^ second ^ third),
                    carry.eq(first & second | third & (first ^ second)),
                ]
            else:
                m.d.comb += [total.eq(parts[0] ^ parts[1]), carry.eq(parts[0] & parts[1])]
            column.append(total)
            columns[place + 1].append(carry)
        place += 1
    return [column[0] for column in columns]

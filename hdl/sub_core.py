"""A sub-core: assembly of the rooms.

The phases of a cycle, in order; a private step of the same name builds each:

1.  start: launches and warps begin, warps drain
2.  look: what the warps' first uops wait for; the mapping sees them
3.  activate: which warps are active, in the scheduler and in the registers
4.  write_back: results take banks, or places in collectors and caches
5.  keep: the values of those results come in
6.  land: the scoreboard hears of what is written
7.  bank_read: operands are requested, and arrive in the collectors
8.  dispatch: complete uops go to the units, which are told of the lanes that execute them
9.  fill: the instruction buffers take uops
10. issue: the uop of the warp whose turn it is, or a move in its place

What one phase writes into registers, others see after the clock edge.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import NOTICES, Control, Unit
from warpbank.hdl.execute.pipelines import Pipelines
from warpbank.hdl.execute.result_arbiter import ResultArbiter
from warpbank.hdl.execute.scalar import scalar_lanes
from warpbank.hdl.front_end.instruction_buffer import InstructionBuffers
from warpbank.hdl.front_end.issue import InFlight, Status
from warpbank.hdl.front_end.scoreboard import Scoreboard
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    ArrivalInterface,
    FillInterface,
    ImmediateInterface,
    NextResultInterface,
    StartInterface,
    WriteBackInterface,
    optional,
)
from warpbank.hdl.probe import Events, EventsInterface, gather, reporting, total
from warpbank.hdl.registry import build_collectors, build_registers, build_scheduler
from warpbank.hdl.round_robin import encode
from warpbank.hdl.storage.decompress_moves import DecompressMoves
from warpbank.hdl.sub_core_ports import SubCorePorts
from warpbank.hdl.typed import Interface, Record


class SubCore(wiring.Component):
    """One sub-core. docs/machine.md tells what happens within a cycle and when.

    Parameters
    ----------
    config, scheme : the machine and its register file.
    probe : generate `events`.

    Members: `warpbank.hdl.sub_core_ports.SubCorePorts`.

    Raises
    ------
    ValueError : the scheme names a unit that has no RTL.
    """

    #: Machine as the scheme changes it.
    config: SmConfig
    start: StartInterface
    launch: Signal
    release: Signal
    arrival: ArrivalInterface
    drain: Signal
    fill: FillInterface
    write: list[WriteBackInterface]
    issues: Signal
    sthld: Signal
    keep: list[WriteBackInterface]
    immediate: ImmediateInterface
    lsu: stream.Interface
    returned: AlwaysInterface
    overflow: Signal
    events: EventsInterface

    def __init__(self, config: SmConfig, scheme: Scheme, probe: bool = False) -> None:
        if not isinstance(config, SmConfig) or not isinstance(scheme, Scheme):
            raise TypeError(f"SubCore needs an SmConfig and a Scheme, not {config!r} and {scheme!r}.")
        self.config = config = scheme.machine(config)
        self.status = Status(config, probe)
        self.in_flight = InFlight(config)
        self.scheduler = build_scheduler(config, scheme, probe)
        self._strands = scheme.units.hierarchy.compiled
        self.registers = build_registers(config, scheme, probe)
        self.collectors = build_collectors(config, scheme, self.registers, probe)
        self._heads: list[Record] = next(iter(optional(self.collectors, "heads")), [])
        # Where names are looked up in cycles of their own, an array of first uops would be read too late.
        self._names_staged = scheme.units.mapping.renames and config.sub_core.mapping.lookup_stages > 0
        # A warp that is made active is chosen by what all first uops wait for, in the cycle in which its
        # registers are fetched.
        standing = len(self.scheduler.away) > 0 and config.sub_core.front_end.issue_stages > 0
        self.buffers = InstructionBuffers(
            config, probe, shown=len(self._heads) > 0 or self._names_staged, standing=standing
        )
        collection = self.registers.collection
        self.scoreboard = Scoreboard(
            config,
            collection.entries,
            len(self.registers.landed),
            collection.share > 0,
            len(self.scheduler.away) > 0,
            len(self.registers.owed),
        )
        ahead = len(self.registers.ahead) > 0
        self._upcoming: list[NextResultInterface] = next(iter(optional(self.collectors, "upcoming")), [])
        shown = len(self._upcoming) > 0
        located = self._names_staged and not ahead
        self.pipelines = Pipelines(config, ahead, probe, (shown or located) and not ahead, located)
        self.results = ResultArbiter(
            config, collection.keeps, collection.evicts, ahead, probe, shown and ahead
        )
        self.moves = DecompressMoves(config, len(self.registers.stored), probe, scheme.units.mapping.renames)
        self.scalar = scalar_lanes(config, self.registers.parts, collection, self.registers.executes, probe)
        parts = self._parts()
        self._reporters = reporting(*parts.values()) if probe else []
        events = Events(config, total(part.events.signature for part in self._reporters)) if probe else None
        super().__init__(
            SubCorePorts(
                config,
                events,
                max(len(self.collectors.keep), len(self.registers.keep)),
                len(self.collectors.sthld),
                len(self.registers.working),
            )
        )

    def _parts(self) -> dict[str, wiring.Component]:
        """The units by name."""
        names = ("buffers", "status", "in_flight", "scheduler", "registers", "collectors", "scoreboard")
        return {name: getattr(self, name) for name in (*names, "pipelines", "results", "moves", "scalar")}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name, part in self._parts().items():
            m.submodules[name] = part
        self._prefetch = Signal(name="prefetch")
        self._waits = Signal(self.config.sub_core.warps, name="waits_to_enter")
        #: Warp whose uop may issue: that of the issue stage, or the scheduler's pick.
        self._turn = next(iter(optional(self.status, "warp")), self.scheduler.pick)
        self._start(m)
        self._look(m)
        self._activate(m)
        self._write_back(m)
        self._keep(m)
        self._land(m)
        self._bank_read(m)
        self._dispatch(m)
        self._fill(m)
        self._issue(m)
        if self._reporters:
            gather(m, self.events, [part.events for part in self._reporters])
        return m

    def _start(self, m: Module) -> None:
        """Launches begin, warps start, reach barriers and drain."""
        status, in_flight, registers = self.status, self.in_flight, self.registers
        wiring.connect(m, wiring.flipped(self.start), status.start)
        wiring.connect(m, wiring.flipped(self.start), registers.start)
        wiring.connect(m, wiring.flipped(self.arrival), status.arrival)
        for start in (self.buffers.start, self.scheduler.start, in_flight.start):
            m.d.comb += start.eq(self.start.warps)
        # Values in the collectors lose their rows when a launch begins: whoever would evict them drops them.
        drops = self.launch if registers.collection.evicts else Const(0, 1)
        m.d.comb += [
            self.collectors.start.eq(self.start.warps | drops.replicate(self.config.sub_core.warps)),
            registers.launch.eq(self.launch),
            status.release.eq(self.release),
            in_flight.live.eq(status.live),
            self.drain.eq(in_flight.drain),
            registers.end.eq(in_flight.drain),
        ]

    def _look(self, m: Module) -> None:
        """Look at the warps' first uops: what they have to wait for."""
        buffers, status, scoreboard = self.buffers, self.status, self.scoreboard
        collectors, registers = self.collectors, self.registers
        for hazards, blocking, lacking in zip(
            buffers.hazards, scoreboard.hazards, registers.hazards, strict=True
        ):
            for sink in (blocking, lacking):
                m.d.comb += [
                    getattr(sink, name).eq(getattr(hazards, name)) for name in hazards.signature.members
                ]
        if self._names_staged:  # what it lacks counts when it is the first uop in the next cycle, too
            for first, hazards, lacking in zip(
                buffers.first, buffers.hazards, registers.hazards, strict=True
            ):
                m.d.comb += lacking.count.eq(Mux(first, hazards.count, 0))
        # A uop whose extra bit is still to be served waits for that, whatever else it waits for.
        m.d.comb += [self._waits.eq(entry.waits) for entry in optional(buffers, "entry")]
        m.d.comb += [
            status.first.eq(buffers.first),
            status.collects.eq(buffers.collects),
            # A PREFETCH changes the places of registers, so that no operand may be on its way.
            status.blocked.eq(scoreboard.blocked | buffers.prefetches & ~scoreboard.quiet | self._waits),
            status.memory.eq(scoreboard.memory & ~self._waits),
            status.distant.eq(scoreboard.distant & ~self._waits),
            status.may_issue.eq(collectors.may_issue),
            status.may_slide.eq(collectors.may_slide),
            status.refused.eq(collectors.refused),
            registers.here.eq(status.here),
        ]

    def _activate(self, m: Module) -> None:
        """Masks of the warps that scheduler and registers let issue, and of those that come and go."""
        scheduler, registers, status = self.scheduler, self.registers, self.status
        enters = self._waits & self.scoreboard.quiet & ~status.away
        # In a strand a warp keeps its row: it does not leave because a physical register is not there.
        lacks = Const(0, 1) if self._strands else registers.lacking & (status.ready | enters)
        m.d.comb += [entry.may.eq(enters & status.active) for entry in optional(self.buffers, "entry")]
        m.d.comb += [
            scheduler.ready.eq(status.ready),
            scheduler.away.eq(status.away | lacks),
            scheduler.over.eq(status.over),
            scheduler.may_activate.eq(registers.may_activate),
            status.active.eq(
                scheduler.active & registers.may_issue & ~(registers.lacking | registers.choosing)
            ),
            registers.activate.eq(scheduler.activated.any()),
            registers.activated.eq(encode(scheduler.activated)),
            registers.deactivate.eq(scheduler.deactivated),
            registers.ended.eq(status.over),
            registers.quiet.eq(self.scoreboard.quiet),
        ]

    def _write_back(self, m: Module) -> None:
        """Results, and what collectors evict, take banks, or places in collectors and caches."""
        results, registers, collectors = self.results, self.registers, self.collectors
        wiring.connect(m, wiring.flipped(self.returned), self.pipelines.returned)
        m.d.comb += self.overflow.eq(self.pipelines.overflow)
        for head, result in zip(results.head, self.pipelines.result, strict=True):
            wiring.connect(m, result, head)
        m.d.comb += [down.eq(up) for down, up in zip(self.pipelines.step, results.step, strict=True)]
        pairs: list[tuple[Interface, Interface]] = [
            *zip(results.result, registers.result, strict=True),
            *zip(results.offer, collectors.result, strict=True),
            *zip(collectors.evicted, registers.evicted, strict=True),
            *zip(results.finished, registers.finished, strict=True),
            *zip(results.ahead, registers.ahead, strict=True),
        ]
        # Collectors look them up, a mapping does, or nobody.
        upcoming = [*self.pipelines.upcoming, *results.upcoming]
        for lookers in (self._upcoming, registers.upcoming):
            pairs += zip(upcoming, lookers, strict=False)
        for offered, taker in pairs:
            wiring.connect(m, offered, taker)
        m.d.comb += [
            registers.first.eq(results.first),
            collectors.first.eq(results.first),
            results.evicted.eq(Cat(port.valid & port.ready for port in collectors.evicted)),
        ]
        m.d.comb += [
            left.eq(retired.valid)
            for left, retired in zip(self.pipelines.left, results.retired, strict=False)
        ]
        for unit, retired in enumerate(results.retired):
            names = retired.signature.members
            for takers in (self.scoreboard.retired, self.status.retired, self.in_flight.retired):
                m.d.comb += [getattr(takers[unit], name).eq(getattr(retired, name)) for name in names]

    def _keep(self, m: Module) -> None:
        """Values of results come in: for a bank, or for a unit whose result a collector or a cache keeps."""
        for outer, inner in zip(self.write, self.registers.write, strict=False):
            wiring.connect(m, wiring.flipped(outer), inner)
        for unit, outer in enumerate(self.keep):
            asks = [keep[unit] for keep in (self.registers.keep, self.collectors.keep) if keep]
            for ask in asks:
                m.d.comb += ask.value.eq(outer.value)
            m.d.comb += outer.valid.eq(reduce(or_, (ask.valid for ask in asks)))
            m.d.comb += [
                getattr(outer, name).eq(getattr(asks[0], name))
                for name in ("warp", "seq", "register", "mask")
            ]

    def _land(self, m: Module) -> None:
        """The scoreboard hears of what is written, and is asked about what is not."""
        pairs: list[tuple[Interface, Interface]] = [
            *zip(self.registers.landed, self.scoreboard.written, strict=True),
            *zip(self.registers.owed, self.scoreboard.owed, strict=True),
            *zip(self.registers.stored, self.moves.stored, strict=True),
        ]
        for source, sink in pairs:
            wiring.connect(m, source, sink)

    def _bank_read(self, m: Module) -> None:
        """Operands are requested and arrive, in the collectors and, what is known of them, beside them."""
        registers, collectors = self.registers, self.collectors
        wiring.connect(m, collectors.read, registers.read)
        for source, sink, known in zip(
            registers.deliver, collectors.deliver, self.scalar.deliver, strict=True
        ):
            wiring.connect(m, source, sink)
            m.d.comb += [known.valid.eq(source.valid), known.metadata.eq(source.metadata)]
        for done, scored, followed in zip(
            collectors.read_done, self.scoreboard.read, registers.done, strict=True
        ):
            m.d.comb += [scored.slots.eq(done.slots), followed.slots.eq(done.slots)]

    def _dispatch(self, m: Module) -> None:
        """Complete uops go to their units, which are told of the lanes they have to clock."""
        collectors, pipelines, scalar = self.collectors, self.pipelines, self.scalar
        wiring.connect(m, wiring.flipped(self.lsu), pipelines.lsu)
        for port, unit, taker in zip(collectors.dispatch, pipelines.dispatch, scalar.dispatch, strict=True):
            wiring.connect(m, port, unit)
            m.d.comb += [
                taker.valid.eq(port.valid & port.ready),
                taker.collector.eq(port.payload.collector),
                taker.warp.eq(port.payload.result.warp),
                taker.seq.eq(port.payload.result.seq),
            ]
        m.d.comb += [alone.eq(scalar.clocked[Unit.SFU].alone) for alone in pipelines.alone]
        m.d.comb += [sink.eq(source) for source, sink in zip(collectors.offered, scalar.offered, strict=True)]
        for kept, known in zip(collectors.kept, scalar.kept, strict=True):
            m.d.comb += [
                sink.as_value().eq(source.as_value()) for source, sink in zip(kept, known, strict=True)
            ]

    def _fill(self, m: Module) -> None:
        """The instruction buffers take uops, and the bit-vectors of PREFETCHes come in."""
        status, registers = self.status, self.registers
        wiring.connect(m, wiring.flipped(self.fill), self.buffers.fill)
        prefetches = status.done & (status.uop.control == Control.PREFETCH)
        warp, pc = self._turn, status.uop.pc
        for entry in optional(self.buffers, "entry"):
            prefetches, warp, pc = entry.valid, entry.warp, entry.pc
        m.d.comb += [
            self._prefetch.eq(prefetches),
            registers.prefetch.eq(self._prefetch),
            registers.prefetching.eq(warp),
        ]
        for immediate in optional(self, "immediate"):
            m.d.comb += [
                registers.working.eq(immediate.bits),
                immediate.valid.eq(self._prefetch),
                immediate.pc.eq(pc),
            ]

    def _issue(self, m: Module) -> None:
        """The uop of the warp whose turn it is issues, or a move in its place; others hear of it."""
        buffers, status, scheduler, moves = self.buffers, self.status, self.scheduler, self.moves
        collectors, registers = self.collectors, self.registers
        notice = reduce(or_, (status.uop.control == control for control in NOTICES))
        m.d.comb += [
            scheduler.eligible.eq(status.eligible),
            scheduler.holds.eq(collectors.holds),
            status.pick.eq(scheduler.pick),
            buffers.warp.eq(self._turn),
            buffers.pop.eq(status.issues & ~moves.inserts),
            *(moves.partial.eq(buffers.partial) for _ in moves.stored[:1]),
            moves.warp.eq(self._turn),
            moves.uop.eq(buffers.uop),
            moves.issues.eq(status.issues),
            status.uop.eq(moves.goes),
            self.scoreboard.writes.eq(moves.writes),
            self.in_flight.issue.eq(status.issue.valid),
            self.in_flight.warp.eq(self._turn),
            self.issues.eq(status.issues & ~moves.inserts),  # a move is no uop of the program
            collectors.slide.eq(status.done & ~notice),
            registers.slide.eq(status.done),
            collectors.ready.eq(status.collecting),
            collectors.idle.eq(~status.issues),
            *(collectors.sthld.eq(sthld) for sthld in optional(self, "sthld")),
            *(
                asked.eq(coming)
                for coming in optional(status, "coming")
                for asked in (buffers.coming, self.scoreboard.coming)
            ),
        ]
        for warp, first in enumerate(moves.first):
            wiring.connect(m, buffers.hazards[warp], first)
            m.d.comb += moves.missing[warp].eq(registers.missing[warp])
        for warp, (seen, first) in enumerate(
            zip(self._heads, buffers.heads[: len(self._heads)], strict=True)
        ):
            m.d.comb += seen.eq(first)
            if moves.stored:
                with m.If(moves.inserts & (self._turn == warp)):
                    m.d.comb += seen.eq(moves.goes)
        for issue in (collectors.issue, self.scoreboard.issue, registers.issue, self.scalar.issue):
            m.d.comb += [issue.valid.eq(status.issue.valid), issue.payload.eq(status.issue.payload)]
        for entry in (self.scoreboard.entry, registers.entry, self.scalar.entry):
            m.d.comb += entry.eq(collectors.entry)

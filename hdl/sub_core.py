"""A sub-core: assembly of the rooms."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Const, Module, Signal, Value
from amaranth.lib import wiring

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import NOTICES, Control, Unit
from warpbank.hdl.execute.pipelines import Pipelines
from warpbank.hdl.execute.result_arbiter import ResultArbiter
from warpbank.hdl.execute.scalar import KeptScalarLanes, ScalarLanes
from warpbank.hdl.front_end.cache_aware import CacheAware
from warpbank.hdl.front_end.instruction_buffer import InstructionBuffers
from warpbank.hdl.front_end.issue import InFlight, Status
from warpbank.hdl.front_end.scoreboard import Scoreboard
from warpbank.hdl.front_end.two_level import TwoLevel
from warpbank.hdl.interfaces import UNITS, SubCorePorts
from warpbank.hdl.probe import Events, gather, total
from warpbank.hdl.registry import build_collectors, build_registers, build_scheduler
from warpbank.hdl.round_robin import encode
from warpbank.hdl.storage.decompress_moves import DecompressMoves


class SubCore(wiring.Component):
    """One sub-core. docs/machine.md tells what happens within a cycle and when.

    Parameters
    ----------
    config, scheme : the machine and its register file.
    probe : generate `events`.

    Members: `warpbank.hdl.interfaces.SubCorePorts`.

    Raises
    ------
    ValueError : the scheme names a unit that has no RTL.
    """

    def __init__(self, config: SmConfig, scheme: Scheme, probe: bool = False) -> None:
        if not isinstance(config, SmConfig) or not isinstance(scheme, Scheme):
            raise TypeError(f"SubCore needs an SmConfig and a Scheme, not {config!r} and {scheme!r}.")
        config = scheme.machine(config)
        self.buffers = InstructionBuffers(config, probe)
        self.status = Status(config, probe)
        self.in_flight = InFlight(config)
        self.scheduler = build_scheduler(config, scheme, probe)
        self.registers = build_registers(config, scheme, probe)
        self.collectors = build_collectors(config, scheme, probe)
        caches = self.collectors.caches
        two_level = isinstance(self.scheduler, TwoLevel)
        self.keeps = caches or self.registers.follows  # results are asked for by unit, not by bank
        self.scoreboard = Scoreboard(
            config,
            self.collectors.entries(config),
            UNITS if self.keeps else None,
            self.collectors.per_warp,
            two_level,
            self.registers.notes and (self.collectors.evicts or self.registers.follows),
        )
        self.pipelines = Pipelines(config, probe)
        self.results = ResultArbiter(config, caches, self.collectors.evicts, probe)
        reporters = [
            self.buffers,
            self.status,
            self.collectors,
            self.registers,
            self.pipelines,
            self.results,
            *([self.scheduler] if two_level else []),
        ]
        self.moves = self.scalar = None
        if self.registers.notes:
            if not self.registers.follows:  # a cache holds registers whole
                self.moves = DecompressMoves(config, probe)
            parts, executes = self.registers.parts, self.registers.executes
            self.scalar = (
                KeptScalarLanes(config, parts, self.collectors.entries(config), executes, probe)
                if caches
                else ScalarLanes(config, parts, executes, probe)
            )
            reporters += [part for part in (self.moves, self.scalar) if part is not None]
        self._reporters = reporters if probe else []
        events = Events(config, total(part.events.signature for part in reporters)) if probe else None
        super().__init__(
            SubCorePorts(config, events, self.keeps, self.collectors.waits, self.registers.prefetches)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._prefetch = Signal(name="prefetch")
        m.d.comb += self._prefetch.eq(self.status.done & (self.status.uop.control == Control.PREFETCH))
        for name in (
            "buffers",
            "status",
            "in_flight",
            "scheduler",
            "registers",
            "collectors",
            "scoreboard",
            "pipelines",
            "results",
        ):
            m.submodules[name] = getattr(self, name)
        self._front_end(m)
        self._register_file(m)
        self._execution(m)
        if self.scalar is not None:
            self._scalar_execution(m)
        if self._reporters:
            gather(m, self.events, [part.events for part in self._reporters])
        return m

    def _front_end(self, m: Module) -> None:
        buffers, status, scheduler = self.buffers, self.status, self.scheduler
        scoreboard, collectors, in_flight = self.scoreboard, self.collectors, self.in_flight
        notice = reduce(or_, (status.uop.control == control for control in NOTICES))
        wiring.connect(m, wiring.flipped(self.start), status.start)
        wiring.connect(m, wiring.flipped(self.arrival), status.arrival)
        wiring.connect(m, wiring.flipped(self.fill), buffers.fill)
        for port, hazards in zip(scoreboard.hazards, buffers.hazards, strict=True):
            wiring.connect(m, hazards, port)
        m.d.comb += [
            buffers.start.eq(self.start.warps),
            scheduler.start.eq(self.start.warps),
            in_flight.start.eq(self.start.warps),
            status.release.eq(self.release),
            status.first.eq(buffers.first),
            status.collects.eq(buffers.collects),
            # A PREFETCH changes the places of registers, so that no operand may be on its way.
            status.blocked.eq(scoreboard.blocked | buffers.prefetches & ~scoreboard.quiet),
            status.memory.eq(scoreboard.memory),
            status.may_issue.eq(collectors.may_issue),
            status.may_slide.eq(collectors.may_slide),
            status.refused.eq(collectors.refused),
            scheduler.eligible.eq(status.eligible),
            status.pick.eq(scheduler.pick),
            buffers.warp.eq(scheduler.pick),
            in_flight.live.eq(status.live),
            in_flight.issue.eq(status.issue.valid),
            in_flight.warp.eq(scheduler.pick),
            self.drain.eq(in_flight.drain),
            scoreboard.entry.eq(collectors.entry),
            collectors.start.eq(self.start.warps),
            collectors.slide.eq(status.done & ~notice),
        ]
        if self.moves is None:
            m.d.comb += [buffers.pop.eq(status.issues), status.uop.eq(buffers.uop)]
        else:
            self._insert_moves(m)
        if isinstance(scheduler, CacheAware):
            m.d.comb += scheduler.holds.eq(collectors.holds)
        may_issue, short = self._may_issue(m)
        if isinstance(scheduler, TwoLevel):
            m.d.comb += [
                scheduler.ready.eq(status.ready),
                scheduler.away.eq(status.away | short & status.ready),
                status.distant.eq(scoreboard.distant),
                scheduler.may_activate.eq(self.registers.may_activate if self.registers.follows else ~0),
                status.active.eq(scheduler.active & may_issue),
            ]
        else:
            m.d.comb += status.active.eq(may_issue)
        for taker in (collectors.issue, scoreboard.issue):
            m.d.comb += [taker.valid.eq(status.issue.valid), taker.payload.eq(status.issue.payload)]

    def _insert_moves(self, m: Module) -> None:
        """Moves issue in the place of uops."""
        m.submodules.moves = moves = self.moves
        m.d.comb += [
            moves.warp.eq(self.scheduler.pick),
            moves.uop.eq(self.buffers.uop),
            moves.issues.eq(self.status.issues),
            self.status.uop.eq(moves.goes),
            self.buffers.pop.eq(self.status.issues & ~moves.inserts),
        ]
        if self.registers.renames:
            m.d.comb += moves.missing.eq(Array(self.registers.missing)[self.scheduler.pick])
        for source, sink in zip(self.registers.stored, moves.stored, strict=True):
            wiring.connect(m, source, sink)

    def _scalar_execution(self, m: Module) -> None:
        """What the units are told of the lanes they have to clock."""
        m.submodules.scalar = scalar = self.scalar
        issue = self.status.issue
        m.d.comb += [
            scalar.issue.valid.eq(issue.valid),
            scalar.issue.payload.eq(issue.payload),
            scalar.entry.eq(self.collectors.entry),
        ]
        if "alone" in self.pipelines.signature.members:
            m.d.comb += self.pipelines.alone.eq(scalar.clocked[Unit.SFU].alone)
        takers = self.collectors if self.collectors.caches else scalar
        for source, sink in zip(self.registers.operand, takers.operand, strict=True):
            wiring.connect(m, source, sink)
        if self.collectors.caches:
            m.d.comb += [
                sink.eq(source) for source, sink in zip(self.collectors.offered, scalar.offered, strict=True)
            ]
            for kept, known in zip(self.collectors.kept, scalar.kept, strict=True):
                m.d.comb += [
                    sink.as_value().eq(source.as_value()) for source, sink in zip(kept, known, strict=True)
                ]
        for port, taker in zip(self.collectors.dispatch, scalar.dispatch, strict=True):
            m.d.comb += [
                taker.valid.eq(port.valid & port.ready),
                taker.collector.eq(port.payload.collector),
                taker.warp.eq(port.payload.result.warp),
                taker.seq.eq(port.payload.result.seq),
            ]

    def _may_issue(self, m: Module) -> tuple[Value, Value]:
        """Masks of the warps that may issue as far as their registers are concerned, and of those that lack
        physical ones."""
        registers = self.registers
        everyone = ~Const(0, len(self.status.active))
        there: Value = registers.may_issue if registers.follows else everyone
        if not registers.renames:
            return there, ~everyone
        for source, sink in zip(self.buffers.hazards, registers.hazards, strict=True):
            m.d.comb += [getattr(sink, name).eq(getattr(source, name)) for name in source.signature.members]
        return there & ~registers.lacking, registers.lacking

    def _rename(self, m: Module) -> None:
        """Registers that are renamed follow what issues, what is read and written, and which warps end."""
        registers, status, collectors = self.registers, self.status, self.collectors
        m.d.comb += [
            registers.launch.eq(self.launch),
            registers.here.eq(status.here),
            registers.slide.eq(status.done),
            registers.entry.eq(collectors.entry),
            registers.end.eq(self.in_flight.drain),
        ]
        m.d.comb += [
            sink.slots.eq(source.slots)
            for source, sink in zip(collectors.read_done, registers.done, strict=True)
        ]
        if collectors.caches:
            results = [(offer.taken, offer.payload) for offer in self.results.offer]
        else:
            results = [(result.valid & result.ready, result.payload) for result in self.results.result]
        for (taken, payload), port in zip(results, registers.finished, strict=True):
            m.d.comb += [port.valid.eq(taken), port.warp.eq(payload.warp), port.register.eq(payload.register)]

    def _register_file(self, m: Module) -> None:
        registers, collectors, scoreboard = self.registers, self.collectors, self.scoreboard
        wiring.connect(m, wiring.flipped(self.start), registers.start)
        wiring.connect(m, collectors.read, registers.read)
        for source, sink in (
            *zip(registers.deliver, collectors.deliver, strict=True),
            *zip(collectors.read_done, scoreboard.read, strict=True),
        ):
            wiring.connect(m, source, sink)
        if registers.renames or registers.follows:
            issue = self.status.issue
            m.d.comb += [registers.issue.valid.eq(issue.valid), registers.issue.payload.eq(issue.payload)]
        if registers.renames:
            self._rename(m)
        if registers.follows:
            self._cache_registers(m)
        else:
            for outer, inner in zip(self.write, registers.write, strict=True):
                wiring.connect(m, wiring.flipped(outer), inner)
        if collectors.caches:
            self._keep_results(m)
        elif registers.follows:
            for result, written in zip(self.results.result, scoreboard.written, strict=True):
                m.d.comb += [
                    written.valid.eq(result.valid & result.ready),
                    written.warp.eq(result.payload.warp),
                    written.register.eq(result.payload.register),
                ]
        else:
            for source, sink in zip(registers.written, scoreboard.written, strict=True):
                wiring.connect(m, source, sink)

    def _cache_registers(self, m: Module) -> None:
        """A register file cache: it follows what the scheduler and the PREFETCHes say, and asks for results
        by unit."""
        registers, scheduler, status = self.registers, self.scheduler, self.status
        m.d.comb += [
            registers.activate.eq(scheduler.activated.any()),
            registers.activated.eq(encode(scheduler.activated)),
            registers.deactivate.eq(scheduler.deactivated),
            registers.ended.eq(status.over),
            registers.quiet.eq(self.scoreboard.quiet),
        ]
        if registers.notes:
            wiring.connect(m, registers.owed, self.scoreboard.owed)
        if registers.prefetches:
            m.d.comb += [
                registers.prefetch.eq(self._prefetch),
                registers.prefetching.eq(scheduler.pick),
                registers.registers.eq(self.immediate.bits),
                self.immediate.valid.eq(self._prefetch),
                self.immediate.pc.eq(status.uop.pc),
            ]
        for unit, (outer, inner) in enumerate(zip(self.keep, registers.keep, strict=True)):
            m.d.comb += inner.value.eq(outer.value)
            asks = [inner, *([self.collectors.keep[unit]] if self.collectors.caches else [])]
            m.d.comb += outer.valid.eq(reduce(or_, (ask.valid for ask in asks)))
            m.d.comb += [
                getattr(outer, name).eq(getattr(inner, name)) for name in ("warp", "seq", "register", "mask")
            ]

    def _keep_results(self, m: Module) -> None:
        """Collectors that keep results, and may evict them."""
        collectors, results = self.collectors, self.results
        for offer, taker, written in zip(
            results.offer, collectors.result, self.scoreboard.written, strict=True
        ):
            wiring.connect(m, offer, taker)
            domain = m.d.comb if self.moves is None else m.d.sync  # a result is compressed before it is there
            domain += [
                written.valid.eq(offer.taken),
                written.warp.eq(offer.payload.warp),
                written.register.eq(offer.payload.register),
            ]
        m.d.comb += collectors.first.eq(results.first)
        if collectors.waits:
            m.d.comb += [
                collectors.ready.eq(self.status.collecting),
                collectors.idle.eq(~self.status.issues),
                collectors.sthld.eq(self.sthld),
            ]
        for outer, inner in zip(self.keep, collectors.keep, strict=True):
            if self.registers.follows:
                m.d.comb += inner.value.eq(outer.value)
            else:
                wiring.connect(m, wiring.flipped(outer), inner)
        if collectors.evicts:
            wiring.connect(m, collectors.evicted, self.registers.evicted)
            if self.moves is not None:
                self._keep_plain(m)
            m.d.comb += results.evicted.eq(collectors.evicted.valid & collectors.evicted.ready)

    def _keep_plain(self, m: Module) -> None:
        """A value that is evicted while a write of its register is pending or issues is not compressed."""
        evicted, issue, owed = self.collectors.evicted.payload, self.status.issue, self.scoreboard.owed
        uop = issue.payload.uop
        writes = (evicted.register - uop.destination)[:8] < uop.count
        m.d.comb += [
            owed.warp.eq(evicted.warp),
            owed.register.eq(evicted.register),
            self.registers.plain.eq(
                owed.pending | issue.valid & (issue.payload.warp == evicted.warp) & writes
            ),
        ]

    def _execution(self, m: Module) -> None:
        pipelines, results = self.pipelines, self.results
        wiring.connect(m, wiring.flipped(self.lsu), pipelines.lsu)
        wiring.connect(m, wiring.flipped(self.returned), pipelines.returned)
        m.d.comb += [self.registers.first.eq(results.first), self.issues.eq(self.status.issues)]
        for unit in range(UNITS):
            wiring.connect(m, self.collectors.dispatch[unit], pipelines.dispatch[unit])
            wiring.connect(m, pipelines.result[unit], results.head[unit])
            wiring.connect(m, results.result[unit], self.registers.result[unit])
            retired = results.retired[unit]
            for taker in (
                self.scoreboard.retired[unit],
                self.status.retired[unit],
                self.in_flight.retired[unit],
            ):
                m.d.comb += [
                    getattr(taker, name).eq(getattr(retired, name)) for name in retired.signature.members
                ]

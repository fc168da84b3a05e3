"""A sub-core: assembly of the rooms, and their order within a cycle.

The phases of a cycle, in order:

 1. look: the mapping sees the warps' first uops, which decides who may issue;
 2. activate: the scheduler chooses the active warps of the next cycle;
 3. begin: the storage's stages write what they took before;
 4. write back: results, and what collectors evict, are offered to the register file;
 5. land: registers whose writes are done no longer hinder anybody;
 6. read: the banks serve operands, and what a cache moves;
 7. dispatch: complete uops go to their units;
 8. collect: operands that were read arrive at the collectors;
 9. fill: an instruction buffer takes a uop;
10. issue: the scheduler picks a warp; the uop of the one whose turn it is, or the move that must go before
    it, goes to its collector; another warp's extra bit is served;
11. account: what held in the cycle is reported;
12. edge: collectors, mapping and hierarchy go on to the next cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from warpbank.arch.events import Stall
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import MOVE, NOTICES, Control, Memory
from warpbank.golden.check import Checker
from warpbank.golden.execute.pipelines import Pipelines
from warpbank.golden.execute.result_arbiter import ResultArbiter
from warpbank.golden.front_end.instruction_buffer import InstructionBuffers
from warpbank.golden.front_end.issue import Status
from warpbank.golden.front_end.issue_stage import Choice, IssueStage
from warpbank.golden.front_end.scoreboard import Scoreboard
from warpbank.golden.probe import Probe
from warpbank.golden.registry import build_collectors, build_main, build_registers, build_scheduler
from warpbank.golden.stream import PREDICATE_BIT, TraceUop, WarpStream
from warpbank.golden.values import NEVER

_FENCE: Final = Memory.FENCE
_PREFETCH: Final = Control.PREFETCH
_ISSUED: Final = Stall.ISSUED
_CHOSEN: Final = Stall.CHOSEN


class SubCore:
    """One sub-core.

    All phases of a cycle work on the state of the clock edge; their order is such that none sees what another
    one writes in this cycle (dispatch before collect, fill before issue), except that write-back takes banks
    from read, and a refused dispatch colours the stall reason.

    A sub-core sleeps until `wake` when nothing can happen before; the cycles slept are accounted for when it
    wakes, or by `settle`. Where the hierarchy alone has work (a cache moves registers) it does that while the
    rest sleeps on, until it has something for the others.

    Parameters
    ----------
    number : of this sub-core.
    config, scheme : the machine and its register file.
    checker : compares operands at dispatch.
    at_issue : called with every uop that arrives at a barrier or ends its warp.
    at_drain : called with (sub-core, warp) when a warp drains.
    wake_lsu : called with the cycle in which the load/store unit has to look.
    probe : receives the events.
    """

    def __init__(
        self,
        number: int,
        config: SmConfig,
        scheme: Scheme,
        checker: Checker,
        at_issue: Callable[[TraceUop], None],
        at_drain: Callable[[int, int], None],
        wake_lsu: Callable[[int], None],
        probe: Probe,
    ) -> None:
        core = config.sub_core
        self.number = number
        self.probe = probe
        self._checker = checker
        self._at_issue = at_issue
        self._at_drain = at_drain
        self.buffers = InstructionBuffers(core, probe)
        self.scoreboard = Scoreboard(core)
        self.status = Status(self.buffers, self.scoreboard)
        self._entries = self.buffers.entries
        self.scheduler = build_scheduler(config, scheme, probe)
        stages, pick = core.front_end.issue_stages, self.scheduler.pick
        self.choice = IssueStage(pick, stages) if stages else Choice(pick)
        self.main = build_main(config, scheme, self.scoreboard.pending, probe)
        self.mapping, self.storage = self.main.mapping, self.main.storage
        self.registers = build_registers(config, scheme, self.main, self.scoreboard.quiet, probe)
        self.collectors = build_collectors(config, scheme, self.registers, self._read, probe)
        self.pipelines = Pipelines(config, checker, wake_lsu, probe, self.storage.dispatched)
        self.results = ResultArbiter(
            self.pipelines, self.registers, self.collectors, self._written, self._retired, probe
        )
        ports = probe.ports
        self._issues, self._retires = ports["issue"], ports["retire"]
        self._reasons, self._occupancy, self._pends = (
            ports["scheduler"],
            ports["occupied"],
            ports["ready_pending"],
        )
        self.stalls = [0] * len(Stall)
        self.wake = NEVER  # next cycle to step
        self._rest_wakes = NEVER  # next cycle in which anything but the hierarchy has work
        self._active = self.scheduler.active  # warps that may issue, at the clock edge
        self.flying = [0] * core.warps
        self._lengths = [0] * core.warps
        self._told_late = stages > 1  # that a warp has drained is told in the cycle after
        self._leaving: list[int] = []  # warps of which that is to be told
        self.retired = [0] * core.warps
        self._settled = True
        self._new = 0  # warps that have issued, or whose buffer was empty, in the last cycle
        self._occupied = 0  # collectors, at the clock edge
        self._idle_reason = Stall.NO_WARP
        self._ready_pending = 0  # warps that are ready but not active, where nothing issues
        self._accounted = 0  # first cycle whose scheduler reason is not yet counted

    def launch(self, cycle: int, registers: int, exempt: int, slots: int, kept: int) -> None:
        """A launch begins in this cycle (see `Mapping.launch`)."""
        self.registers.launch(registers, exempt, slots, kept)
        self.collectors.launch()
        if self.registers.busy or self.collectors.busy:
            self.wake_at(cycle)

    def start(self, warp: int, rows: int, stream: WarpStream) -> None:
        """Start a warp, with `rows` rows of every bank, in this slot; it can be filled from the next cycle
        on."""
        self.registers.start(warp, rows)
        self.buffers.start(warp, stream)
        self.scheduler.start(warp)
        self.collectors.start(warp)
        self.status.live |= 1 << warp
        self.status.changed |= 1 << warp
        self._lengths[warp] = stream.length
        self.retired[warp] = 0
        self.probe.emit("warp_start", warp, warp * rows)

    def serve(self, warps: int, cycle: int) -> None:
        """Serve the CTA of these warps first, from `cycle` on."""
        if self.mapping.serve(warps):
            self._settled = False
            self.wake_at(cycle)

    def release(self, warp: int) -> None:
        """The barrier at which the warp waits is open."""
        self.status.at_barrier &= ~(1 << warp)
        self.status.changed |= 1 << warp

    def wake_at(self, cycle: int) -> None:
        """Somebody outside has something for the sub-core in a cycle to come."""
        self.wake = min(self.wake, cycle)
        self._rest_wakes = min(self._rest_wakes, cycle)

    def step(self, cycle: int) -> None:
        """One clock cycle."""
        self.probe.cycle = cycle
        if cycle < self._rest_wakes and not (self._concerned or self.storage.busy):
            self._step_hierarchy(cycle)
        else:
            self._step_all(cycle)

    @property
    def _concerned(self) -> bool:
        """Something has happened that others than the hierarchy take note of in this cycle."""
        return self.status.changed != 0 or self.mapping.busy or bool(self.registers.landing)

    def _step_hierarchy(self, cycle: int) -> None:
        """One cycle in which the hierarchy alone has work. If it has something for the others then, they are
        no longer asleep at the end of the cycle."""
        registers = self.registers
        before = registers.may_issue, registers.may_activate
        arrived = registers.step()
        after = registers.may_issue, registers.may_activate
        if before == after and not (arrived or self._concerned):
            self.wake = min(self._rest_wakes, registers.next_cycle(cycle + 1))
            return
        self.settle(cycle + 1)
        for collector, slot, tag, value, metadata in arrived:
            self.collectors.deliver(collector, slot, tag, value, metadata)
        self._end(cycle)

    def _step_all(self, cycle: int) -> None:
        """One cycle in which anything can happen."""
        if self._accounted < cycle:
            self.settle(cycle)
        status, collectors, registers = self.status, self.collectors, self.registers
        mapping = self.mapping
        # look
        if status.changed or not self._settled:
            status.update()
            mapping.look(self._entries, status.here, self._new)
            mapping.settle(status.here)
        self._new = 0
        active = self._active & registers.may_issue & ~(mapping.lacking | mapping.choosing)
        ready = status.ready & active
        entering = status.enters & active
        eligible = ready & (collectors.may_issue & ~status.free | status.free & collectors.may_slide)
        # activate
        came, gone = self.scheduler.activate(status, mapping.lacking, registers)
        live = status.live
        # begin
        registers.begin()
        # write back
        for warp in self._leaving:
            self._drain(warp)
        self._leaving.clear()
        self.results.step(cycle)
        # land
        landing = registers.landing
        for warp, mask in landing:
            self._clear(warp, mask)
        landing.clear()
        # read
        arrived = registers.step()
        # dispatch
        refused = collectors.dispatch(cycle, self.pipelines)
        # collect
        for collector, slot, tag, value, metadata in arrived:
            collectors.deliver(collector, slot, tag, value, metadata)
        # fill
        filled = self.buffers.step(cycle)
        status.changed |= filled
        self._new |= filled
        # issue
        if entering:
            self._enter(entering)
        turn = self.choice.chosen
        warp = self.choice.step(ready, eligible, collectors.holds)
        if warp >= 0:
            self._issue(warp, cycle)
            reason = _ISSUED
        else:
            if collectors.waits(ready & ~status.free):
                collectors.wait()
            reason = _CHOSEN if self.choice.comes and not turn else status.stall(refused, active)
        # account
        self._ready_pending = 0 if self.choice.picks else (status.ready & ~self._active).bit_count()
        self.stalls[reason] += 1
        self._accounted = cycle + 1
        if self.probe.sink is not None:
            self._reasons.emit(reason)
        if self._occupied:
            self._occupancy.emit(self._occupied)
        if self._ready_pending:
            self._pends.emit(self._ready_pending)
        # edge
        self._end(cycle, came, gone, live)

    def _end(self, cycle: int, came: int = 0, gone: int = 0, live: int = 0) -> None:
        """The clock edge. `came`, `gone`: warps that have become active and pending in this cycle; `live`:
        those not over before it."""
        status, collectors, mapping = self.status, self.collectors, self.mapping
        self._occupied = collectors.edge()
        if mapping.busy:
            self.registers.edge()
        self._active = self.scheduler.active
        if came | gone:
            self._activate(came, gone, live)
        if status.changed:
            status.update()
        self._settled = mapping.look(self._entries, status.here, self._new)
        active = self._active & self.registers.may_issue & ~(mapping.lacking | mapping.choosing)
        self._rest_wakes = self._next_cycle(cycle, active)
        self.wake = min(self._rest_wakes, self.registers.next_cycle(cycle + 1))
        if self._rest_wakes > cycle + 1:
            self._idle_reason = status.stall(bool(collectors.any_ready), active)
            self._ready_pending = (status.ready & ~self._active).bit_count()

    def _issue(self, warp: int, cycle: int) -> None:
        self._new |= 1 << warp
        uop = self.buffers.entries[warp][0]
        move = self.registers.before(uop)
        if move is not None:
            uop = move
            self.probe.emit("move", warp, uop.seq, uop.destination)
        else:
            self.buffers.pop(warp, cycle)
            self._issues.emit(warp, uop.seq, uop.pc)
        self.status.issue(uop)
        self._checker.issue(uop)
        self.flying[warp] += 1
        self.registers.issue(uop)
        if uop.control in NOTICES:  # the collectors' windows do not move
            if uop.control is _PREFETCH:
                self.registers.prefetch(uop)
            self._retired(uop)
        elif uop.collects:
            self.scoreboard.issue(uop)
            self.collectors.allocate(uop)
        else:
            self.collectors.slide(warp)
            self._retired(uop)
        if uop.arrive or uop.last:
            self._at_issue(uop)

    def _enter(self, warps: int) -> None:
        """The bit-vector that the extra bit of one of these warps' next uops announces comes in: a PREFETCH
        that takes no issue slot."""
        uop = self.buffers.enter(warps)
        self.registers.prefetch(uop)
        self.status.changed |= 1 << uop.warp

    def _activate(self, came: int, gone: int, live: int) -> None:
        """Tell the registers which warps have become active and pending in this cycle; `live`: those not over
        before it."""
        for warp in range((came | gone).bit_length()):
            if came >> warp & 1:
                self.registers.activate(warp)
            elif gone >> warp & 1:
                self.registers.deactivate(warp, not live >> warp & 1)

    def _read(self, warp: int, register: int) -> None:
        """An operand no longer hinders a write of its register."""
        self.scoreboard.read(warp, register)
        self.mapping.operand_read(warp, register)
        self.status.changed |= 1 << warp

    def _written(self, warp: int, mask: int, absorbed: bool) -> None:
        """Registers or predicates in `mask` have been written; `absorbed`: into a collector only."""
        self.mapping.result_written(warp, mask)
        if mask >> PREDICATE_BIT:
            self._clear(warp, mask)
        elif absorbed:
            self.registers.keep(warp, mask)

    def _clear(self, warp: int, mask: int) -> None:
        """Registers or predicates in `mask` are no longer pending."""
        self.scoreboard.written(warp, mask)
        self.status.changed |= 1 << warp

    def _retired(self, uop: TraceUop) -> None:
        """The last write of `uop` is done."""
        assert not uop.retired, f"uop {uop.seq} of warp {uop.warp} retires twice"
        uop.retired = True
        warp = uop.warp
        self.flying[warp] -= 1
        if uop.seq & MOVE:
            return
        self._retires.emit(warp, uop.seq)
        if uop.memory == _FENCE:
            self.status.fenced &= ~(1 << warp)
            self.status.changed |= 1 << warp
        self.retired[warp] += 1
        if not self.flying[warp] and not self.status.live >> warp & 1:
            assert self.retired[warp] == self._lengths[warp], f"warp {warp} lost a uop"
            if self._told_late:
                self._leaving.append(warp)
            else:
                self._drain(warp)

    def _drain(self, warp: int) -> None:
        """The warp drains: its last uop has retired, with `_told_late` in the cycle before."""
        self.mapping.end(warp)
        self._at_drain(self.number, warp)

    def settle(self, end: int) -> None:
        """Account for the cycles slept before cycle `end`."""
        first = self._accounted
        self.stalls[self._idle_reason] += end - first
        self._reasons.emit_during(first, end, self._idle_reason)
        if self._occupied:
            self._occupancy.emit_during(first, end, self._occupied)
        if self._ready_pending:
            self._pends.emit_during(first, end, self._ready_pending)
        self._accounted = end

    def _next_cycle(self, cycle: int, active: int) -> int:
        """The next cycle in which anything but the hierarchy's own work can happen here, unless somebody
        outside wakes the sub-core; `active`: warps that may issue in the one after `cycle`."""
        soon = cycle + 1
        status, collectors = self.status, self.collectors
        ready = status.ready & active
        if (
            self.choice.busy(ready, ready & (collectors.may_issue | status.free))
            or not self._settled
            or status.enters & active
            or collectors.busy
            or self._leaving
        ):
            return soon
        if self.scheduler.activates(status, self.mapping.lacking, self.registers):
            return soon
        best = self.buffers.next_cycle(cycle)
        if best > soon and self.pipelines.pending:
            best = min(best, self.results.next_cycle(cycle))
        if collectors.waits(ready & ~status.free):
            return soon
        if best > soon and collectors.any_ready:
            best = min(best, collectors.next_cycle(cycle, self.pipelines))
        return best

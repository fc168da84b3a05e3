"""A sub-core: assembly of the rooms, and their order within a cycle."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.events import Stall
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import MOVE, NOTICES, Control, Memory
from warpbank.golden.check import OperandChecker
from warpbank.golden.execute.pipelines import Pipelines
from warpbank.golden.execute.result_arbiter import ResultArbiter
from warpbank.golden.front_end.instruction_buffer import InstructionBuffers
from warpbank.golden.front_end.issue import Status
from warpbank.golden.front_end.scoreboard import Scoreboard
from warpbank.golden.front_end.two_level import TwoLevel
from warpbank.golden.hierarchy.renaming_hooks import RenamingHooks
from warpbank.golden.probe import Probe
from warpbank.golden.registry import build_collectors, build_registers, build_scheduler
from warpbank.golden.stream import PREDICATE_BIT, TraceUop, WarpStream
from warpbank.golden.values import NEVER


class SubCore:
    """One sub-core.

    Within a cycle: write-back, bank read, dispatch, collect, fill, issue. All of them work on the state of
    the clock edge; the calls are ordered so that none sees what another one writes in this cycle (dispatch
    before collect, fill before issue), except that write-back takes banks from bank read, and a refused
    dispatch colours the stall reason.

    A sub-core sleeps until `wake` when nothing can happen before; the cycles slept are accounted for when it
    wakes, or by `settle`.

    Parameters
    ----------
    number : of this sub-core.
    config, scheme : the machine and its register file.
    checker : compares operands at dispatch; None: no check.
    at_issue : called with every uop that arrives at a barrier or ends its warp.
    at_drain : called with (sub-core, warp) when a warp's last uop has retired.
    wake_lsu : called with the cycle in which the load/store unit has to look.
    probe : receives the events; counts.
    """

    def __init__(
        self,
        number: int,
        config: SmConfig,
        scheme: Scheme,
        checker: OperandChecker | None,
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
        self.scheduler = build_scheduler(config, scheme, probe)
        self._sets = self.scheduler if isinstance(self.scheduler, TwoLevel) else None
        self._active = -1 if self._sets is None else 0  # warps that may issue, at the clock edge
        self.registers = build_registers(config, scheme, self.scoreboard, probe)
        self.renamed = self.registers if isinstance(self.registers, RenamingHooks) else None
        self.collectors = build_collectors(config, scheme, self.registers, self._read, probe)
        self.pipelines = Pipelines(config, checker, wake_lsu, probe, self.registers.dispatched)
        self.results = ResultArbiter(
            self.pipelines, self.registers, self.collectors, self._written, self._retired, probe
        )
        self.stalls = [0] * len(Stall)
        self.wake = NEVER
        self._flying = [0] * core.warps
        self._lengths = [0] * core.warps
        self.retired = [0] * core.warps
        self._settled = True
        self._occupied = 0  # collectors, at the clock edge
        self._idle_reason = Stall.NO_WARP
        self._ready_pending = 0  # warps that are ready but not active, where nothing issues
        self._accounted = 0  # first cycle whose scheduler reason is not yet counted
        self._moves = self.registers.moves
        self._land = self.registers.land
        # The registers hear of all that issues.
        self._told = self.renamed is not None or self._moves is not None or self.registers.follows
        self._kept: list[tuple[int, int]] = []  # registers whose results collectors have kept in this cycle

    def start(self, warp: int, row: int, stream: WarpStream) -> None:
        """A warp starts in this slot; it can be filled from the next cycle on."""
        self.registers.start(warp, row)
        self.buffers.start(warp, stream)
        self.scheduler.start(warp)
        self.collectors.start(warp)
        self.status.live |= 1 << warp
        self.status.changed |= 1 << warp
        self._lengths[warp] = stream.length
        self.retired[warp] = 0
        if self.probe.sink is not None:
            self.probe.emit("warp_start", warp, row)

    def release(self, warp: int) -> None:
        """The barrier at which the warp waits is open."""
        self.status.at_barrier &= ~(1 << warp)
        self.status.changed |= 1 << warp

    def step(self, cycle: int) -> None:
        """One clock cycle."""
        self.probe.cycle = cycle
        if self._accounted < cycle:
            self.settle(cycle)
        status = self.status
        if status.changed:
            status.update()
        collectors = self.collectors
        renamed = self.renamed
        if renamed is not None:
            self._look(renamed)
            renamed.settle(status.live & ~status.at_barrier)
        active = self._active & self.registers.may_issue
        ready = status.ready & active
        eligible = ready & (collectors.may_issue & ~status.free | status.free & collectors.may_slide)
        came = gone = 0
        if self._sets is not None:
            came, gone = self._sets.edge(self._away(), self.registers.may_activate)
        live = status.live

        landed = [] if self._land is None else self._land()
        kept, self._kept = self._kept, []
        if self.pipelines.pending or collectors.busy:
            self.results.step(cycle)
        for warp, register in landed:
            self._clear(warp, 1 << register)
        for warp, mask in kept:
            self._clear(warp, mask)
        arrived = self.registers.step()
        refused = collectors.dispatch(cycle, self.pipelines) if collectors.any_ready else False
        for collector, slot, tag, value in arrived:
            collectors.deliver(collector, slot, tag, value)
        status.changed |= self.buffers.step(cycle)
        if eligible:
            self._issue(self.scheduler.pick(eligible, collectors.holds), cycle)
            reason = Stall.ISSUED
        else:
            if collectors.waits(ready & ~status.free):
                collectors.wait()
            reason = status.stall(refused, active)
        self._ready_pending = 0 if eligible else (status.ready & ~self._active).bit_count()
        self._account(reason, cycle)

        self._occupied = collectors.edge()
        if renamed is not None:
            renamed.edge()
        if self._sets is not None:
            self._active = self._sets.active
            if self.registers.follows:
                self._activate(came, gone, live)
        if status.changed:
            status.update()
        self._settled = self._look(renamed) if renamed is not None else True
        self.wake = self._next_cycle(cycle)
        if self.wake > cycle + 1:
            self._idle_reason = status.stall(
                bool(collectors.any_ready), self._active & self.registers.may_issue
            )
            self._ready_pending = (status.ready & ~self._active).bit_count()

    def _issue(self, warp: int, cycle: int) -> None:
        uop = self.buffers.entries[warp][0]
        probe = self.probe
        move = None
        if self._moves is not None:
            move = self._moves.before(uop, 0 if self.renamed is None else self.renamed.missing(uop))
        if move is not None:
            uop = move
            probe.counters["issue.moves"] += 1
            if probe.sink is not None:
                probe.emit("move", warp, uop.seq, uop.destination)
        else:
            self.buffers.pop(warp, cycle)
            probe.counters["issue.uops"] += 1
            if probe.sink is not None:
                probe.emit("issue", warp, uop.seq, uop.pc)
        self.status.issue(uop)
        if self._checker is not None:
            self._checker.issue(uop)
        self._flying[warp] += 1
        if self._told:
            self.registers.issue(uop)
        if uop.control in NOTICES:  # the collectors' windows do not move
            if uop.control is Control.PREFETCH:
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

    def _away(self) -> int:
        """Warps that can not issue for long, those that lack only physical registers among them."""
        status = self.status
        return status.away if self.renamed is None else status.away | status.ready & self.renamed.lacking

    def _look(self, renamed: RenamingHooks) -> bool:
        """Let registers that are renamed see the warps' first uops, which decides who may issue. Returns
        whether the same warp is served first as before."""
        first = [entries[0] if entries else None for entries in self.buffers.entries]
        return renamed.look(first, self.status.live & ~self.status.at_barrier)

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
        if self.renamed is not None:
            self.renamed.operand_read(warp, register)
        self.status.changed |= 1 << warp

    def _written(self, warp: int, mask: int, absorbed: bool = False) -> None:
        """Registers or predicates in `mask` have been written; `absorbed`: into a collector only."""
        if self.renamed is not None:
            self.renamed.result_written(warp, mask)
        if self._land is not None and absorbed:
            self._kept.append((warp, mask))
        elif self._land is None or mask >> PREDICATE_BIT:
            self._clear(warp, mask)

    def _clear(self, warp: int, mask: int) -> None:
        """Registers or predicates in `mask` are no longer pending."""
        self.scoreboard.written(warp, mask)
        self.status.changed |= 1 << warp

    def _retired(self, uop: TraceUop) -> None:
        """The last write of `uop` is done."""
        assert not uop.retired, f"uop {uop.seq} of warp {uop.warp} retires twice"
        uop.retired = True
        warp = uop.warp
        self._flying[warp] -= 1
        if uop.seq & MOVE:
            return
        probe = self.probe
        probe.counters["retire.uops"] += 1
        if probe.sink is not None:
            probe.emit("retire", warp, uop.seq)
        if uop.memory == Memory.FENCE:
            self.status.fenced &= ~(1 << warp)
            self.status.changed |= 1 << warp
        self.retired[warp] += 1
        if not self._flying[warp] and not self.status.live >> warp & 1:
            assert self.retired[warp] == self._lengths[warp], f"warp {warp} lost a uop"
            if self.renamed is not None:
                self.renamed.end(warp)
            self._at_drain(self.number, warp)

    def _account(self, reason: Stall, cycle: int) -> None:
        self.stalls[reason] += 1
        self._accounted = cycle + 1
        probe = self.probe
        probe.counters["collector.residency"] += self._occupied
        if self._ready_pending:
            probe.counters["two_level.ready_pending"] += 1
        if probe.sink is not None:
            probe.emit("scheduler", reason)
            self._states(cycle)

    def settle(self, end: int) -> None:
        """Account for the cycles slept before cycle `end`."""
        probe = self.probe
        slept = end - self._accounted
        self.stalls[self._idle_reason] += slept
        probe.counters["collector.residency"] += self._occupied * slept
        if self._ready_pending:
            probe.counters["two_level.ready_pending"] += slept
        if probe.sink is not None:
            for cycle in range(self._accounted, end):
                probe.emit_at(cycle, "scheduler", self._idle_reason)
                self._states(cycle)
        self._accounted = end

    def _states(self, cycle: int) -> None:
        """Report what holds in all of a cycle."""
        if self._occupied:
            self.probe.emit_at(cycle, "occupied", self._occupied)
        if self._ready_pending:
            self.probe.emit_at(cycle, "ready_pending", self._ready_pending)

    def _next_cycle(self, cycle: int) -> int:
        """The next cycle in which anything can happen here, unless somebody outside wakes the sub-core."""
        soon = cycle + 1
        status = self.status
        ready = status.ready & self._active & self.registers.may_issue
        if (
            not self._settled
            or self.registers.busy
            or self.collectors.busy
            or ready & (self.collectors.may_issue | status.free)
        ):
            return soon
        if self._kept:
            return soon
        if self._sets is not None and self._sets.moves(self._away(), self.registers.may_activate):
            return soon
        best = self.buffers.next_cycle(cycle)
        if best > soon and self.pipelines.pending:
            best = min(best, self.results.next_cycle(cycle))
        if self.collectors.waits(ready & ~status.free):
            return soon
        if best > soon and self.collectors.any_ready:
            best = min(best, self.collectors.next_cycle(cycle, self.pipelines))
        return best

"""Streaming multiprocessor: assembly of the sub-cores and the units they share, and the clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from warpbank.arch.counters import COUNTERS
from warpbank.arch.events import Stall
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden.check import Checker, OperandChecker, OperandMismatch
from warpbank.golden.cta_dispatch import Cta, CtaDispatch
from warpbank.golden.execute.lsu import Lsu
from warpbank.golden.front_end.barrier import Barriers
from warpbank.golden.front_end.sthld import Sthld
from warpbank.golden.probe import Probe, Sink
from warpbank.golden.result import Result
from warpbank.golden.stream import TraceUop, WarpStream, templates_of
from warpbank.golden.sub_core import SubCore
from warpbank.golden.values import NEVER
from warpbank.program.errors import ExecutionError
from warpbank.program.trace.schema import Trace

__all__ = ["OperandMismatch", "Result", "Sm", "simulate"]

#: Cycles between two reports of progress.
REPORT_CYCLES: Final = 1000


class Sm:
    """Streaming multiprocessor that runs a trace.

    Within a cycle: sub-cores, load/store unit, barriers, CTA dispatch. What they exchange passes through
    registers, so their order is free. A launch starts when the one before has drained.

    Parameters
    ----------
    trace : the warps' uop streams.
    config : the machine, before the scheme changes it (`Scheme.machine`).
    scheme : its register file.
    events : receives the events (see `warpbank.golden.probe.Sink`); None: none are made.
    wanted : names of the events that it receives; None: all.
    check_operands : compare every operand at dispatch.
    skip : jump over cycles in which nothing can happen. The result does not depend on it.

    Attributes
    ----------
    trace, templates : what it runs, and the static part of every uop.
    cycle : the present clock cycle.
    resident : (sub-core, warp slot) -> row of `trace.warps` of the warp that runs there.
    started : warps started so far, all launches.
    """

    #: The class of the sub-cores; tests put broken ones here.
    sub_core_class: type[SubCore] = SubCore

    def __init__(
        self,
        trace: Trace,
        config: SmConfig,
        scheme: Scheme,
        *,
        events: Sink | None = None,
        wanted: frozenset[str] | None = None,
        check_operands: bool = True,
        skip: bool = True,
    ) -> None:
        config = scheme.machine(config)
        self.trace = trace
        self._config = config
        self._skip = skip
        self.templates = templates_of(trace)
        self.checker = (
            OperandChecker(trace, config.sub_cores, config.sub_core.warps) if check_operands else Checker()
        )
        self.probe = Probe(-1, events, wanted)
        self.cores = [
            self.sub_core_class(
                number,
                config,
                scheme,
                self.checker,
                self._at_issue,
                self._at_drain,
                self._wake_lsu,
                Probe(number, events, wanted),
            )
            for number in range(config.sub_cores)
        ]
        self.lsu = Lsu(
            config,
            [core.pipelines for core in self.cores],
            self._wake_core,
            self.probe,
            [core.probe for core in self.cores],
        )
        self.barriers = Barriers(config.cta.barriers, self.probe, self._release)
        self.ctas = CtaDispatch(config, trace)
        self._cta_of: dict[tuple[int, int], Cta] = {}
        self._drained: list[tuple[int, int]] = []
        self.cycle = 0
        self._running = self._begun = False
        self._following = 0  # the next cycle to run
        self._dispatch_at = 0  # cycle in which a CTA may start
        self._launched = 0  # first cycle of the current launch
        self._launches: list[dict[str, Any]] = []
        self.resident: dict[tuple[int, int], int] = {}
        self.started = 0
        collector = config.sub_core.collector
        adapts = collector.sthld == "adaptive" and self.cores[0].collectors.adapts
        self.sthld = Sthld(collector.sthld_interval, collector.sthld_max, adapts)

    def _adapt(self, cycle: int) -> None:
        """End the intervals that are over at the start of `cycle`."""
        sthld = self.sthld
        while sthld.due <= cycle:
            end = sthld.due - 1
            sthld.end(sum(core.probe.count("issue.uops") for core in self.cores))
            for core in self.cores:
                core.collectors.adapt(sthld.value)
            self.probe.emit_at(end, "sthld", sthld.state, sthld.value)

    def _wake_lsu(self, cycle: int) -> None:
        self.lsu.wake = min(self.lsu.wake, cycle)

    def _wake_core(self, number: int, cycle: int) -> None:
        self.cores[number].wake_at(cycle)

    def _release(self, number: int, warp: int) -> None:
        self.cores[number].release(warp)
        self._wake_core(number, self.cycle + 1)

    def _at_issue(self, uop: TraceUop) -> None:
        """A uop arrives at a barrier, or ends its warp."""
        slot = self._cta_of[uop.sub_core, uop.warp].slot
        if uop.arrive:
            self.barriers.arrive(slot, uop)
        if uop.last:
            self.barriers.exit(slot)

    def _at_drain(self, number: int, warp: int) -> None:
        self._drained.append((number, warp))

    def _start_cta(self, cycle: int) -> bool:
        """Start the next CTA if it fits."""
        started = self.ctas.start()
        if started is None:
            return False
        cta, rows = started
        self.probe.emit("cta_start", cta.slot)
        self.barriers.start(cta.slot, len(rows))
        self.started += len(rows)
        for (number, warp), row in zip(cta.warps, rows, strict=True):
            self._cta_of[number, warp] = cta
            stream = WarpStream(
                self.trace, self.templates, self.trace.warps[row], number, warp, self._config.lanes
            )
            core = self.cores[number]
            core.probe.cycle = cycle
            core.start(warp, self.ctas.rows_per_warp, stream)
            self.checker.start(number, warp, row)
            self.resident[number, warp] = row
            self._wake_core(number, cycle + 1)
        self._serve(cycle + 1)
        return True

    def _serve(self, cycle: int) -> None:
        """Tell the sub-cores which CTA has its turn from `cycle` on."""
        for core, warps in zip(self.cores, self.ctas.served(), strict=True):
            core.serve(warps, cycle)

    def _end_ctas(self) -> bool:
        """Free the CTAs whose last warp drained in this cycle."""
        ended = False
        for place in self._drained:
            cta = self._cta_of.pop(place)
            del self.resident[place]
            cta.running -= 1
            if not cta.running:
                self.ctas.end(cta)
                ended = True
                self.probe.emit("cta_end", cta.slot)
        self._drained.clear()
        if ended:
            self._serve(self.cycle + 1)
        return ended

    def run(
        self,
        progress: Callable[[int, int], None] | None = None,
        every: int = REPORT_CYCLES,
        keep: Callable[[Sm], None] | None = None,
    ) -> Result:
        """Run the trace to its end, from its beginning or from the clock edge at which `keep` was called.

        Parameters
        ----------
        progress : called with (warp instructions retired, all warp instructions) at the end of a cycle,
            `every` cycles or more after the last time.
        every : cycles between two calls.
        keep : called with this machine between two cycles, `every` cycles or more after the last time; a copy
            that it makes of the machine runs on from there.

        Raises
        ------
        LaunchError : a CTA does not fit the machine.
        OperandMismatch : the register file delivered a wrong value.
        ExecutionError : no warp can ever proceed.
        """
        cores, lsu, ctas = self.cores, self.lsu, self.ctas
        sthld, barriers, drained = self.sthld, self.barriers, self._drained
        probe, skip = self.probe, self._skip
        launches = self._launches
        if not self._begun:
            self._begun, self._running = True, self._next_launch(self._following)
        running = self._running
        cycle, launched, dispatch_at = self._following, self._launched, self._dispatch_at
        report_at = cycle
        keep_at = NEVER if keep is None else cycle + every
        while running:
            self.cycle = probe.cycle = cycle
            if sthld.due <= cycle:
                self._adapt(cycle)
            for core in cores:
                if core.wake <= cycle:
                    core.step(cycle)
            if lsu.wake <= cycle:
                lsu.step(cycle)
            if barriers.busy:
                barriers.step()
            if dispatch_at <= cycle:
                dispatch_at = cycle + 1 if self._start_cta(cycle) else NEVER
            if drained and self._end_ctas():
                dispatch_at = cycle + 1
                if ctas.exhausted and not ctas.running:
                    launches.append({**ctas.describe(), "cycles": cycle + 1 - launched})
                    launched = cycle + 1
                    running = self._next_launch(cycle + 1)
            if cycle >= report_at:
                report_at = cycle + every
                self.trace.let_go()
                if progress is not None:
                    progress(
                        sum(core.probe.count("retire.uops") for core in cores), self.trace.warp_instructions
                    )
            following = lsu.wake if lsu.wake < dispatch_at else dispatch_at
            for core in cores:
                if core.wake < following:
                    following = core.wake
                    if following == cycle + 1:
                        break
            if following == NEVER and running:
                raise ExecutionError(self._deadlock(cycle))
            if skip or not running:
                cycle = following if running else cycle + 1
            else:
                cycle += 1
                lsu.wake = min(lsu.wake, cycle)
                for core in cores:
                    core.wake_at(cycle)
            if keep_at <= cycle and keep is not None and running:
                keep_at = cycle + every
                self._following, self._launched, self._dispatch_at = cycle, launched, dispatch_at
                keep(self)
        self._adapt(cycle)
        return self._result(cycle, launches)

    def _next_launch(self, cycle: int) -> bool:
        """Go on to the next launch that has any CTA; it begins in `cycle`."""
        self.lsu.launch()
        while self.ctas.next_launch():
            if not self.ctas.exhausted:
                for core in self.cores:
                    core.launch(cycle, self.ctas.registers, self.ctas.exempt, self.ctas.slots, self.ctas.kept)
                return True
        return False

    def _result(self, cycles: int, launches: list[dict[str, Any]]) -> Result:
        for core in self.cores:
            core.settle(cycles)
        probes = [self.probe, *(core.probe for core in self.cores)]
        counters = {name: sum(probe.count(name) for probe in probes) for name in COUNTERS}
        reasons = [reason.name.lower() for reason in Stall]
        per_scheduler = [dict(zip(reasons, core.stalls, strict=True)) for core in self.cores]
        stalls = {reason: sum(stall[reason] for stall in per_scheduler) for reason in reasons}
        assert all(sum(stall.values()) == cycles for stall in per_scheduler), (
            "a scheduler-cycle without, or with two reasons"
        )
        assert counters["retire.uops"] == counters["issue.uops"] == self.trace.warp_instructions, (
            "a uop was lost"
        )
        return Result(
            cycles=cycles,
            warp_instructions=counters["retire.uops"],
            stalls=stalls,
            stalls_per_scheduler=per_scheduler,
            counters=counters,
            operands_checked=self.checker.checked,
            launches=launches,
        )

    def _deadlock(self, cycle: int) -> str:
        """Describe what every warp waits for."""
        waits: list[str] = []
        for (number, warp), cta in sorted(self._cta_of.items(), key=lambda item: (item[1].slot, item[0])):
            core = self.cores[number]
            bit = 1 << warp
            entries = core.buffers.entries[warp]
            if core.status.at_barrier & bit:
                reason = self.barriers.waiting_at(number, warp)
            elif core.status.ready & bit:
                short = core.mapping.lacking & bit
                reason = "ready, for a physical register" if short else "ready, for a collector"
            elif entries:
                reason = f"a hazard of pc {entries[0].pc} ({self.trace.text[entries[0].pc].strip()})"
            else:
                reason = "its stream" if core.status.live & bit else "its last uops to retire"
            reason += core.mapping.holding(warp)
            waits.append(f"warp slot {warp} of sub-core {number} (CTA slot {cta.slot}) waits {reason}")
        return f"Deadlock in cycle {cycle}: no warp can ever proceed. " + "; ".join(waits) + "."


def simulate(
    trace: Trace,
    config: SmConfig,
    scheme: Scheme,
    *,
    events: Sink | list[Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
    check_operands: bool = True,
    skip: bool = True,
) -> Result:
    """Run `trace` on the machine `config` with the register file `scheme`. See `Sm` and `Sm.run`.

    `events` may be a list, to which every event is appended, or a function that receives them.
    """
    sink = events.append if isinstance(events, list) else events
    return Sm(trace, config, scheme, events=sink, check_operands=check_operands, skip=skip).run(progress)

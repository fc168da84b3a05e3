"""RTL engines' common part: a session that is advanced by cycles, the checks before it, and the result after
it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import Unit
from warpbank.golden.check import OperandMismatch
from warpbank.golden.cta_dispatch import CtaDispatch
from warpbank.golden.result import Result
from warpbank.program.errors import ExecutionError
from warpbank.program.trace.schema import FLAG_ARRIVE, FLAG_WAIT, Trace
from warpbank.sim.engines.base import EngineError, OnBuild, Progress, Waves, check_trace
from warpbank.sim.events import Batch, BatchSink

#: Cycles between two reports of progress, or two batches of events.
_CHUNK = 2000
_QUIET_CHUNK = 50_000


class Session(Protocol):
    """Session of the RTL with a trace, somewhere in its run."""

    cycle: int
    finished: bool

    def advance(self, until: int) -> None:
        """Run up to cycle `until` (or to the end). Raises OperandMismatch, ExecutionError."""

    def take(self) -> np.ndarray:
        """Events made since the last call (`warpbank.sim.events.RECORD`)."""

    @property
    def retired(self) -> int:
        """Warp instructions retired so far."""

    def result(self) -> Result:
        """Result of a finished run."""

    def close(self) -> None:
        """Free what the session holds; waves are complete then."""


class RtlEngine(ABC):
    """Engine that simulates hdl/."""

    name: str

    @abstractmethod
    def _session(
        self,
        trace: Trace,
        config: SmConfig,
        scheme: Scheme,
        *,
        events: bool,
        check_operands: bool,
        waves: Waves | None,
        on_build: OnBuild | None,
    ) -> Session:
        """A session of a trace and machine that have been checked."""

    def open(
        self,
        trace: Trace,
        config: SmConfig,
        scheme: Scheme,
        *,
        events: bool = False,
        check_operands: bool = True,
        waves: Waves | None = None,
        on_build: OnBuild | None = None,
    ) -> Session:
        """Start a run. `on_build` is called if the RTL has to be built first. See `Engine.run` for the
        rest."""
        check_trace(trace)
        config = scheme.machine(config)
        check_fits(trace, config)
        return self._session(
            trace,
            config,
            scheme,
            events=events,
            check_operands=check_operands,
            waves=waves,
            on_build=on_build,
        )

    def run(
        self,
        trace: Trace,
        config: SmConfig,
        scheme: Scheme,
        *,
        events: BatchSink | None = None,
        progress: Progress | None = None,
        check_operands: bool = True,
        waves: Waves | None = None,
        on_build: OnBuild | None = None,
    ) -> Result:
        """Run the trace to its end on the RTL."""
        session = self.open(
            trace,
            config,
            scheme,
            events=events is not None,
            check_operands=check_operands,
            waves=waves,
            on_build=on_build,
        )
        step = _QUIET_CHUNK if events is None else _CHUNK
        try:
            while not session.finished:
                start = session.cycle
                try:
                    session.advance(start + step)
                finally:
                    if events is not None:
                        events(Batch(start, session.cycle, session.take()))
                if progress is not None:
                    progress(session.retired, trace.warp_instructions)
            return session.result()
        finally:
            session.close()


def check_fits(trace: Trace, config: SmConfig) -> None:
    """Check, before anything is built, for what the golden model would raise on the way: LaunchError,
    ExecutionError."""
    dispatch = CtaDispatch(config, trace)
    while dispatch.next_launch():
        pass
    rows = np.flatnonzero(trace.dynamic["flags"] & FLAG_ARRIVE)
    arrivals = trace.dynamic[rows]
    if not len(arrivals):
        return
    beyond = arrivals[arrivals["barrier"] >= config.cta.barriers]
    if len(beyond):
        raise ExecutionError(
            f"pc {int(beyond[0]['pc'])} uses barrier {int(beyond[0]['barrier'])}, and the machine has "
            f"{config.cta.barriers} per CTA (cta.barriers)."
        )
    crowd = int(arrivals["barrier_warps"].max())
    if crowd > config.warps:
        raise EngineError(
            f"a barrier of the trace expects {crowd} warps, and the machine has {config.warps} warp slots"
        )
    _check_kinds(trace, rows, arrivals)


def _check_kinds(trace: Trace, rows: np.ndarray, arrivals: np.ndarray) -> None:
    """Check that the RTL's barriers serve the arrivals, which are those rows of the trace: EngineError."""
    whole = arrivals["barrier_warps"] == 0
    passing = arrivals[whole & ((arrivals["flags"] & FLAG_WAIT) == 0)]
    if len(passing):
        raise EngineError(
            f"pc {int(passing[0]['pc'])} arrives at barrier {int(passing[0]['barrier'])} without waiting and "
            "names no number of warps: the RTL does not count such arrivals; the golden engine does."
        )
    order = np.argsort(trace.warps["first"], kind="stable")
    owner = trace.warps[order[np.searchsorted(trace.warps["first"][order], rows, side="right") - 1]]
    key = np.stack([owner["launch"], owner["cta"], arrivals["barrier"]], axis=1).astype(np.int64)
    for number in np.unique(arrivals["barrier"]):
        here = arrivals["barrier"] == number
        if whole[here].all() or not whole[here].any():
            continue
        both = {tuple(each) for each in key[here & whole]} & {tuple(each) for each in key[here & ~whole]}
        if both:
            mine = (key == min(both)).all(axis=1)
            first, second = (int(arrivals[mine & kind][0]["pc"]) for kind in (whole, ~whole))
            raise EngineError(
                f"barrier {int(number)} of launch {int(min(both)[0])} is one of all warps of a CTA at pc "
                f"{first}, and one of a number of warps at pc {second}: the RTL serves one kind of arrival "
                "at a barrier; the golden engine serves both."
            )


def mismatch(
    trace: Trace,
    sub_core: int,
    warp: int,
    row: int,
    pc: int,
    register: int,
    lane: int,
    expected: int,
    found: int,
) -> OperandMismatch:
    """Exception of the golden model for what the RTL delivered."""
    where = trace.warps[row]
    kernel = trace.kernels[int(trace.launches[int(where["launch"])]["kernel"])]
    cta, index, text = int(where["cta"]), int(where["index"]), trace.text[pc]
    return OperandMismatch(kernel, cta, index, sub_core, warp, pc, register, lane, expected, found, text)


def patience(config: SmConfig) -> int:
    """Patience of a run: cycles without any progress after which no warp can ever proceed, more than all that
    can be waited for at a time, but for the lines that wait for the DRAM, which an engine counts."""
    units = [config.sub_core.execute.unit(unit) for unit in Unit]
    longest = max(unit.latency + unit.interval for unit in units)
    memory = config.memory
    behind = config.memory.queue + config.l1.mshrs + config.lsu.pending * 32
    served = behind * max(memory.l2_interval, memory.atomic_interval, memory.dram_interval)
    lsu = config.lsu
    shared = 2 * 255 + max(lsu.shared_latency, lsu.const_latency, lsu.shuffle_latency)
    fixed = longest + memory.l2_latency + memory.dram_latency + config.l1.latency + shared
    return 1000 + fixed + served + config.sub_core.front_end.branch_hold


def stuck(trace: Trace, cycle: int, slots: list[tuple[int, int, int, int, int]]) -> ExecutionError:
    """Error of a machine that stands still; `slots`: (sub-core, slot, row of the trace, issued, retired) of
    its warps."""
    waits = []
    for sub_core, slot, row, issued, retired in slots:
        length = int(trace.warps[row]["length"])
        if issued < length:
            pc = int(trace.dynamic[int(trace.warps[row]["first"]) + issued]["pc"])
            waiting = f"waits to issue uop {issued} of {length}, pc {pc} ({trace.text[pc].strip()})"
        else:
            waiting = f"has retired {retired} of {length} uops"
        waits.append(f"warp slot {slot} of sub-core {sub_core} {waiting}")
    return ExecutionError(
        f"Deadlock before cycle {cycle}: no warp can ever proceed. "
        + "; ".join(waits)
        + ". The golden model (--engine golden) says what each of them waits for and what it holds."
    )

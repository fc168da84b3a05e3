"""Engine of the RTL in Amaranth's own simulator: needs nothing but Amaranth, and some hundred times the
time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.sim import Simulator

from warpbank.arch.events import EVENTS, Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import LINE_MASK, LINE_WIDTH
from warpbank.golden.result import Result
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines import waves as waves_
from warpbank.sim.engines.base import EngineError, OnBuild, Waves
from warpbank.sim.engines.design import Design, design, tail
from warpbank.sim.engines.host import Host
from warpbank.sim.engines.rtl import RtlEngine, Session, patience
from warpbank.sim.events import RECORD, encode

#: One clock cycle in seconds of the wave file.
PERIOD = 2e-9


class PysimEngine(RtlEngine):
    """Engine of the RTL in Amaranth's simulator.

    Parameters
    ----------
    make : makes the design; tests give a broken one.
    """

    name = "pysim"

    def __init__(self, make: Callable[[SmConfig, Scheme], Design] = design) -> None:
        self._make = make

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
        if waves is not None:
            waves_.need(waves)
        if on_build is not None:
            on_build(0, 0)
        return PysimSession(
            self._make(config, scheme),
            trace,
            config,
            events=events,
            check_operands=check_operands,
            waves=waves,
        )


class PysimSession:
    """Session of a run in Amaranth's simulator. See `warpbank.sim.engines.rtl.Session`."""

    def __init__(
        self,
        made: Design,
        trace: Trace,
        config: SmConfig,
        *,
        events: bool,
        check_operands: bool,
        waves: Waves | None,
    ) -> None:
        self._design = made
        self._config = config
        self._host = Host(trace, config, check_operands=check_operands)
        self._keep = events
        self._records: list[Record] = []
        self._until = 0
        self._stack = ExitStack()
        self._waves = waves
        self._vcd: Path | None = None
        self.cycle = 0
        self.finished = False
        self._ports()
        top = Module()
        top.submodules.sm = made.component
        self._any = Signal(len(made.events))
        top.d.comb += self._any.eq(Cat(made.at(event.path).valid for event in made.events))
        self._simulator = Simulator(top)
        self._simulator.add_clock(PERIOD)
        self._simulator.add_testbench(self._testbench)
        if waves is not None:
            handle, name = tempfile.mkstemp(
                prefix=f".{waves.path.name}.", suffix=".vcd", dir=waves.path.parent
            )
            os.close(handle)
            self._vcd = Path(name)
            self._stack.enter_context(self._simulator.write_vcd(name))

    def _ports(self) -> None:
        """The signals of the design, found once."""
        made = self._design
        self._fills = [made.at(path) for path in made.fills]
        self._writes = [(core, made.at(path)) for core, path in made.writes]
        self._immediates = [made.at(path) for _, path in made.immediates]
        self._lines = [made.at(path) for path in made.lines]
        self._events = [
            (
                event.core,
                event.name,
                [getattr(made.at(event.path), name) for name, _ in EVENTS[event.name].fields],
            )
            for event in made.events
        ]
        self._started = made.at(made.started)

    async def _testbench(self, context: Any) -> None:
        """Offer a launch, then answer, listen, tick."""
        host = self._host
        self._offer(context)
        await context.tick()
        host.begin(0)
        while not host.ended:
            self._offer(context)
            self._answer(context)
            self._listen(context)
            if context.get(self._design.component.overflow):
                raise EngineError(
                    f"the RTL lost a uop that the load/store unit returned in cycle {self.cycle}"
                )
            await context.tick()
            self.cycle += 1
            host.next_cycle(self.cycle)
            if not self.cycle & 1023 and host.quiet(self.cycle) > patience(self._config):
                raise host.deadlock(self.cycle)
        await self._drain(context)
        self.finished = True

    def _offer(self, context: Any) -> None:
        payload = self._host.offer()
        launch = self._design.component.launch
        context.set(launch.valid, int(payload is not None))
        context.set(Value.cast(launch.payload), payload or 0)

    def _answer(self, context: Any) -> None:
        host = self._host
        for core, port in enumerate(self._fills):
            if context.get(port.valid):
                context.set(Value.cast(port.uop), host.fill(core, context.get(port.warp)))
        for core, port in self._writes:
            if context.get(port.valid):
                value = host.value(
                    core, context.get(port.warp), context.get(port.seq), context.get(port.register)
                )
                context.set(port.value, value)
        for port in self._immediates:
            if context.get(port.valid):
                context.set(port.bits, host.immediate(context.get(port.pc)))
        for port in self._lines:
            if context.get(port.valid):
                place = (context.get(signal) for signal in (port.sub_core, port.warp, port.seq, port.index))
                touched = host.line(*place)
                context.set(port.line, touched & LINE_MASK)
                context.set(port.sectors, touched >> LINE_WIDTH)

    def _listen(self, context: Any) -> None:
        """Note the events of this cycle; the host learns from them, after the start of a CTA is known."""
        if context.get(self._started.valid):
            begin = context.get(self._started.begin)
            masks = [context.get(start.warps) for start in self._design.component.start]
            self._host.start(begin, masks)
        valid = context.get(self._any)
        while valid:
            bit = valid & -valid
            valid ^= bit
            core, name, fields = self._events[bit.bit_length() - 1]
            values = tuple(context.get(field) for field in fields)
            if self._keep:
                self._records.append((self.cycle, core, name, values))
            self._host.note(core, name, values)
            if name == "dispatch":
                collectors = self._design.component.cores[core].collectors
                self._host.dispatch(core, values[2], values[3], collectors.dispatched(context, values[0]))

    async def _drain(self, context: Any) -> None:
        """The run is over, but the L2 still serves what was sent before."""
        for late in range(tail(self._config)):
            valid = context.get(self._any)
            for place, (core, name, fields) in enumerate(self._events):
                if name == "l2_access" and valid >> place & 1:
                    values = tuple(context.get(field) for field in fields)
                    self._host.note(core, name, values)
                    if self._keep:
                        self._records.append((self.cycle + late, core, name, values))
            await context.tick()

    def watch(self, process: Callable[[Any], Any]) -> None:
        """Run a process beside the testbench, to look at signals inside. Before the first cycle."""
        self._simulator.add_testbench(process, background=True)

    def advance(self, until: int) -> None:
        """Run up to cycle `until` (or to the end), in Amaranth's simulator. The events of cycle `until` are
        there already with its clock edge; `take` leaves them."""
        self._until = until
        while (self.cycle < until or self._host.ended) and not self.finished:
            if not self._simulator.advance():
                break

    def take(self) -> np.ndarray:
        """Events made since the last call (`warpbank.sim.events.RECORD`)."""
        records = [record for record in self._records if self.finished or record[0] < self._until]
        self._records = self._records[len(records) :]
        return encode(records) if records else np.zeros(0, RECORD)

    @property
    def retired(self) -> int:
        """Warp instructions retired so far."""
        return self._host.counters["retire.uops"]

    def result(self) -> Result:
        """Result of a finished run."""
        return self._host.result()

    def close(self) -> None:
        """Close the simulator; waves are complete then."""
        self._stack.close()
        if self._vcd is not None and self._waves is not None:
            first, last = self._waves.start, self._waves.end
            period = round(PERIOD * 1e15)  # the file counts femtoseconds
            waves_.cut(self._vcd, (first + 1) * period, None if last is None else (last + 1) * period)
            waves_.finish(self._vcd, self._waves)
            self._vcd = None

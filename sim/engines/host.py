"""Testbench of the SM in Python: what harness/*.cpp is for Verilator, on the golden model's streams and
operand checker."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpbank.arch.counters import COUNTERS
from warpbank.arch.events import EVENTS, Stall
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MOVE
from warpbank.golden.check import OperandChecker
from warpbank.golden.cta_dispatch import CtaDispatch
from warpbank.golden.result import Result
from warpbank.golden.storage.decompress_moves import DecompressMoves
from warpbank.golden.stream import TraceUop, WarpStream, templates_of
from warpbank.hdl.layouts import uop_layout
from warpbank.program.errors import ExecutionError
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines import packing
from warpbank.sim.engines.base import EngineError
from warpbank.sim.engines.rtl import stuck


class Host:
    """Testbench host that serves the streams, checks operands and counts events.

    Parameters
    ----------
    trace, config : what runs on what.
    check_operands : compare every operand at dispatch.
    """

    def __init__(self, trace: Trace, config: SmConfig, *, check_operands: bool) -> None:
        self._trace = trace
        self._config = config
        self._layout = uop_layout(config)
        self._constants, self._collects = packing.uops(trace, config)
        self._payloads = packing.launches(trace, config)
        self._immediates = trace.immediates
        self._templates = templates_of(trace)
        self._checker = (
            OperandChecker(trace, config.sub_cores, config.sub_core.warps) if check_operands else None
        )
        self._streams: dict[tuple[int, int], WarpStream] = {}
        self._uops: dict[tuple[int, int], list[TraceUop]] = {}
        self._rows: dict[tuple[int, int], int] = {}
        self._moves: dict[
            tuple[int, int], TraceUop
        ] = {}  # the one decompress move that a warp may have in flight
        self._mover = DecompressMoves(config.sub_core.warps, config.lanes)
        self._issued: dict[tuple[int, int], int] = {}
        self._retired: dict[tuple[int, int], int] = {}
        self._launch = self._next(0)
        self._next_warp = 0
        self._left = 0
        self._launched = 0
        self._launch_cycles: dict[int, int] = {}
        self._moved = (0, 0)  # events of progress, cycle in which they were counted
        self._missed = (
            0,
            0,
        )  # lines that the L2 lacked, cycle in which the DRAM has moved them at the latest
        self._cycles = 0
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.stalls = [[0] * len(Stall) for _ in range(config.sub_cores)]
        self.ended = self._launch == len(trace.launches)
        self._begun = False

    # --- Launches and CTAs.

    def _next(self, number: int) -> int:
        """The first launch from `number` on that has any CTA."""
        launches = self._trace.launches
        while number < len(launches) and not launches[number]["ctas"]:
            number += 1
        return number

    def offer(self) -> int | None:
        """Offer of the launch that the RTL may take, as its layout has it."""
        number = self._next(self._launch + 1) if self._begun else self._launch
        return self._payloads[number] if number < len(self._payloads) else None

    def begin(self, cycle: int) -> None:
        """Begin the launch that was offered, since the RTL took it."""
        self._begun = True
        if self._launch == len(self._trace.launches):
            return
        launch = self._trace.launches[self._launch]
        self._next_warp = int(launch["first_warp"])
        self._left = int(launch["ctas"])
        self._launched = cycle

    def start(self, begin: int, masks: list[int]) -> None:
        """Start a CTA: warp i is in sub-core (begin + i) mod sub-cores, there in the lowest free one of the
        slots in `masks`."""
        slots = [[slot for slot in range(self._config.sub_core.warps) if mask >> slot & 1] for mask in masks]
        for index in range(sum(len(found) for found in slots)):
            core = (begin + index) % self._config.sub_cores
            if not slots[core]:
                raise EngineError("the slots that started in this cycle are not those of one CTA")
            place = core, slots[core].pop(0)
            row = self._next_warp
            self._next_warp += 1
            self._streams[place] = WarpStream(
                self._trace, self._templates, self._trace.warps[row], *place, self._config.lanes
            )
            self._uops[place] = []
            self._rows[place] = row
            self._issued[place] = self._retired[place] = 0
            if self._checker is not None:
                self._checker.start(*place, row)

    def next_cycle(self, cycle: int) -> None:
        """Clock edge after which cycle `cycle` begins."""
        if self._left or self.ended:
            return
        self._launch_cycles[self._launch] = cycle - self._launched
        self._launch = self._next(self._launch + 1)
        if self._launch < len(self._trace.launches):
            self.begin(cycle)
        else:
            self.ended = True
            self._cycles = cycle

    # --- Questions.

    def fill(self, core: int, warp: int) -> int:
        """Next uop of a warp's stream, as its layout has it."""
        stream = self._streams.get((core, warp))
        if stream is None or stream.position == stream.length:
            raise EngineError("the RTL asks for a uop beyond the end of a warp's stream")
        uop = stream.take()
        self._uops[core, warp].append(uop)
        return packing.fill(uop, self._constants, self._collects, self._layout)

    def _uop(self, core: int, warp: int, seq: int) -> TraceUop:
        if seq & MOVE and (core, warp) in self._moves:
            return self._moves[core, warp]
        uops = self._uops.get((core, warp), [])
        if seq >= len(uops):
            raise EngineError(
                f"the RTL names uop {seq} of warp slot {warp} of sub-core {core}, which is not there"
            )
        return uops[seq]

    def value(self, core: int, warp: int, seq: int, register: int) -> int:
        """Value of a result register."""
        uop = self._uop(core, warp, seq)
        if not 0 <= register - uop.destination < uop.count:
            raise EngineError(
                f"the RTL writes register {register}, which uop {seq} of warp slot {warp} does not write"
            )
        return int.from_bytes(
            np.ascontiguousarray(uop.values[register - uop.destination], "<u4").tobytes(), "little"
        )

    def immediate(self, pc: int) -> int:
        """Immediate data that stand behind the instruction at `pc`."""
        return int.from_bytes(self._immediates[pc].tobytes(), "little")

    def line(self, core: int, warp: int, seq: int, index: int) -> int:
        """Memory line of a uop, with the mask of the sectors touched above its number."""
        lines = self._uop(core, warp, seq).lines
        if index >= len(lines):
            raise EngineError(
                f"the RTL looks up line {index} of uop {seq} of warp slot {warp}, which touches {len(lines)}"
            )
        return int(lines[index])

    # --- Events.

    def note(self, core: int, name: str, values: tuple[int, ...]) -> None:
        """Count an event, and learn from it."""
        for counter, position, condition in _COUNTED[name]:
            if condition is None or values[condition[0]] == condition[1]:
                self.counters[counter] += values[position] if position >= 0 else 1
        if name == "scheduler":
            self.stalls[core][values[0]] += 1
        elif name == "issue":
            self._issued[core, values[0]] += 1
            if self._checker is not None:
                self._checker.issue(self._uop(core, values[0], values[1]))
        elif name == "move":
            move = self._mover.make(self._uop(core, values[0], values[1] & ~MOVE), values[2])
            self._moves[core, values[0]] = move
            if self._checker is not None:
                self._checker.issue(move)
        elif name == "retire":
            self._retired[core, values[0]] += 1
        elif name == "cta_end":
            self._left -= 1

    def dispatch(self, core: int, warp: int, seq: int, slots: list[int]) -> None:
        """Check of a dispatch: compare what the slots of the uop's collector hold."""
        if self._checker is None and not seq & MOVE:
            return
        uop = self._uop(core, warp, seq)
        size = 4 * self._config.lanes
        uop.operands = [
            np.frombuffer(slot.to_bytes(size, "little"), "<u4") for slot in slots[: len(uop.sources)]
        ]
        if seq & MOVE:
            uop.values = [uop.operands[0]]
        if self._checker is not None:
            self._checker.dispatch(uop)

    def quiet(self, cycle: int) -> int:
        """Cycles since the last event other than those that come in every cycle, and since the DRAM had moved
        all lines that it was asked for, which may wait there without bound."""
        moves = sum(
            count
            for name, count in self.counters.items()
            if not name.startswith(("collector.residency", "lsu.stall"))
        )
        if moves != self._moved[0]:
            self._moved = moves, cycle
        misses, (known, free) = self.counters["l2.misses"], self._missed
        if misses != known:
            free = max(free, cycle) + (misses - known) * self._config.memory.dram_interval
            self._missed = misses, free
        return cycle - max(self._moved[1], free)

    def deadlock(self, cycle: int) -> ExecutionError:
        """Error of a machine that stands still."""
        slots = [
            (*place, row, self._issued[place], self._retired[place])
            for place, row in sorted(self._rows.items())
            if self._retired[place] < int(self._trace.warps[row]["length"])
        ]
        return stuck(self._trace, cycle, slots)

    def result(self) -> Result:
        """Result of a finished run."""
        reasons = [reason.name.lower() for reason in Stall]
        per_scheduler = [dict(zip(reasons, counts, strict=True)) for counts in self.stalls]
        return Result(
            cycles=self._cycles,
            warp_instructions=self.counters["retire.uops"],
            stalls={reason: sum(stall[reason] for stall in per_scheduler) for reason in reasons},
            stalls_per_scheduler=per_scheduler,
            counters=self.counters,
            operands_checked=self._checker.checked if self._checker is not None else 0,
            launches=launch_rows(self._trace, self._config, self._launch_cycles),
        )


def launch_rows(trace: Trace, config: SmConfig, cycles: dict[int, int]) -> list[dict[str, Any]]:
    """`Result.launches` from the cycles of every launch that had any CTA."""
    dispatch = CtaDispatch(config, trace)
    rows = []
    number = 0
    while dispatch.next_launch():
        if number in cycles:
            rows.append({**dispatch.describe(), "cycles": cycles[number]})
        number += 1
    return rows


def _counted(event: str) -> list[tuple[str, int, tuple[int, int] | None]]:
    fields = [name for name, _ in EVENTS[event].fields]
    return [
        (
            counter.name,
            fields.index(counter.field) if counter.field else -1,
            (fields.index(counter.when[0]), int(counter.when[1])) if counter.when else None,
        )
        for counter in COUNTERS.values()
        if counter.event == event
    ] + [(counter.name, -1, None) for counter in COUNTERS.values() if counter.also == event]


#: Event -> the counters that sum it: (counter, position of the field that is summed or -1, (position, value)
#: required).
_COUNTED = {name: _counted(name) for name in EVENTS}

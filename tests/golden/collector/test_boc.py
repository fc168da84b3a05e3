"""Bypassing operand collectors in the machine: when uops enter, what is counted, and that no operand is ever
wrong."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from tests.program.random_ptx import random_job
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.counters import count
from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import TO_BANKS, TO_COLLECTOR, Unit
from warpbank.golden.check import OperandMismatch
from warpbank.golden.collector.window import Collected, Entry, Window
from warpbank.golden.sm import Result, simulate
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value
from warpbank.program import write_back
from warpbank.program.hint_passes import with_hints
from warpbank.program.hints import Hints
from warpbank.program.isa import Op
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.runner import Options, compile_job, execute, trace_job
from warpbank.program.trace.builder import BRANCH, TraceBuilder, alu, load, store
from warpbank.program.trace.schema import Trace

SCHEMES = ("bow", "bow-wb", "bow-wr")
MACHINES = ("pascal", "turing")
WINDOWS = (2, 3, 7)
ENTRIES = ("full", "half", "6")
COMBINATIONS = list(product(SCHEMES, MACHINES, WINDOWS, ENTRIES))


def _machine(name: str, window: int, entries: str) -> SmConfig:
    return with_overrides(
        preset(name), [f"sub_core.collector.window={window}", f"sub_core.collector.boc_entries={entries}"]
    )


def _run(
    trace: Trace, config: SmConfig, scheme: str = "bow-wb", skip: bool = True
) -> tuple[Result, list[Record]]:
    events: list[Record] = []
    return simulate(trace, config, parse_scheme(scheme), events=events, skip=skip), events


def _consistent(trace: Trace, result: Result, scheme: str) -> None:
    """Sources are read or found; results go where they must; no more values leave than came."""
    counted = result.counters
    ran = trace.dynamic[trace.dynamic["mask"] != 0]["pc"]
    sources, results = (
        int(trace.code[name][ran].astype(np.int64).sum()) for name in ("source_count", "count")
    )
    assert counted["rf.reads"] == counted["collector.deliveries"]
    assert counted["rf.reads"] + counted["boc.forwards"] == sources
    assert result.operand_mismatches == 0
    assert counted["boc.reserved"] >= counted["boc.writes"]
    ended = counted["rf.write_backs"] + counted["boc.overwritten"] + counted["boc.transient"]
    if scheme == "bow":
        assert counted["rf.writes"] == results
        assert ended == 0
    else:
        assert counted["rf.writes"] - counted["rf.write_backs"] + counted["boc.writes"] == results
        # A value that a bank takes in the cycle in which it is overwritten counts as both.
        assert counted["rf.write_backs"] <= counted["boc.writes"]
        assert counted["boc.overwritten"] + counted["boc.transient"] <= counted["boc.writes"]
    if scheme == "bow-wb":
        assert counted["boc.transient"] == 0


# --- When uops enter and leave.


@pytest.mark.parametrize("window", WINDOWS)
def test_a_uop_enters_when_the_one_a_window_before_is_dispatched(window: int) -> None:
    """Independent uops for a slow unit: the warp fills its collector and then follows the unit's pace."""
    program = [alu(8 + number % 20, number % 4, unit=Unit.SFU) for number in range(40)]
    _, events = _run(TraceBuilder().launch([program], registers=32).build(), _machine("tiny", window, "full"))
    entered = {values[2]: cycle for cycle, _, name, values in events if name == "allocate"}
    left = {values[3]: cycle for cycle, _, name, values in events if name == "dispatch"}
    assert len(entered) == 40
    assert all(entered[number] > left[number - window] for number in range(window, 40))
    assert sum(entered[number] == left[number - window] + 1 for number in range(window, 40)) > 20


def test_several_operands_are_forwarded_at_once() -> None:
    """A uop whose operands are all in the window can be dispatched in the next cycle."""
    program = [alu(4, 1, 2, 3), alu(5, 1, 2, 3)]
    result, events = _run(TraceBuilder().launch([program]).build(), _machine("pascal", 3, "full"))
    assert (result.counters["rf.reads"], result.counters["boc.forwards"]) == (3, 3)
    assert [values[3:] for _, _, name, values in events if name == "forward"] == [(0b111, 3)]


def test_a_uop_whose_unit_is_busy_holds_up_no_other() -> None:
    """A younger uop of another unit goes first; of one unit the older one does."""
    config = with_overrides(_machine("tiny", 4, "full"), ["sub_core.execute.sfu.interval=32"])
    program = [alu(8, unit=Unit.SFU), alu(9, unit=Unit.SFU), alu(10, unit=Unit.SFU), alu(11)]
    _, events = _run(TraceBuilder().launch([program]).build(), config)
    left = {values[3]: cycle for cycle, _, name, values in events if name == "dispatch"}
    assert left[0] < left[3] < left[1] < left[2]


def test_memory_uops_leave_in_program_order() -> None:
    """An older one that waits for operands holds up a younger one that is complete, but no other uop."""
    program = [alu(5), alu(6, 5), store(1, 2, 0), load(8, 5, 0), alu(9)]  # the load finds its address
    _, events = _run(TraceBuilder().launch([program]).build(), _machine("tiny", 4, "full"))
    left = {values[3]: cycle for cycle, _, name, values in events if name == "dispatch"}
    assert left[4] < left[2] < left[3]


def test_the_uop_behind_a_branch_waits() -> None:
    config = _machine("pascal", 3, "full")
    for program, branches in (([alu(1), BRANCH, alu(2, 1)], True), ([alu(1), alu(3), alu(2, 1)], False)):
        _, events = _run(TraceBuilder().launch([program]).build(), config)
        issued = {values[1]: cycle for cycle, _, name, values in events if name == "issue"}
        assert (issued[2] - issued[1] > config.sub_core.front_end.branch_hold) == branches


def test_a_branch_moves_the_window() -> None:
    """All uops count."""
    for between, found in (([alu(9)], 1), ([BRANCH], 1), ([alu(9), alu(8)], 0), ([BRANCH, BRANCH], 0)):
        program = [alu(4, 1), *between, alu(5, 1)]
        result, _ = _run(TraceBuilder().launch([program]).build(), _machine("pascal", 3, "full"))
        assert result.counters["boc.forwards"] == found, between


def test_results_find_one_port() -> None:
    """Results of different units for one collector in the same cycle: one of them waits."""
    waited = 0
    for seed in range(12):
        result, events = _run(_drawn(seed), _machine("tiny", 7, "full"))
        arrivals = [
            (cycle, core, values[0]) for cycle, core, name, values in events if name == "collector_write"
        ]
        assert len(arrivals) == len(set(arrivals)) > 0
        waited += result.counters["boc.port_wait"]
    assert waited > 0


def test_short_entries_squeeze_and_wait() -> None:
    program = [
        alu(12 + 2 * (number % 4), *range(6 * (number % 2), 6 * (number % 2) + 6), unit=Unit.FP64, count=2)
        for number in range(30)
    ]
    trace = TraceBuilder().launch([[alu(number) for number in range(12)] + program], registers=24).build()
    for window in WINDOWS:
        result, _ = _run(trace, _machine("tiny", window, "6"))
        assert result.counters["boc.squeezed"] > 0
        assert result.counters["boc.insert_wait"] > 0
        _consistent(trace, result, "bow-wb")


# --- Everything at once.


@cache
def _drawn(seed: int) -> Trace:
    """A random trace with random hints that say nothing untrue: every result is wanted in the banks at
    least."""
    trace = random_trace(seed)
    rng = np.random.default_rng(seed)
    bits = rng.choice(np.array([TO_BANKS, TO_BANKS | TO_COLLECTOR], np.uint8), len(trace.code))
    return replace(trace, hints=replace(Hints.none(len(trace.code)), write_back=bits))


@pytest.mark.quick("0", "1", "2")
@pytest.mark.parametrize("seed", range(12))
def test_random_traces(seed: int) -> None:
    for scheme, window, entries in product(SCHEMES, WINDOWS, ENTRIES):
        config = _machine("tiny", window, entries)
        result, events = _run(_drawn(seed), config, scheme)
        _consistent(_drawn(seed), result, scheme)
        counted = count(events)
        assert counted == result.counters, (seed, scheme, window, entries)


@pytest.mark.quick("*-[01]")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scheme", SCHEMES)
def test_skipping_changes_nothing(seed: int, scheme: str) -> None:
    for window, entries in ((2, "full"), (3, "half"), (7, "6")):
        config = _machine("tiny", window, entries)
        skipped, with_skips = _run(_drawn(seed), config, scheme)
        stepped, without = _run(_drawn(seed), config, scheme, skip=False)
        assert skipped == stepped
        assert sorted(with_skips) == sorted(without)


@cache
def _program(seed: int, registers: int) -> tuple[Trace, object]:
    job, options = random_job(random.Random(seed).randint, seed, threads=72), Options(max_registers=registers)
    trace = execute(job, options, trace=True).trace
    assert trace is not None
    return trace, compile_job(job, options)


def _hinted(seed: int, registers: int, config: SmConfig) -> Trace:
    trace, kernels = _program(seed, registers)
    return with_hints(trace, ("write_back",), config, lambda: kernels)  # type: ignore[arg-type, return-value]


@pytest.mark.quick("1", "6", "9")
@pytest.mark.parametrize("seed", range(10))
def test_random_programs_with_the_hints_of_the_pass(seed: int) -> None:
    for registers, window, entries in product((16, 255), WINDOWS, ("full", "6")):
        config = _machine("pascal", window, entries)
        trace = _hinted(seed, registers, config)
        result, _ = _run(trace, config, "bow-wr")
        _consistent(trace, result, "bow-wr")


def _workload(name: str, scheme: str, machine: str, window: int, entries: str) -> None:
    job = workloads.get(name).job("tiny")
    config = _machine(machine, window, entries)
    wanted = parse_scheme(scheme).hints
    trace = with_hints(trace_job(job), wanted, config, lambda: compile_job(job))
    _consistent(trace, simulate(trace, config, parse_scheme(scheme)), scheme)


@pytest.mark.quick("*-bfs", "*-backprop", "*-reduction", "*-spmv")
@pytest.mark.parametrize(("number", "name"), list(enumerate(workloads.names())))
def test_workloads(number: int, name: str) -> None:
    """Six of the combinations for every kernel; over the kernels, all of them three times."""
    for step in range(6):
        _workload(name, *COMBINATIONS[(6 * number + step) % len(COMBINATIONS)])


@pytest.mark.long
@pytest.mark.parametrize("name", workloads.names())
def test_workloads_on_all_machines(name: str) -> None:
    for combination in COMBINATIONS:
        _workload(name, *combination)


# --- Broken ones are found out.


class OneUopTooOld(Window):
    """A value is used one uop after it has left: a late result has gone to the banks alone by then."""

    def _present(self, entry: Entry) -> bool:
        return super()._present(entry) or (entry.valid and entry.filled and entry.idle < self._window)


class LostAtEviction(Window):
    """A dirty value that is squeezed out is not written back."""

    def squeeze(self, entry: Entry) -> None:
        entry.valid = entry.dirty = False


class PartialMakesAnEntry(Window):
    """A result on some lanes is taken for the whole register."""

    def _expect(self, uop: TraceUop, free: list[Entry]) -> tuple[list[Entry], int, int, int]:
        mask, uop.lane_mask = uop.lane_mask, self._every_lane
        done = super()._expect(uop, free)
        uop.lane_mask = mask
        return done

    def write(self, entry: Entry, mask: int, value: Value, last: bool = True) -> list[Collected]:
        return super().write(entry, self._every_lane, value, last)


@pytest.mark.parametrize("broken", [OneUopTooOld, LostAtEviction, PartialMakesAnEntry])
def test_mutants(broken: type[Window], monkeypatch: pytest.MonkeyPatch) -> None:
    """The operand check finds wrong values in random traces that the model passes (`test_random_traces`)."""
    monkeypatch.setattr("warpbank.golden.collector.boc.Window", broken)
    for seed, window, entries in product(range(12), (2, 3), ENTRIES):
        try:
            _run(_drawn(seed), _machine("tiny", window, entries))
        except OperandMismatch:
            return
    pytest.fail("no random trace shows it")


@pytest.mark.long
def test_mutant_a_guarded_write_kills(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass that takes a guarded write for a whole one drops values that are read."""
    monkeypatch.setattr(write_back, "always", lambda instr: instr.op not in (Op.BRA, Op.EXIT))
    for seed, window in product(range(16), (2, 3, 6)):
        config = _machine("pascal", window, "full")
        try:
            _run(_hinted(seed, 255, config), config, "bow-wr")
        except OperandMismatch:
            return
    pytest.fail("no random program shows it")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_contracts_of_banks_and_ports(scheme: str) -> None:
    """One access per bank and cycle; one operand, one result and one dispatch per collector and cycle."""
    job = workloads.get("reduction").job("tiny")
    config = _machine("pascal", 3, "full")
    trace = with_hints(trace_job(job), parse_scheme(scheme).hints, config, lambda: compile_job(job))
    _, events = _run(trace, config, scheme)
    for names in (("grant", "write", "write_back"), ("deliver",), ("collector_write",), ("dispatch",)):
        places = [(cycle, core, values[0]) for cycle, core, name, values in events if name in names]
        assert len(places) == len(set(places)) > 100, names

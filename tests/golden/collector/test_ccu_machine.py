"""Caching collectors in the machine: no operand is ever wrong, what is counted adds up, and broken ones are
found out."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from tests.golden.collector import test_ccu, test_ccu_policies
from tests.golden.collector.ccu_bench import RESULT, Bench
from tests.program.random_ptx import random_job
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.counters import count
from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import Unit
from warpbank.golden import registry
from warpbank.golden.check import OperandMismatch
from warpbank.golden.collector.cache_table import CacheTable, Line
from warpbank.golden.collector.caching_unit import Arrived, CachingUnit
from warpbank.golden.collector.ccu import Ccu
from warpbank.golden.sm import Result, simulate
from warpbank.program.hint_passes import with_hints
from warpbank.program.hints import Hints
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.runner import compile_job, execute, trace_job
from warpbank.program.trace.builder import TraceBuilder, alu
from warpbank.program.trace.schema import Trace

SCHEMES = ("malekeh", "malekeh-pr", "ccu-lru-gto", "ccu-lru-own")
STHLD = ("0", "1", "8", "adaptive")
#: Scheme, collectors of a sub-core (a unit per warp: 8), waiting time.
COMBINATIONS = [
    (scheme, units, sthld)
    for scheme, units, sthld in product(SCHEMES, (1, 2, 8), STHLD)
    if (units == 8 or scheme != "malekeh-pr") and (sthld == "0" or not scheme.startswith("ccu-lru"))
]


def _machine(name: str, units: int = 2, sthld: str = "adaptive", **others: int) -> SmConfig:
    collector = {"sthld": sthld, "sthld_interval": 64, **others}
    return with_overrides(
        preset(name),
        [
            f"sub_core.collectors={units}",
            *(f"sub_core.collector.{name}={value}" for name, value in collector.items()),
        ],
    )


def _run(
    trace: Trace, config: SmConfig, scheme: str = "malekeh", skip: bool = True
) -> tuple[Result, list[Record]]:
    events: list[Record] = []
    return simulate(trace, config, parse_scheme(scheme), events=events, skip=skip), events


@cache
def _drawn(seed: int) -> Trace:
    """A random trace with random hints: any are safe, since they only steer what is kept."""
    trace = random_trace(seed)
    near = np.random.default_rng(seed).integers(0, 128, len(trace.code), np.uint8)
    return replace(trace, hints=replace(Hints.none(len(trace.code)), near=near))


def _consistent(trace: Trace, result: Result, scheme: str) -> None:
    """Sources are read or found; every result goes to the banks."""
    counted = result.counters
    ran = trace.dynamic[trace.dynamic["mask"] != 0]["pc"]
    sources, results = (
        int(trace.code[name][ran].astype(np.int64).sum()) for name in ("source_count", "count")
    )
    assert counted["rf.reads"] == counted["collector.deliveries"]
    assert counted["rf.reads"] + counted["boc.forwards"] == sources
    assert counted["rf.writes"] == results
    assert counted["boc.writes"] <= results
    assert result.operand_mismatches == 0
    assert scheme == "malekeh" or not counted["ccu.waits"]
    assert scheme != "malekeh-pr" or not counted["ccu.flushes"]


@pytest.mark.quick("[0-3]")
@pytest.mark.parametrize("seed", range(12))
def test_random_traces(seed: int) -> None:
    """A third of the combinations for every trace."""
    for scheme, units, sthld in COMBINATIONS[seed % 3 :: 3]:
        result, events = _run(_drawn(seed), _machine("tiny", units, sthld), scheme)
        _consistent(_drawn(seed), result, scheme)
        assert count(events) == result.counters, (seed, scheme, units, sthld)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scheme", SCHEMES)
def test_skipping_changes_nothing(seed: int, scheme: str) -> None:
    for units, sthld in ((2, "adaptive"), (3, "8")):
        config = _machine("tiny", units, sthld)
        skipped, with_skips = _run(_drawn(seed), config, scheme)
        stepped, without = _run(_drawn(seed), config, scheme, skip=False)
        assert skipped == stepped
        assert sorted(with_skips) == sorted(without)


def test_a_seed_changes_the_run() -> None:
    """And nothing but the choices: the same uops with the same operands."""
    runs = [_run(_drawn(1), _machine("tiny", 2, "1", seed=seed)) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0][1] != runs[2][1]
    assert runs[0][0].counters["issue.uops"] == runs[2][0].counters["issue.uops"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_contracts(scheme: str) -> None:
    """One operand and one result per unit and cycle, one access per bank and cycle; no warp has values in two
    units."""
    for seed, units in product(range(2), (2, 8)):
        _, events = _run(_drawn(seed), _machine("tiny", units, "1"), scheme)
        for names in (("grant", "write"), ("deliver",), ("collector_write",)):
            places = [(cycle, core, values[0]) for cycle, core, name, values in events if name in names]
            assert len(places) == len(set(places)) > 20, names
        owner: dict[int, int] = {}
        before: tuple[int, dict[int, int]] = (
            0,
            {},
        )  # the last cycle with an allocation, and who owned units then
        for cycle, _, name, values in sorted(events, key=lambda event: event[0]):
            if name == "allocate":
                number, warp, _ = values
                before = cycle, owner
                owner = {unit: of for unit, of in owner.items() if of != warp or unit == number}
                owner[number] = warp
            if name == "forward":
                assert owner[values[0]] == values[1]
            if name == "collector_write":
                assert (before[1] if before[0] == cycle else owner)[values[0]] == values[1]
            if name == "flush":
                assert values[1] > 0


class Checked(Ccu):
    """States its invariants after every cycle."""

    values = 0

    def edge(self) -> int:
        done = super().edge()
        owners = [unit.owner for unit in self.units if unit.owner >= 0]
        assert len(owners) == len(set(owners)), "a warp has two units"
        for number, unit in enumerate(self.units):
            assert unit.owner < 0 or self._owned[unit.owner] == number
            lines = [line for line in unit.table.lines if line.valid]
            assert len({line.register for line in lines}) == len(lines), "a register has two lines"
            there = [line for slot, line in enumerate(unit.lines) if not unit.awaits >> slot & 1]
            assert [line for line in lines if line.locked] == sorted(there, key=lambda line: line.number)
            for line in lines:
                if unit.arrived is None or unit.arrived.line is not line:  # else it is written in a cycle
                    bank = self._registers._storage.read(  # type: ignore[attr-defined]
                        *self._registers._mapping.home(unit.owner, line.register)
                    )  # type: ignore[attr-defined]
                    assert np.array_equal(line.value, bank), "a copy is not what its bank holds"
                    Checked.values += 1
        return done


def test_every_copy_is_what_its_bank_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.COLLECTORS, "ccu", Checked)
    monkeypatch.setattr(Checked, "values", 0)
    for seed, (scheme, units) in product(range(2), (("malekeh", 2), ("malekeh-pr", 8))):
        _run(_drawn(seed), _machine("tiny", units, "1"), scheme)
    assert Checked.values > 5000


def test_everything_that_is_allocated_is_dispatched() -> None:
    for seed in range(3):
        _, events = _run(_drawn(seed), _machine("tiny", 2, "8"))
        allocated, dispatched = (
            [values[-2:] for _, _, name, values in events if name == which]
            for which in ("allocate", "dispatch")
        )
        assert sorted(allocated) == sorted(dispatched)
        assert len(allocated) > 100


@pytest.mark.parametrize("unit", [Unit.TENSOR, Unit.FP64])
def test_six_sources_and_pairs(unit: Unit) -> None:
    """Matrix and double-precision uops, in chains through the cache."""
    program = [alu(register) for register in range(24)]
    program += [
        alu(
            12 + 2 * (number % 4), *range(4), 12 + 2 * (number % 4), 13 + 2 * (number % 4), unit=unit, count=2
        )
        for number in range(40)
    ]
    trace = TraceBuilder().launch([program, program], registers=24).build()
    for near, scheme in product((0, 0b1110000, 0b1111111), SCHEMES):
        hinted = replace(
            trace, hints=replace(Hints.none(len(trace.code)), near=np.full(len(trace.code), near, np.uint8))
        )
        result, _ = _run(hinted, _machine("tiny", 1 if scheme == "malekeh" else 2, "1"), scheme)
        _consistent(hinted, result, scheme)
        # Any free unit: while one collects six operands, the next uop of the warp goes to the other one.
        assert result.counters["boc.forwards"] > 40 or scheme == "ccu-lru-gto"


@pytest.mark.quick("1", "2")
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_with_the_hints_of_the_pass(seed: int) -> None:
    job = random_job(random.Random(seed).randint, seed, threads=72)
    trace = execute(job, trace=True).trace
    assert trace is not None
    for scheme, units, sthld in (("malekeh", 2, "adaptive"), ("malekeh", 8, "1"), ("malekeh-pr", 8, "0")):
        config = _machine("turing", units, sthld)
        hinted = with_hints(trace, ("near",), config, lambda: compile_job(job))
        result, _ = _run(hinted, config, scheme)
        _consistent(hinted, result, scheme)


def _workload(name: str, scheme: str, units: int, sthld: str) -> Result:
    job = workloads.get(name).job("tiny")
    config = _machine("turing", units, sthld)
    trace = with_hints(trace_job(job), parse_scheme(scheme).hints, config, lambda: compile_job(job))
    result = simulate(trace, config, parse_scheme(scheme))
    _consistent(trace, result, scheme)
    return result


@pytest.mark.parametrize("name", ["mma_gemm", "nbody", "scan", "bfs"])
def test_workloads(name: str) -> None:
    """Matrix uops, double precision, barriers and divergence."""
    for scheme, units, sthld in (("malekeh", 2, "adaptive"), ("malekeh-pr", 8, "1"), ("ccu-lru-gto", 2, "0")):
        assert _workload(name, scheme, units, sthld).counters["boc.forwards"]


@pytest.mark.long
@pytest.mark.parametrize("name", workloads.names())
def test_workloads_on_all_machines(name: str) -> None:
    for combination in COMBINATIONS:
        _workload(name, *combination)


# --- Broken ones are found out.


class NoFlush(Ccu):
    """A unit that changes hands keeps its values."""

    def _give(self, warp: int) -> int:
        number = super()._give(warp)
        self.units[number].forgets = False
        return number


class Unlocked(CacheTable):
    """Sources of the uop in collection may be replaced."""

    def next_victim(self, spared: list[Line]) -> Line | None:
        locked = [line for line in self.lines if line.locked]
        for line in locked:
            line.locked = False
        line = super().next_victim(spared)
        for each in locked:
            each.locked = True
        return line


class StaleCopy(CachingUnit):
    """A result that is not kept leaves the old copy where it is."""

    def _arrive(self) -> tuple[Arrived | None, list[tuple[Line, int]]]:
        return super()._arrive()[0], []


class WholePartial(CachingUnit):
    """A partial result counts for the whole register."""

    def _arrive(self) -> tuple[Arrived | None, list[tuple[Line, int]]]:
        for uop, *_ in self.results:
            uop.lane_mask = self._every_lane
        return super()._arrive()


class NeverReset(Ccu):
    """The waiting counter goes on for ever. No value is wrong for that."""

    def _give(self, warp: int) -> int:
        waited = self._waited
        number = super()._give(warp)
        self._waited = waited
        return number


DIRECTED: dict[type, Callable[[], None]] = {
    NoFlush: test_ccu.test_the_same_warp_keeps_its_values_and_another_one_flushes_them,
    Unlocked: test_ccu.test_results_take_no_locked_line,
    StaleCopy: test_ccu.test_a_far_result_is_not_cached_and_its_old_copy_does_not_survive,
    WholePartial: lambda: test_ccu.test_a_partial_result_joins_a_complete_line_or_takes_none(RESULT),
    NeverReset: lambda: test_ccu_policies.test_near_values_make_wait(8),
}


def _break(mutant: type, patch: pytest.MonkeyPatch) -> None:
    if issubclass(mutant, CacheTable | CachingUnit):
        part = "caching_unit.CacheTable" if issubclass(mutant, CacheTable) else "ccu.CachingUnit"
        patch.setattr(f"warpbank.golden.collector.{part}", mutant)
    else:
        patch.setattr(Bench, "kind", mutant)
        patch.setitem(registry.COLLECTORS, "ccu", mutant)


@pytest.mark.parametrize("mutant", DIRECTED)
def test_mutants_by_themselves(mutant: type, monkeypatch: pytest.MonkeyPatch) -> None:
    DIRECTED[mutant]()
    _break(mutant, monkeypatch)
    with pytest.raises(AssertionError):
        DIRECTED[mutant]()


@pytest.mark.parametrize("mutant", [mutant for mutant in DIRECTED if mutant is not NeverReset])
def test_mutants_in_the_machine(mutant: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operand check finds wrong values in random traces that the model passes (`test_random_traces`); a
    locked line is refused before that."""
    _break(mutant, monkeypatch)
    for seed in range(12):
        try:
            _run(_drawn(seed), _machine("tiny", 1, "0"))
        except (OperandMismatch, AssertionError):
            return
    pytest.fail("no random trace shows it")

"""The register file caches without prefetch in the machine: what is read and written where, and that no
operand is ever wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.random_strands import strand_trace
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.counters import count
from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.check import OperandMismatch
from warpbank.golden.hierarchy.rfc import Rfc
from warpbank.golden.hierarchy.sw_rfc import SwRfc
from warpbank.golden.hierarchy.tags import TagRow
from warpbank.golden.result import Result
from warpbank.golden.sm import simulate
from warpbank.program.hint_passes import with_hints
from warpbank.program.hints import Hints
from warpbank.program.random_programs.intervals import dead_bits
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.random_programs.strands import with_strands
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.builder import TraceBuilder, alu
from warpbank.program.trace.schema import Trace
from warpbank.studies.combinations import combinations

SCHEMES = ("rfc", "sw-rfc")
LEGAL = [each.scheme for each in combinations() if each.legal]


def _machine(name: str, *overrides: str) -> SmConfig:
    return with_overrides(preset(name), [f"sub_core.{override}" for override in overrides])


def _run(kernel: str, config: SmConfig, scheme: str) -> Result:
    job = workloads.get(kernel).job("tiny")
    wanted = parse_scheme(scheme)
    return simulate(
        with_hints(trace_job(job), wanted.hints, config, lambda: compile_job(job)), config, wanted
    )


def _consistent(result: Result) -> None:
    """Every operand comes from one of the two; every result goes somewhere."""
    counted = result.counters
    assert result.operand_mismatches == 0
    assert counted["cache.reads"] + counted["rf.reads"] == counted["collector.deliveries"]
    assert counted["cache.reads"] > 0
    assert counted["cache.fetches"] == counted["cache.fills"] == 0
    assert counted["rf.write_backs"] <= counted["cache.allocations"] <= counted["cache.writes"]


@pytest.mark.parametrize("kernel", ["vectoradd", "reduction"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_kernels(kernel: str, scheme: str) -> None:
    result = _run(kernel, _machine("turing", "bank_latency=280"), scheme)
    plain = _run(kernel, _machine("turing"), "baseline")
    if scheme == "rfc":
        _consistent(result)
    assert result.operand_mismatches == 0
    assert result.counters["cache.reads"] + result.counters["rf.reads"] == plain.counters["rf.reads"]
    assert result.counters["rf.writes"] < plain.counters["rf.writes"]


@pytest.mark.parametrize(
    ("kernel", "scheme"), [("pathfinder", "sw-rfc+gscalar"), ("mma_gemm", "sw-rfc+ccu-lru-gto")]
)
def test_values_that_outlive_their_strand(kernel: str, scheme: str) -> None:
    """A decompress move reads the banks, and a collector keeps all lanes of what the cache gave it."""
    assert _run(kernel, _machine("turing"), scheme).operand_mismatches == 0


def test_a_warp_keeps_its_row_where_physical_registers_are_few() -> None:
    """One that lacked some lost its row in the middle of a strand, and read another warp's values."""
    assert _run("vectoradd", _machine("tiny", "rows=16"), "sw-rfc+renaming").operand_mismatches == 0


def test_a_mutant_that_gives_rows_away_within_strands_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SwRfc, "strands", False)
    with pytest.raises(OperandMismatch):
        _run("vectoradd", _machine("tiny", "rows=16"), "sw-rfc+renaming")


@pytest.mark.long
@pytest.mark.parametrize("kernel", workloads.names())
@pytest.mark.parametrize("scheme", [scheme for scheme in LEGAL if "sw-rfc" in scheme])
def test_all_combinations(kernel: str, scheme: str) -> None:
    assert _run(kernel, _machine("turing"), scheme).operand_mismatches == 0


@pytest.mark.long
@pytest.mark.parametrize("kernel", workloads.names())
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("latency", [100, 630])
@pytest.mark.parametrize("name", ["maxwell", "turing"])
def test_all_kernels(kernel: str, scheme: str, latency: int, name: str) -> None:
    """`pytest -m long tests/golden/hierarchy/test_rfc.py`"""
    assert _run(kernel, _machine(name, f"bank_latency={latency}"), scheme).operand_mismatches == 0


def _dead(trace: Trace) -> Trace:
    return replace(trace, hints=replace(Hints.none(len(trace.code)), dead=dead_bits(trace)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("policy", ["fifo", "lru"])
def test_random_programs(seed: int, policy: str) -> None:
    """Slept cycles change nothing, and counters are sums of events."""
    config = _machine(
        "tiny",
        "cache.registers=8",
        "bank_latency=160",
        f"active_warps={1 + seed}",
        f"cache.replacement={policy}",
    )
    trace = _dead(random_trace(seed, launches=2))
    events: list[Record] = []
    result = simulate(trace, config, parse_scheme("rfc"), events=events)
    assert simulate(trace, config, parse_scheme("rfc"), skip=False) == result
    assert count(events) == result.counters
    _consistent(result)
    assert result.counters["rf.write_backs"] > 0


@pytest.mark.parametrize("seed", range(3))
def test_random_strands(seed: int) -> None:
    config = _machine("tiny", "cache.registers=8", "bank_latency=160", f"active_warps={1 + seed}")
    trace = with_strands(strand_trace(seed), 8)
    events: list[Record] = []
    result = simulate(trace, config, parse_scheme("sw-rfc"), events=events)
    assert simulate(trace, config, parse_scheme("sw-rfc"), skip=False) == result
    assert count(events) == result.counters
    assert result.counters["cache.reads"] > result.counters["cache.writes"] > 0
    assert result.counters["rf.write_backs"] == 0


def test_replacement() -> None:
    """Eight places; R0 is read again and again, and stays with `lru` only."""
    ops = [alu(0)]
    for register in range(1, 20):
        ops += [alu(register), alu(30, 0)]
    trace = TraceBuilder().launch([ops], registers=32).build()
    runs = {
        policy: simulate(
            trace, _machine("tiny", "cache.registers=8", f"cache.replacement={policy}"), parse_scheme("rfc")
        )
        for policy in ("fifo", "lru")
    }
    assert runs["lru"].counters["rf.reads"] == 0
    assert runs["fifo"].counters["rf.reads"] > 8


def test_dead_values_are_not_written_back() -> None:
    """Twenty values that are read once: with the compiler's word nothing of them gets to the banks."""
    ops = [op for register in range(20) for op in (alu(register), alu(20 + register, register))]
    trace = TraceBuilder().launch([ops], registers=48).build()
    config = _machine("tiny", "cache.registers=8")
    told, untold = (simulate(each, config, parse_scheme("rfc")).counters for each in (_dead(trace), trace))
    assert told["rf.write_backs"] < untold["rf.write_backs"]
    assert untold["rf.write_backs"] > 20


# --- Mutants.


def _caught(scheme: str, trace_of: Callable[[int], Trace], seeds: int = 4) -> bool:
    """Whether some random program reads a wrong operand."""
    config = _machine("tiny", "cache.registers=8", "active_warps=2")
    for seed in range(seeds):
        try:
            simulate(trace_of(seed), config, parse_scheme(scheme))
        except (OperandMismatch, AssertionError):
            return True
    return False


def _hardware(seed: int) -> Trace:
    return _dead(random_trace(seed, length=40))


def _software(seed: int) -> Trace:
    return with_strands(strand_trace(seed), 8)


def test_mutant_dirty_entry_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that somebody still needs leaves without a bank write."""
    ripe = Rfc._ripe

    def drops(self: Rfc, offset: int) -> int | None:
        entry = ripe(self, offset)
        if entry is not None:
            self.tags[offset].live &= ~(1 << entry)
        return entry

    monkeypatch.setattr(Rfc, "_ripe", drops)
    assert _caught("rfc", _hardware)


def test_mutant_stale_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row keeps its tags when it is given to another warp: that one finds registers that are not its
    own."""
    monkeypatch.setattr(TagRow, "clear", lambda self: None)
    assert _caught("rfc", _hardware)


def test_mutant_partial_result_allocates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lanes that a result does not have are in the banks only."""
    place = Rfc._place

    def allocates(self: Rfc, uop, register):  # type: ignore[no-untyped-def]
        part, uop.part = uop.part, False
        found = place(self, uop, register)
        uop.part = part
        return found

    monkeypatch.setattr(Rfc, "_place", allocates)
    assert _caught("rfc", _hardware)


def test_mutant_results_for_both_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that is needed behind its strand goes into the cache only."""
    monkeypatch.setattr(SwRfc, "issue", lambda self, uop: None)
    assert _caught("sw-rfc", _software)


def test_mutant_row_is_free_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warp that leaves gives its row away before its operands are read."""
    monkeypatch.setattr(Rfc, "_empty", lambda self, offset: True)
    assert _caught("rfc", _hardware)

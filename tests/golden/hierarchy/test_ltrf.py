"""The register file cache in the machine: what is read where, what liveness saves, and that no operand is
ever wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tests.golden_main import golden_main
from tests.hdl.bench import make_uop
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.counters import count
from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.check import OperandMismatch
from warpbank.golden.hierarchy.ltrf import Ltrf
from warpbank.golden.hierarchy.wcb import WarpControlBlock, WarpControlBlocks
from warpbank.golden.probe import Probe
from warpbank.golden.result import Result
from warpbank.golden.sm import simulate
from warpbank.golden.stream import TraceUop
from warpbank.program.hint_passes import with_hints
from warpbank.program.random_programs.intervals import with_prefetches
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.schema import FLAG_ENTER, Trace

SCHEMES = ("ltrf", "ltrf-plus", "ltrf-strand")
SOME = ("vectoradd", "bfs", "reduction", "mma_gemm")


def _machine(name: str, *overrides: str) -> SmConfig:
    return with_overrides(preset(name), [f"sub_core.{override}" for override in overrides])


def _run(kernel: str, config: SmConfig, scheme: str, size: str = "tiny") -> Result:
    job = workloads.get(kernel).job(size)
    wanted = parse_scheme(scheme)
    return simulate(
        with_hints(trace_job(job), wanted.hints, config, lambda: compile_job(job)), config, wanted
    )


def _consistent(result: Result) -> None:
    """Every operand comes from the cache; what is read from the banks is fetched for it."""
    counted = result.counters
    assert result.operand_mismatches == 0
    assert counted["cache.reads"] == counted["collector.deliveries"]
    assert counted["rf.reads"] == counted["cache.fetches"] == counted["cache.fills"]
    assert counted["cache.fetches"] <= counted["cache.allocations"]


@pytest.mark.quick("*-vectoradd", "*-bfs")
@pytest.mark.parametrize("kernel", SOME)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_kernels(kernel: str, scheme: str) -> None:
    _consistent(_run(kernel, _machine("turing", "bank_latency=280"), scheme))


@pytest.mark.long
@pytest.mark.parametrize("kernel", workloads.names())
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("latency", [100, 280, 630])
@pytest.mark.parametrize("active", [4, 8])
@pytest.mark.parametrize("name", ["maxwell", "turing"])
def test_all_kernels(kernel: str, scheme: str, latency: int, active: int, name: str) -> None:
    _consistent(_run(kernel, _machine(name, f"bank_latency={latency}", f"active_warps={active}"), scheme))


@pytest.mark.parametrize("scheme", ["ltrf", "ltrf-plus+renaming+gscalar"])
def test_clean_registers_are_not_carried(scheme: str) -> None:
    every, dirty = (
        _run("hotspot", _machine("turing", f"cache.write_back={policy}"), scheme)
        for policy in ("all", "dirty")
    )
    _consistent(dirty)
    assert dirty.counters["rf.write_backs"] < every.counters["rf.write_backs"]


def test_mutant_a_write_leaves_its_place_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Ltrf._write_cache

    def clean(cache: Ltrf, warp: int, register: int, *what: Any) -> bool:
        before = list(cache._dirty)
        taken = write(cache, warp, register, *what)
        cache._dirty = before
        return taken

    monkeypatch.setattr(Ltrf, "_write_cache", clean)
    with pytest.raises(OperandMismatch):
        _run("hotspot", _machine("turing", "cache.write_back=dirty"), "ltrf")


@pytest.mark.quick("reduction", "vectoradd")
@pytest.mark.parametrize("kernel", SOME)
def test_liveness_moves_less(kernel: str) -> None:
    config = _machine("turing")
    plain, plus = (_run(kernel, config, scheme).counters for scheme in ("ltrf", "ltrf-plus"))
    assert plus["cache.allocations"] > 0
    assert plus["cache.fetches"] < plain["cache.fetches"]
    assert plus["rf.write_backs"] < plain["rf.write_backs"]


@pytest.mark.quick("*-1")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scheme", ["ltrf", "ltrf-plus", "ltrf-plus+bow-wb"])
def test_random_programs(seed: int, scheme: str) -> None:
    """Slept cycles change nothing, and counters are sums of events."""
    config = _machine("tiny", "cache.registers=8", "bank_latency=160", f"active_warps={1 + seed}")
    trace = with_prefetches(random_trace(seed, launches=2), 8, seed)
    events: list[Record] = []
    result = simulate(trace, config, parse_scheme(scheme), events=events)
    assert simulate(trace, config, parse_scheme(scheme), skip=False) == result
    assert count(events) == result.counters
    assert result.counters["cache.fetches"] > 0


@pytest.mark.quick("strict-ltrf-plus", "on_demand-ltrf")
@pytest.mark.parametrize("scheme", ["ltrf", "ltrf-plus", "ltrf-strand", "ltrf-plus+renaming+gscalar"])
@pytest.mark.parametrize("replacement", ["strict", "on_demand"])
def test_the_extra_bit_prefetches_without_an_issue_slot(scheme: str, replacement: str) -> None:
    """As many PREFETCHes as with instructions, none of which is issued."""
    by_instruction, by_bit = (
        _run("hotspot", _machine("turing", f"cache.prefetch={way}", f"replacement={replacement}"), scheme)
        for way in ("instruction", "bit")
    )
    _consistent(by_bit)
    prefetches = by_bit.counters["cache.prefetches"]
    assert prefetches == by_instruction.counters["cache.prefetches"] > 0
    assert by_bit.counters["issue.uops"] == by_instruction.counters["issue.uops"] - prefetches


@pytest.mark.quick("1")
@pytest.mark.parametrize("seed", range(3))
def test_random_programs_with_extra_bits(seed: int) -> None:
    """Slept cycles change nothing; bits are served beside other warps' uops; a uop issues behind its bit."""
    config = _machine("tiny", "cache.registers=8", "cache.prefetch=bit", f"active_warps={2 + seed}")
    trace = with_prefetches(random_trace(seed, launches=2), 8, seed, bits=True)
    events: list[Record] = []
    result = simulate(trace, config, parse_scheme("ltrf-plus"), events=events)
    assert simulate(trace, config, parse_scheme("ltrf-plus"), skip=False) == result
    served = [(cycle, fields) for cycle, _, name, fields in events if name == "prefetch"]
    issued = [(cycle, fields) for cycle, _, name, fields in events if name == "issue"]
    assert len(served) == (trace.dynamic["flags"] & FLAG_ENTER > 0).sum() > 0
    beside = {cycle for cycle, _ in served} & {cycle for cycle, _ in issued}
    assert beside, "no bit was served in a cycle in which another warp issued"
    first = min(cycle for cycle, _ in served)
    warp, seq = next(fields for cycle, fields in served if cycle == first)
    assert seq == 0
    assert next(cycle for cycle, fields in issued if fields[:2] == (warp, seq)) > first


def test_mutant_a_bit_that_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warp keeps the registers of the interval that it leaves."""
    prefetch = Ltrf.prefetch

    def forgets(self: Ltrf, uop: TraceUop) -> None:
        if uop.seq % 5:
            prefetch(self, uop)

    monkeypatch.setattr(Ltrf, "prefetch", forgets)
    with pytest.raises(AssertionError, match="is not in the cache"):
        _run("hotspot", _machine("turing", "cache.prefetch=bit"), "ltrf")


def _fails(config: SmConfig, seeds: int = 6) -> bool:
    """Whether some random program reads a wrong operand, or what it needs is not in the cache."""
    for seed in range(seeds):
        trace: Trace = with_prefetches(random_trace(seed, length=40), 8, seed)
        try:
            simulate(trace, config, parse_scheme("ltrf-plus"))
        except (OperandMismatch, AssertionError):
            return True
    return False


def operands_behind(sources: int) -> tuple[int, int]:
    """Cycles from a uop with one source to its operand, right behind another uop of the same warp with
    `sources`, and to the last operand of that."""
    config = _machine("tiny", "collectors=2", "cache.registers=8")
    probe = Probe(0, None)
    cache = Ltrf(config, golden_main(config, probe), lambda warp: True, probe)
    cache.start(0, 0)
    cache.activate(0)
    cache.blocks.prefetch(make_uop(0, 0, working_set=0xFF))
    while not cache.may_issue:
        probe.cycle += 1
        cache.step()
    for slot in range(sources):
        cache.read(0, slot, make_uop(0, 0), slot)
    cache.step()
    cache.read(1, 0, make_uop(0, 1), 7)
    arrived = {}
    for cycle in range(1, 20):
        probe.cycle += 1
        arrived |= {collector: cycle for collector, *_ in cache.step()}
    return arrived[1], arrived[0]


def test_two_places_are_looked_up_in_a_cycle() -> None:
    """A uop with more than two sources takes more cycles (section 4.1), and does not hold up those behind it;
    one of its own warp holds it up."""
    assert [operands_behind(sources) for sources in (1, 2, 3, 4, 6)] == [
        (3, 2),
        (3, 3),
        (3, 4),
        (3, 5),
        (3, 7),
    ]


def test_mutant_dead_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A register counts as dead as soon as anybody reads it."""
    access = WarpControlBlock.access
    monkeypatch.setattr(
        WarpControlBlocks,
        "issue",
        lambda self, uop: access(
            self.warps[uop.warp],
            sum(1 << register for register in uop.sources),
            ((1 << uop.count) - 1) << uop.destination,
        ),
    )
    assert _fails(_machine("tiny", "cache.registers=8"))


def test_mutant_valid_bits_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warp that is deactivated keeps its valid bits: its row may be another's by then."""
    save = WarpControlBlocks.save

    def keeps(self: WarpControlBlocks, block: WarpControlBlock | None) -> int:
        offset = save(self, block)
        if block is not None:
            block.placed = block.working
        return offset

    monkeypatch.setattr(WarpControlBlocks, "save", keeps)
    assert _fails(_machine("tiny", "cache.registers=8"))


def test_mutant_a_place_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every activation loses a place of the row: in the end a working set does not fit any more."""
    activate = Ltrf.activate

    def loses(self: Ltrf, warp: int) -> None:
        activate(self, warp)
        places = self.blocks.warps[warp].places
        if places.unused:
            places.give(places.unused.bit_length() - 1)

    monkeypatch.setattr(Ltrf, "activate", loses)
    trace = with_prefetches(random_trace(1, length=60), 8, 1)
    with pytest.raises(AssertionError, match="has no place for"):
        simulate(trace, _machine("tiny", "cache.registers=8"), parse_scheme("ltrf-plus"))

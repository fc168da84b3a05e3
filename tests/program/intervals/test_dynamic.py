"""Prefetches and lengths on traces of all kernels."""

from __future__ import annotations

import numpy as np
import pytest

from warpbank import workloads
from warpbank.arch.uop import Control
from warpbank.program.intervals.dynamic import form_all, optimal_lengths, prefetches, report
from warpbank.program.intervals.formation import Rule
from warpbank.program.intervals.insertion import insert_prefetches, mark_entries
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.schema import FLAG_ENTER, Trace


def touched(trace: Trace, row: int) -> set[int]:
    code = trace.code[trace.dynamic["pc"][row]]
    written = range(int(code["destination"]), int(code["destination"]) + int(code["count"]))
    return {*code["sources"][: code["source_count"]].tolist(), *written}


@pytest.mark.parametrize("name", workloads.names())
def test_every_register_was_prefetched(name: str) -> None:
    job = workloads.get(name).job("tiny")
    trace, kernels = trace_job(job), compile_job(job)
    for rule in Rule:
        made = form_all(kernels, 16, rule)
        before = prefetches(made, trace)
        for warp in trace.warps[:4]:
            held: set[int] = set()
            for row in range(int(warp["first"]), int(warp["first"]) + min(int(warp["length"]), 2000)):
                number = made.interval[trace.dynamic["pc"][row]]
                if before[row]:
                    held = set(made.registers[number].nonzero()[0].tolist())
                    assert len(held) <= 16
                assert touched(trace, row) <= held
        found = report(made, trace)
        assert found.real.count == before.sum() >= found.optimal.count
        assert round(found.real.mean * found.real.count) == len(trace.dynamic)
        assert found.static.count == len(made)
        assert found.growth_instructions > found.growth_vectors > 0


@pytest.mark.parametrize("name", ["bfs", "reduction"])
def test_extra_bits_stand_where_instructions_would(name: str) -> None:
    """The instruction behind each PREFETCH has the bit, and its pc the bit-vector."""
    job = workloads.get(name).job("tiny")
    trace, made = trace_job(job), form_all(compile_job(job), 8)
    inserted, marked = insert_prefetches(trace, made), mark_entries(trace, made)
    notices = inserted.code["control"][inserted.dynamic["pc"]] == Control.PREFETCH
    behind = np.flatnonzero(notices) + 1 - np.arange(1, notices.sum() + 1)
    bits = np.flatnonzero(marked.dynamic["flags"] & FLAG_ENTER)
    assert behind.tolist() == bits.tolist()
    named = [inserted.working_sets[pc] for pc in inserted.dynamic["pc"][notices].tolist()]
    assert named == [marked.working_sets[pc] for pc in marked.dynamic["pc"][bits].tolist()]
    assert (marked.dynamic["flags"] & (0xFF ^ FLAG_ENTER) == trace.dynamic["flags"]).all()
    assert len(marked.code) == len(trace.code)


def test_optimal_runs_are_as_long_as_they_can_be() -> None:
    trace = trace_job(workloads.get("bfs").job("tiny"))
    row, lengths = 0, optimal_lengths(trace, 8).tolist()
    firsts = set(trace.warps["first"].tolist())
    for length in lengths:
        used = set[int]().union(*(touched(trace, r) for r in range(row, row + length)))
        assert len(used) <= 8
        row += length
        assert row == len(trace.dynamic) or row in firsts or len(used | touched(trace, row)) > 8
    assert row == len(trace.dynamic)
    assert len(lengths) > len(firsts)


def test_code_growth_counts_bytes() -> None:
    job = workloads.get("btree").job("tiny")
    made = form_all(compile_job(job), 8)
    found, size = report(made, trace_job(job), instruction_bytes=16), 16 * len(made.interval)
    assert found.growth_vectors == len(made) * 32 / size
    assert found.growth_instructions == len(made) * 48 / size

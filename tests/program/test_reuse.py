"""Reuse distances and near hints against a plain forward search."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from warpbank import workloads
from warpbank.arch.uop import MAX_SOURCES
from warpbank.program import reuse, runner
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.trace.schema import Trace

ALL = 0xFFFFFFFF


def slow(trace: Trace, threshold: int, rows: list[int]) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Votes and distances, searched forward from every access."""
    near, total = (np.zeros((len(trace.code), MAX_SOURCES + 1), np.int64) for _ in range(2))
    distances: list[int] = []
    for row in rows:
        first, length = int(trace.warps[row]["first"]), int(trace.warps[row]["length"])
        uops = trace.dynamic[first : first + length]

        def written(t: int, register: int, uops: np.ndarray = uops) -> bool:
            code = trace.code[uops[t]["pc"]]
            return int(uops[t]["mask"]) == ALL and 0 <= register - int(code["destination"]) < int(
                code["count"]
            )

        def reads(t: int, register: int, uops: np.ndarray = uops) -> bool:
            code = trace.code[uops[t]["pc"]]
            return bool(uops[t]["mask"]) and register in code["sources"][: code["source_count"]]

        for t in range(length):
            if not uops[t]["mask"]:
                continue
            pc = int(uops[t]["pc"])
            code = trace.code[pc]
            accesses = [(slot, int(code["sources"][slot])) for slot in range(code["source_count"])]
            accesses += [(MAX_SOURCES, int(code["destination"]) + place) for place in range(code["count"])]
            for column, register in accesses:
                total[pc, column] += 1
                if column < MAX_SOURCES and written(t, register):
                    continue
                for later in range(t + 1, length):
                    if reads(later, register):
                        distances.append(later - t)
                        near[pc, column] += later - t <= threshold
                        break
                    if written(later, register):
                        break
    return near, total, distances


@pytest.mark.parametrize("seed", range(4))
def test_votes_equal_a_forward_search(seed: int) -> None:
    trace = random_trace(seed)
    threshold = random.Random(seed).choice((1, 3, 12))
    rows = list(range(len(trace.warps)))
    near, total, distances = slow(trace, threshold, rows)
    assert near.any()
    found = reuse.votes(trace, threshold=threshold)
    assert np.array_equal(found.near, near)
    assert np.array_equal(found.total, total)
    expected = np.histogram(distances, [1, 2, 3, 4, 11, 1 << 40])[0]
    assert reuse.histogram(trace).tolist() == expected.tolist()


def test_only_the_first_warps_are_profiled() -> None:
    trace = random_trace(5)
    rows = reuse.first_warps(trace, 1)
    near, total, _ = slow(trace, reuse.THRESHOLD, rows.tolist())
    bits = reuse.near_hints(trace, least=1)
    for pc in range(len(trace.code)):
        for column in range(MAX_SOURCES + 1):
            assert bits[pc] >> column & 1 == (2 * near[pc, column] > total[pc, column])


def test_kernels_of_a_job_are_profiled_each() -> None:
    trace = runner.trace_job(workloads.get("scan").job("tiny"))
    kernels = trace.launches["kernel"][trace.warps["launch"]]
    rows = reuse.first_warps(trace, 1)
    assert sorted(kernels[rows].tolist()) == list(range(len(trace.kernels)))


def test_a_profile_agrees_with_the_whole_trace() -> None:
    trace = runner.trace_job(workloads.get("sgemm").job("tiny"))
    whole = reuse.votes(trace)
    assert whole.agreeing(reuse.near_hints(trace)) > 0.9
    assert whole.agreeing(whole.bits) >= whole.agreeing(~whole.bits)


def test_another_profile() -> None:
    small, tiny = (runner.trace_job(workloads.get("vectoradd").job(size)) for size in ("small", "tiny"))
    assert np.array_equal(reuse.near_hints(small, profile=tiny), reuse.near_hints(tiny))
    other = replace(tiny, code=tiny.code[:-1])
    with pytest.raises(ValueError, match="with other machine code than the trace"):
        reuse.near_hints(small, profile=other)


def test_a_bad_threshold() -> None:
    with pytest.raises(ValueError, match="must be at least 1, not 0"):
        reuse.votes(random_trace(1), threshold=0)

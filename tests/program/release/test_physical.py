"""Warps that share physical registers as the flags allow: every value that a lane reads is the one it
wrote."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numba import njit

from tests.program.release.replay import drawn
from warpbank import workloads
from warpbank.arch.uop import Control
from warpbank.program.release.insertion import insert_flags, release_all
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.schema import Trace

POISON = 0xDEADBEEF


@njit(cache=True)
def _share(
    pcs,
    masks,
    firsts,
    lengths,
    values,
    value_rows,
    sources,
    source_count,
    destination,
    count,
    dead,
    released,
    order,
):
    """Warps take turns as `order` says. Returns wrong values and the most physical registers in use."""
    warps = len(firsts)
    table = np.full((warps, 256), -1)
    right = np.zeros((warps, 256, 32), np.uint32)
    written = np.zeros((warps, 256), np.uint32)  # lanes that ever wrote
    physical = np.full((warps * 256, 32), np.uint32(POISON))
    free = np.ones(warps * 256, np.bool_)
    at = firsts.copy()
    wrong = used = most = 0
    for w in order:
        row = at[w]
        at[w] += 1
        pc, mask = pcs[row], masks[row]
        gone = released[pc].copy()
        if mask != 0:
            for k in range(source_count[pc]):
                r = sources[pc, k]
                for lane in range(32):
                    if mask & written[w, r] & np.uint32(1) << np.uint32(lane):
                        wrong += table[w, r] < 0 or physical[table[w, r], lane] != right[w, r, lane]
                gone[r] |= dead[pc] >> k & 1 != 0
        for r in range(256):
            if gone[r] and table[w, r] >= 0:
                free[table[w, r]] = True
                physical[table[w, r]] = POISON
                table[w, r] = -1
                used -= 1
        if mask != 0:
            for k in range(count[pc]):
                r = destination[pc] + k
                if table[w, r] < 0:
                    p = 0
                    while not free[p]:
                        p += 1
                    table[w, r], free[p] = p, False
                    used += 1
                for lane in range(32):
                    if mask & np.uint32(1) << np.uint32(lane):
                        physical[table[w, r], lane] = right[w, r, lane] = values[value_rows[row] + k, lane]
                written[w, r] |= mask
        most = max(most, used)
        if at[w] == firsts[w] + lengths[w]:
            for r in range(256):
                if table[w, r] >= 0:
                    free[table[w, r]] = True
                    used -= 1
    return wrong, most


def share(trace: Trace, seed: int) -> tuple[int, int]:
    """Let up to 48 warps of a trace with flags take turns at random."""
    code, dynamic, warps = trace.code, trace.dynamic, trace.warps[:48]
    released = np.zeros((len(code), 256), np.bool_)
    for pc, word in trace.flag_words.items():
        if word.control is Control.PBR:
            released[pc] = [word.registers >> r & 1 for r in range(256)]
    order = np.repeat(np.arange(len(warps)), warps["length"])
    np.random.default_rng(seed).shuffle(order)
    assert trace.hints is not None
    wrong, most = _share(
        np.ascontiguousarray(dynamic["pc"]),
        np.ascontiguousarray(dynamic["mask"]),
        warps["first"].astype(np.int64),
        warps["length"].astype(np.int64),
        trace.values,
        dynamic["value"].astype(np.int64),
        np.ascontiguousarray(code["sources"]),
        code["source_count"].astype(np.int64),
        code["destination"].astype(np.int64),
        code["count"].astype(np.int64),
        trace.hints.dead,
        released,
        order,
    )
    return int(wrong), int(most)


@pytest.mark.parametrize("name", workloads.names())
def test_kernels_share_physical_registers(name: str) -> None:
    job = workloads.get(name).job("tiny")
    trace = insert_flags(trace_job(job), release_all(compile_job(job)))
    given = trace.launches["registers"][trace.warps["launch"][:48]].sum()
    for seed in range(2):
        wrong, most = share(trace, seed)
        assert wrong == 0, seed
        assert 0 < most <= given


def test_random_programs_share_physical_registers() -> None:
    for seed in range(12):
        kernels, trace = drawn(seed)
        assert share(insert_flags(trace, release_all(kernels)), seed)[0] == 0, seed


def test_mutant_a_flag_too_early() -> None:
    """Flags of each instruction moved to the one before it."""
    found = 0
    for seed in range(4):
        kernels, trace = drawn(seed)
        release = release_all(kernels)
        found += share(insert_flags(trace, replace(release, dead=np.roll(release.dead, -1))), seed)[0]
    assert found

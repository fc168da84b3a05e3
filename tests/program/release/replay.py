"""A trace with flag instructions, read one lane at a time."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
from numba import njit

from tests.program.random_ptx import random_job
from warpbank.arch.uop import Control
from warpbank.program.isa import Kernel
from warpbank.program.runner import Options, compile_job, execute
from warpbank.program.trace.schema import Trace


@cache
def drawn(seed: int, registers: int = 32) -> tuple[dict[str, Kernel], Trace]:
    """Machine code and trace of a random structured program."""
    job, options = random_job(random.Random(seed).randint, seed, threads=72), Options(max_registers=registers)
    trace = execute(job, options, trace=True).trace
    assert trace is not None
    return compile_job(job, options), trace


@njit(cache=True)
def _replay(pcs, masks, firsts, lengths, sources, source_count, destination, count, dead, released):
    wrong = freed = kept = 0
    lost = np.zeros(256, np.uint32)  # lanes whose value was released
    allocated = np.zeros(256, np.bool_)
    for w in range(len(firsts)):
        lost[:] = 0
        allocated[:] = False
        for row in range(firsts[w], firsts[w] + lengths[w]):
            pc, mask = pcs[row], masks[row]
            for r in range(256):
                if released[pc, r]:
                    lost[r] = 0xFFFFFFFF
                    freed += allocated[r]
                    allocated[r] = False
            if mask == 0:
                continue
            for k in range(source_count[pc]):
                if lost[sources[pc, k]] & mask:
                    wrong += 1
            for k in range(source_count[pc]):
                if dead[pc] >> k & 1:
                    lost[sources[pc, k]] = 0xFFFFFFFF
                    freed += allocated[sources[pc, k]]
                    allocated[sources[pc, k]] = False
            for k in range(count[pc]):
                lost[destination[pc] + k] &= ~mask
                allocated[destination[pc] + k] = True
        kept += allocated.sum()
    return wrong, freed, kept


def replay(trace: Trace) -> tuple[int, int, int]:
    """Reads by a lane of what was released, registers that flags gave back, and registers that warps still
    held at their end."""
    code, dynamic, warps = trace.code, trace.dynamic, trace.warps
    released = np.zeros((len(code), 256), np.bool_)
    for pc, word in trace.flag_words.items():
        assert code["control"][pc] == word.control
        for r in range(256):
            released[pc, r] = word.control is Control.PBR and word.registers >> r & 1
    assert trace.hints is not None
    wrong, freed, kept = _replay(
        np.ascontiguousarray(dynamic["pc"]),
        np.ascontiguousarray(dynamic["mask"]),
        warps["first"].astype(np.int64),
        warps["length"].astype(np.int64),
        np.ascontiguousarray(code["sources"]),
        code["source_count"].astype(np.int64),
        code["destination"].astype(np.int64),
        code["count"].astype(np.int64),
        trace.hints.dead,
        released,
    )
    return int(wrong), int(freed), int(kept)

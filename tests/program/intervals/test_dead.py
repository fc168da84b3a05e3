"""Dead-operand bits: on no path that a warp took does a lane read what was marked dead."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numba import njit

from tests.program import guarded_barrier
from tests.program.random_ptx import random_job
from tests.program.release.test_flags import EXIT, add, kernel, sides, store
from warpbank import workloads
from warpbank.program.intervals.dead import dead_operands
from warpbank.program.isa import Imm, Instr, Kernel, Op
from warpbank.program.runner import Options, compile_job, execute, trace_job
from warpbank.program.simt_liveness import SimtLiveness
from warpbank.program.trace.schema import Trace

SEEDS = range(16)


@njit
def _replay(pcs, masks, firsts, lengths, sources, source_count, destination, count, bits):
    wrong = marked = 0
    gone = np.zeros(256, np.uint32)  # lanes that may not read the register
    for w in range(len(firsts)):
        gone[:] = 0
        for row in range(firsts[w], firsts[w] + lengths[w]):
            pc, mask = pcs[row], masks[row]
            if mask == 0:
                continue
            for k in range(source_count[pc]):
                if gone[sources[pc, k]] & mask:
                    wrong += 1
            for k in range(source_count[pc]):
                if bits[pc] >> k & 1:
                    marked += 1
                    gone[sources[pc, k]] = 0xFFFFFFFF
            for k in range(count[pc]):
                gone[destination[pc] + k] &= ~mask
    return wrong, marked


def replay(trace: Trace, bits: np.ndarray) -> tuple[int, int]:
    """Reads of dead lanes, and operands that were marked dead."""
    code, dynamic, warps = trace.code, trace.dynamic, trace.warps
    wrong, marked = _replay(
        np.ascontiguousarray(dynamic["pc"]),
        np.ascontiguousarray(dynamic["mask"]),
        warps["first"].astype(np.int64),
        warps["length"].astype(np.int64),
        np.ascontiguousarray(code["sources"]),
        code["source_count"].astype(np.int64),
        code["destination"].astype(np.int64),
        code["count"].astype(np.int64),
        bits,
    )
    return int(wrong), int(marked)


def all_bits(kernels: dict[str, Kernel]) -> np.ndarray:
    return np.concatenate([dead_operands(kernel) for kernel in kernels.values()])


def drawn(seed: int) -> tuple[dict[str, Kernel], Trace]:
    job, options = random_job(random.Random(seed).randint, seed, threads=72), Options(max_registers=32)
    trace = execute(job, options, trace=True).trace
    assert trace is not None
    return compile_job(job, options), trace


@pytest.mark.parametrize("name", workloads.names())
def test_no_lane_of_a_kernel_reads_a_dead_register(name: str) -> None:
    job = workloads.get(name).job("tiny")
    wrong, marked = replay(trace_job(job), all_bits(compile_job(job)))
    assert wrong == 0
    assert marked


def test_no_lane_of_a_random_program_reads_a_dead_register() -> None:
    total = 0
    for seed in SEEDS:
        kernels, trace = drawn(seed)
        wrong, marked = replay(trace, all_bits(kernels))
        assert wrong == 0, f"seed {seed}"
        total += marked
    assert total


def test_mutant_a_dead_bit_inside_a_divergent_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimtLiveness, "_wait_at", lambda self, branch, at_barriers: None)
    assert any(replay(trace, all_bits(kernels))[0] for kernels, trace in map(drawn, SEEDS))


def test_dead_operands_by_hand() -> None:
    """Per source, in the order of `registers_read`: none that the instruction itself overwrites."""
    code = kernel(A=[add(1, 0, Imm(1)), add(2, 0, 1), add(1, 2, 2), add(1, 1, Imm(3)), store(1), EXIT])
    assert dead_operands(code).tolist() == [0, 0, 0, 0b11, 0b1, 0, 0b1, 0]
    code = kernel(A=[add(1, 0, Imm(1)), add(1, 1, Imm(3)), add(4, 1, 0), EXIT])
    assert dead_operands(code).tolist() == [0, 0, 0, 0, 0b11, 0]
    code = kernel(A=[add(1, 0, Imm(1)), add(1, 1, Imm(3)), EXIT])
    assert dead_operands(code).tolist() == [0, 0, 1, 0, 0]


def test_lanes_that_arrive_at_a_barrier_alone_keep_their_operands() -> None:
    kernels, trace = guarded_barrier.drawn()
    assert replay(trace, all_bits(kernels))[0] == 0


def test_lanes_parked_at_a_barrier_keep_their_operands() -> None:
    code = sides([Instr(Op.BAR), add(5, 1, Imm(1))], [add(5, Imm(3), Imm(2))])
    assert dead_operands(code).tolist() == [0, 0, 1, *[0] * 7]

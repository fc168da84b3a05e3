"""Write-back hints: no read may need a value that was dropped."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from numba import njit

from tests.program import guarded_barrier
from tests.program.random_ptx import random_job
from warpbank import workloads
from warpbank.arch.uop import TO_BANKS, TO_COLLECTOR
from warpbank.program import write_back as unit
from warpbank.program.isa import Block, Imm, Instr, Kernel, Op, Pred, Reg, Space
from warpbank.program.runner import Options, compile_job, execute, trace_job
from warpbank.program.simt_liveness import SimtLiveness
from warpbank.program.trace.schema import Trace
from warpbank.program.write_back import (
    WINDOWS,
    Shares,
    WriteBack,
    shares,
    transient_registers,
    write_back,
    write_back_hints,
)
from warpbank.studies.reproduce.snippet import snippet_kernel, snippet_trace

SEEDS = range(16)


@njit(cache=True)
def _replay(
    pcs, masks, first, length, values, value_rows, sources, source_count, destination, count, bits, window
):
    """One warp through a window that holds values. Returns wrong reads and dropped dirty values."""
    right = np.zeros((256, 32), np.uint32)
    bank = np.zeros((256, 32), np.uint32)
    held = np.zeros((256, 32), np.uint32)
    idle = np.full(256, -1)  # -1: not in the window
    dirty = np.zeros(256, np.bool_)
    keep = np.zeros(256, np.bool_)
    wrong = dropped = 0
    for row in range(first, first + length):
        pc, mask = pcs[row], masks[row]
        for r in range(256):
            if idle[r] >= 0:
                idle[r] += 1
                if idle[r] >= window:
                    idle[r] = -1
                    if dirty[r]:
                        if keep[r]:
                            bank[r] = held[r]
                        else:
                            dropped += 1
                    dirty[r] = False
        if mask == 0:
            continue
        for k in range(source_count[pc]):
            r = sources[pc, k]
            if idle[r] < 0:
                held[r] = bank[r]
            idle[r] = 0
            for lane in range(32):
                if (mask >> lane) & 1 and held[r, lane] != right[r, lane]:
                    wrong += 1
        for k in range(count[pc]):
            r = destination[pc] + k
            new = values[value_rows[row] + k]
            wanted, kept = bits[pc] & 1 != 0, bits[pc] & 2 != 0
            full = mask == 0xFFFFFFFF
            enters = wanted if full else idle[r] >= 0 and (wanted or dirty[r])
            for lane in range(32):
                if (mask >> lane) & 1:
                    right[r, lane] = new[lane]
                    if enters:
                        held[r, lane] = new[lane]
                    else:
                        bank[r, lane] = new[lane]
            if enters:
                keep[r] = kept if full or not dirty[r] else keep[r] or kept or not wanted
                dirty[r] = True
                idle[r] = 0
            else:
                idle[r] = -1
                dirty[r] = False
    return wrong, dropped


def replay(trace: Trace, bits: np.ndarray, window: int) -> tuple[int, int]:
    """Wrong reads and dropped values of all warps."""
    d, code = trace.dynamic, trace.code
    total = np.zeros(2, np.int64)
    numbers = (code[name].astype(np.int64) for name in ("source_count", "destination", "count"))
    arrays = (trace.values, d["value"].astype(np.int64), np.ascontiguousarray(code["sources"]), *numbers)
    pcs, masks = np.ascontiguousarray(d["pc"]), np.ascontiguousarray(d["mask"])
    for warp in trace.warps:
        total += _replay(pcs, masks, int(warp["first"]), int(warp["length"]), *arrays, bits, window)
    return int(total[0]), int(total[1])


@cache
def drawn(seed: int, registers: int) -> tuple[dict[str, Kernel], Trace]:
    job, options = random_job(random.Random(seed).randint, seed, threads=72), Options(max_registers=registers)
    trace = execute(job, options, trace=True).trace
    assert trace is not None
    return compile_job(job, options), trace


@pytest.mark.quick("[4-8]")
@pytest.mark.parametrize("seed", SEEDS)
def test_no_read_needs_a_dropped_value_in_random_programs(seed: int) -> None:
    for registers in (16, 255):
        kernels, trace = drawn(seed, registers)
        dropped = 0
        for window in WINDOWS:
            wrong, gone = replay(trace, write_back_hints(kernels, window).write_back, window)
            assert wrong == 0, (seed, registers, window)
            dropped += gone
        if registers == 255 and seed == SEEDS[0]:
            assert dropped > 0, "nothing was dropped: nothing was tested"


@pytest.mark.parametrize("window", WINDOWS)
def test_lanes_that_arrive_at_a_barrier_alone_keep_their_values(window: int) -> None:
    kernels, trace = guarded_barrier.drawn()
    assert replay(trace, write_back_hints(kernels, window).write_back, window)[0] == 0


@pytest.mark.quick("[b-k]*")
@pytest.mark.parametrize("name", workloads.names())
def test_no_read_needs_a_dropped_value_in_the_workloads(name: str) -> None:
    job = workloads.get(name).job("tiny")
    trace, kernels = trace_job(job), compile_job(job)
    dropped = 0
    for window in WINDOWS:
        wrong, gone = replay(trace, write_back_hints(kernels, window).write_back, window)
        assert wrong == 0, window
        dropped += gone
    assert dropped > 0


def caught(more: int = 0) -> bool:
    """Whether some random program reads a dropped value. more: uops by which the pass takes the window for
    wider than it is."""
    for seed in SEEDS:
        for registers in (16, 255):
            kernels, trace = drawn(seed, registers)
            for window in (2, 3, 6):
                if replay(trace, write_back_hints(kernels, window + more).write_back, window)[0]:
                    return True
    return False


@pytest.mark.long
def test_mutant_one_uop_too_far() -> None:
    assert not caught()
    assert caught(more=1)


def test_mutant_a_guarded_write_kills(monkeypatch) -> None:
    monkeypatch.setattr(unit, "always", lambda instr: instr.op not in (Op.BRA, Op.EXIT))
    assert caught()


def test_mutant_thread_liveness(monkeypatch) -> None:
    monkeypatch.setattr(SimtLiveness, "_wait_at", lambda self, branch, at_barriers: None)
    monkeypatch.setattr(WriteBack, "_breaks", lambda self, block, instr: False)
    assert caught()


def test_the_btree_snippet() -> None:
    """Lines 2 to 14 of BOW, Fig. 6, at a window of 3; then EXIT."""
    banks, collector, both = TO_BANKS, TO_COLLECTOR, TO_BANKS | TO_COLLECTOR
    kernel = snippet_kernel()
    bits = write_back(kernel, 3)
    assert bits.tolist() == [banks, *[collector] * 7, both, *[collector] * 3, both, both]
    assert shares(snippet_trace().code, bits) == Shares(banks=1, collector=10, both=1)
    assert transient_registers(kernel, bits) == [0, 2, 4]
    assert WriteBack(kernel, 3).unread.nonzero()[0].tolist() == [11]
    assert replay(snippet_trace(), bits, 3)[0] == 0


def test_one_pair_of_bits_serves_all_destinations() -> None:
    """The low word is read at once and no more, the high word later."""
    code = [
        Instr(Op.IMULW, dst=Reg(2, 2), srcs=(Reg(0), Reg(1))),
        Instr(Op.IADD, dst=Reg(0), srcs=(Reg(2), Imm(1))),
        Instr(Op.NOP),
        Instr(Op.NOP),
        Instr(Op.ST, srcs=(Imm(0), Reg(3)), space=Space.SHARED),
        Instr(Op.EXIT),
    ]
    kernel = Kernel("k", [Block("a", code)], {}, 0, registers=4)
    assert write_back(kernel, 3)[0] == TO_BANKS | TO_COLLECTOR
    assert write_back(kernel, 5)[0] == TO_COLLECTOR


def test_a_guarded_read_does_not_prolong_the_stay() -> None:
    """Read two uops later under a guard and two more later: in a window of 3 only if the first read surely
    happens."""

    def first(guard: Pred | None) -> int:
        code = [
            Instr(Op.MOV, dst=Reg(0), srcs=(Imm(1),)),
            Instr(Op.NOP),
            Instr(Op.ST, srcs=(Imm(0), Reg(0)), space=Space.SHARED, guard=guard),
            Instr(Op.NOP),
            Instr(Op.ST, srcs=(Imm(4), Reg(0)), space=Space.SHARED),
            Instr(Op.EXIT),
        ]
        return int(write_back(Kernel("k", [Block("a", code)], {}, 1, registers=1), 3)[0])

    assert first(None) == TO_COLLECTOR
    assert first(Pred(0)) == TO_COLLECTOR | TO_BANKS


def test_a_write_that_a_decompress_move_may_precede_reads() -> None:
    """A value is read for the last time, and three uops later its register is written. The move that goes
    before a guarded write wants the value, though no instruction does; a fresh write has no move."""

    def first(guard: Pred | None, moves: bool) -> int:
        code = [
            Instr(Op.MOV, dst=Reg(0), srcs=(Imm(1),)),
            Instr(Op.ST, srcs=(Imm(0), Reg(0)), space=Space.SHARED),
            *[Instr(Op.NOP)] * 2,
            Instr(Op.MOV, dst=Reg(0), srcs=(Imm(2),), guard=guard),
            Instr(Op.EXIT),
        ]
        return int(write_back(Kernel("k", [Block("a", code)], {}, 1, registers=1), 3, moves)[0])

    assert first(Pred(0), False) == TO_COLLECTOR
    assert first(Pred(0), True) == TO_COLLECTOR | TO_BANKS
    assert first(None, True) == TO_COLLECTOR


@pytest.mark.parametrize("window", [1, 8])
def test_windows_out_of_range_are_refused(window: int) -> None:
    with pytest.raises(ValueError, match=r"outside 2\.\.7"):
        write_back(snippet_kernel(), window)


def test_virtual_registers_are_refused() -> None:
    with pytest.raises(ValueError, match="virtual registers"):
        write_back(Kernel("k", [Block("a", [Instr(Op.EXIT)])], {256: 1}, 0), 3)

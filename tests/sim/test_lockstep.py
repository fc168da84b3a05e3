"""Lockstep: golden and RTL are equal, event by event; what differs is found, shown, and ends with exit code
1."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.sim.lockstep_cases import BASELINE, compare, machine
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import Memory, Unit
from warpbank.cli import lockstep_tables
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.trace.builder import Op, TraceBuilder
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.events import Batch, encode, ordered, same
from warpbank.sim.lockstep import first_difference, lockstep

#: Kernels of the default suite: memory, shared memory and barriers, divergence, several launches, tensor,
#: special functions.
KERNELS = ("vectoradd", "sgemm", "reduction", "bfs", "mma_gemm", "blackscholes", "pathfinder", "gaussian")


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_on_tiny(kernel: str) -> None:
    outcome = compare(kernel, "tiny", machine("tiny", "gto"))
    assert outcome.divergence is None, outcome.divergence.reason
    assert outcome.result is not None
    assert outcome.result.operands_checked > 0
    assert outcome.events > outcome.cycles  # at least the scheduler's event in every cycle


@pytest.mark.quick("2")
@pytest.mark.parametrize("seed", range(3))
def test_random_traces_in_pysim(seed: int) -> None:
    trace = random_trace(seed, ctas=2, warps=2, length=12, launches=2)
    outcome = lockstep(trace, machine("tiny", "lrr"), BASELINE, PysimEngine())
    assert outcome.divergence is None, outcome.divergence.reason


def test_more_loads_return_than_are_written() -> None:
    """Loads of four registers return faster than these are written: the queue between fills up."""
    config = with_overrides(machine("tiny", "lrr"), ["lsu.pending=4", "sub_cores=1"])
    loads = [Op(Unit.LSU, (), 4 * number, 4, memory=Memory.LOAD_CONST) for number in range(10)]
    builder = TraceBuilder()
    builder.launch([loads] * config.sub_core.warps, registers=40)
    outcome = lockstep(builder.build(), config, BASELINE, PysimEngine())
    assert outcome.divergence is None, outcome.divergence.reason


def test_a_divergence_is_shown() -> None:
    """The RTL has another machine than golden: its multiplier is a cycle slower."""
    config = preset("tiny")
    slower = with_overrides(config, ["sub_core.execute.fma.latency=5"])

    class Slower(PysimEngine):
        def open(self, trace, config, scheme, **options):  # type: ignore[no-untyped-def]
            return super().open(trace, slower, scheme, **options)

    outcome = lockstep(
        random_trace(5, ctas=1, warps=2, length=20), config, parse_scheme("baseline"), Slower()
    )
    found = outcome.divergence
    assert found is not None
    assert found.cycle is not None
    assert found.reason == f"The events of cycle {found.cycle} differ."
    assert int(found.golden["cycle"].min()) >= found.cycle - 19
    assert int(found.golden["cycle"].max()) <= found.cycle
    lines = lockstep_tables.side_by_side(found)
    marks = list(lines.columns[2].cells)
    assert any(str(mark) in "<>" and str(mark) for mark in marks)
    cycles = [str(cell) for cell in lines.columns[0].cells if str(cell)]
    last = len(cycles) and int(cycles[-1])
    assert last == found.cycle


def records(*rows: tuple[int, int, str, tuple[int, ...]]) -> np.ndarray:
    return encode(list(rows))


def test_the_order_within_a_cycle_means_nothing() -> None:
    left = records((3, 0, "retire", (1, 7)), (3, 0, "fill", (1, 9)), (4, -1, "l1_fill", (1 << 56,)))
    assert same(left, left[[1, 0, 2]])
    assert not same(left, left[:2])
    assert (ordered(left)["cycle"] == [3, 3, 4]).all()


def test_the_order_of_cycles_does() -> None:
    left = records((3, 0, "retire", (1, 7)), (4, 0, "retire", (1, 8)))
    right = records((3, 0, "retire", (1, 8)), (4, 0, "retire", (1, 7)))
    assert not same(left, right)
    assert first_difference(left, right) == 3
    assert first_difference(left, left) is None
    assert first_difference(left, left[:1]) == 4


def test_repeated_events_count() -> None:
    one = records((1, 0, "retire", (0, 0)))
    assert not same(one, np.concatenate([one, one]))


def test_batches_follow_each_other() -> None:
    from warpbank.sim.engines.golden import GoldenEngine

    batches: list[Batch] = []
    result = GoldenEngine().run(random_trace(1), preset("tiny"), BASELINE, events=batches.append)
    assert batches[0].start == 0
    assert batches[-1].end == result.cycles
    for one, other in itertools.pairwise(batches):
        assert one.end == other.start
        assert (one.records["cycle"] < one.end).all()
        assert (other.records["cycle"] >= other.start).all()

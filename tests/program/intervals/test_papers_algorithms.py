"""Register-intervals against LTRF's Algorithms 1 and 2 written a second time, over single instructions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.graphs import shapes
from tests.program.intervals.papers_algorithms import partitions
from tests.program.intervals.test_formation import filled, nest
from warpbank import workloads
from warpbank.program.cfg import Cfg
from warpbank.program.intervals import formation
from warpbank.program.intervals.formation import form
from warpbank.program.isa import Kernel
from warpbank.program.runner import compile_job


def agree(kernel: Kernel, limit: int) -> bool:
    """Whether both implementations divide the kernel alike, after either pass."""
    cfg, made = Cfg(kernel), form(kernel, limit)
    order = [*cfg.order, *(block for block in range(cfg.exit) if block not in set(cfg.order))]
    first, second = partitions(kernel, order, limit)
    number = made.interval.tolist()
    mine = frozenset(frozenset(pc for pc, i in enumerate(number) if i == each) for each in set(number))
    return made.first_pass == len(first) and mine == second


@settings(max_examples=200, deadline=None)
@given(shapes(), st.integers(0, 10**9), st.sampled_from([3, 4, 6, 8, 16, 256]))
def test_graphs_of_every_shape(shape: list[tuple[str, int]], seed: int, limit: int) -> None:
    assert agree(filled(shape, seed), limit)


@pytest.mark.parametrize("name", workloads.names())
def test_the_kernels(name: str) -> None:
    for kernel in compile_job(workloads.get(name).job("tiny")).values():
        for limit in (8, 16):
            assert agree(kernel, limit)


@pytest.mark.parametrize("depth", [2, 3])
def test_fig6(depth: int) -> None:
    """A loop in a loop: as many intervals as headers, then one."""
    kernel = nest(depth)
    first, second = partitions(kernel, Cfg(kernel).order, depth)
    assert len(first) == depth
    assert len(second) == 1


def test_mutant_one_register_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other implementation with an interval of one register more than it may have."""
    first = formation._pass1
    monkeypatch.setattr(formation, "_pass1", lambda graph, limit, headers: first(graph, limit + 1, headers))
    kernels = [
        kernel
        for name in ("btree", "hotspot")
        for kernel in compile_job(workloads.get(name).job("tiny")).values()
    ]
    assert not all(agree(kernel, 8) for kernel in kernels)

"""The whole SM in lockstep with golden on random traces: every event of every cycle, every operand, every
launch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hdl.sm_bench import Divergence, lockstep
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.hdl.sm import Sm
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.trace.builder import TraceBuilder, alu

_TIGHT = (
    "lsu.queue=1",
    "lsu.pending=2",
    "l1.mshrs=1",
    "l1.merges=1",
    "l1.sets=1",
    "l1.ways=1",
    "memory.queue=1",
    "sub_core.execute.result_queue=1",
)
_SIZES: dict[str, tuple[str, ...]] = {
    "tiny": (),
    "lrr": ("sub_core.front_end.scheduler=lrr",),
    "two sub-cores": ("sub_cores=2",),
    "three sub-cores of two warps": ("sub_cores=3", "sub_core.warps=2", "cta.max_ctas=2"),
    "short queues": _TIGHT,
}


@pytest.mark.quick("tiny")
@pytest.mark.parametrize("size", _SIZES)
def test_random_trace(size: str) -> None:
    trace = random_trace(len(size), ctas=3, warps=3, length=6, launches=2)
    lockstep(trace, with_overrides(preset("tiny"), _SIZES[size]))


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1 << 20),
    size=st.sampled_from(list(_SIZES)),
    banks=st.sampled_from((1, 2, 4)),
    collectors=st.integers(1, 4),
    entries=st.integers(1, 3),
    hold=st.integers(0, 4),
    policy=st.sampled_from(("lrr", "gto")),
    ctas=st.integers(1, 6),
    warps=st.integers(1, 4),
)
def test_random_machines(
    seed: int,
    size: str,
    banks: int,
    collectors: int,
    entries: int,
    hold: int,
    policy: str,
    ctas: int,
    warps: int,
) -> None:
    config = with_overrides(
        preset("tiny"),
        [
            *_SIZES[size],
            f"sub_core.banks={banks}",
            f"sub_core.collectors={collectors}",
            f"sub_core.front_end.buffer_entries={entries}",
            f"sub_core.front_end.branch_hold={hold}",
            f"sub_core.front_end.scheduler={policy}",
        ],
    )
    lockstep(random_trace(seed, ctas=ctas, warps=warps, length=15, launches=2), config)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        *((name, ()) for name in ("turing", "pascal", "fermi", "fermi-gscalar", "fermi-renaming")),
        ("turing-accelsim", ()),
        ("pascal", ("sub_core.collector.allocation=per_warp",)),
    ],
)
def test_presets(name: str, overrides: tuple[str, ...]) -> None:
    lockstep(random_trace(4, ctas=4, warps=4, length=6), with_overrides(preset(name), overrides))


@pytest.mark.long
def test_a_collector_for_each_warp() -> None:
    """A baseline with what BOW adds to it."""
    private = ["sub_core.collector.allocation=per_warp", "sub_core.collectors=4", "sub_core.warps=4"]
    lockstep(random_trace(4, ctas=2, warps=2, length=12), with_overrides(preset("tiny"), private))


def test_launches_follow_each_other() -> None:
    builder = TraceBuilder()
    for registers, shared, ctas in ((16, 0, 5), (64, 20000, 3), (8, 49152, 2)):
        builder.launch(*[[[alu(1), alu(2, 1)], [alu(3)]]] * ctas, registers=registers, shared=shared)
    result = lockstep(builder.build(), with_overrides(preset("tiny"), ["sub_cores=2"]))
    assert len(result.launches) == 3


def test_a_wrong_cycle_is_noticed() -> None:
    config = preset("tiny")
    slow = Sm(with_overrides(config, ["memory.l2_latency=21"]), parse_scheme("baseline"), probe=True)
    with pytest.raises(Divergence, match=r"cycle \d+: golden only .*l1_fill"):
        lockstep(random_trace(2, length=6), config, sm=slow)


@pytest.mark.parametrize(
    ("config", "scheme"), [("tiny", parse_scheme("baseline")), (preset("tiny"), "baseline")]
)
def test_configuration_is_asked_for(config: Any, scheme: Any) -> None:
    with pytest.raises(TypeError, match="Sm needs an SmConfig and a Scheme"):
        Sm(config, scheme)

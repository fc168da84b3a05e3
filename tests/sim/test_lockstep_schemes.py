"""Golden and RTL in lockstep under every scheme, on random programs with random hints that are safe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.golden.measure import Run
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import Unit
from warpbank.program.hints import Hints
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.random_programs.similar import similar_trace
from warpbank.program.trace.builder import Op, TraceBuilder, alu
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import lockstep

WINDOW, ENTRIES = "sub_core.collector.window=", "sub_core.collector.boc_entries="
TWO_LEVEL = "sub_core.front_end.scheduler=two_level"
CASES = [("malekeh", ("sub_core.collector.sthld_interval=32",))]
#: Each is a simulation of a whole SM in Python, so these wait for
#: `pytest -m long tests/sim/test_lockstep_schemes.py`.
MORE = [
    ("ccu-lru-gto", ("sub_core.collectors=3",)),
    ("bow", ()),
    ("bow-wr", (ENTRIES + "half",)),
    ("malekeh-pr", (TWO_LEVEL,)),
    ("bow", (WINDOW + "7", ENTRIES + "6")),
    ("bow-wb", (WINDOW + "2",)),
    ("bow-wr", (WINDOW + "7", ENTRIES + "half")),
    ("bow-wr", (WINDOW + "7",)),
    ("malekeh", ("sub_core.collector.sthld=8", "sub_core.collector.cache_lines=16")),
    ("malekeh-pr", ()),
    ("ccu-lru-own", ()),
    ("bow-wr", (TWO_LEVEL,)),
    ("malekeh", (TWO_LEVEL, "sub_core.collector.sthld=8", "sub_core.active_warps=3")),
]


def hinted(seed: int) -> Trace:
    """A random program. Any value of `near` is safe, since it steers only what is kept; of `write_back`,
    those with the banks."""
    trace = random_trace(seed)
    rng = np.random.default_rng(seed)
    count = len(trace.code)
    hints = Hints.none(count)
    write_back, near = rng.integers(2, 4, count, np.uint8), rng.integers(0, 128, count, np.uint8)
    return replace(trace, hints=replace(hints, write_back=write_back, near=near))


@pytest.mark.long
def test_a_move_is_no_uop_of_an_interval() -> None:
    """Malekeh's intervals count the uops that issue; decompress moves are not among them."""
    machine = ["sub_cores=1", "sub_core.warps=2", "sub_core.rows=33", "sub_core.collector.sthld_interval=16"]
    program = [
        alu(1 + each % 3, mask=mask) for each in range(40) for mask in (0xF, 0x1)[: 1 + (each % 4 < 2)]
    ]
    trace = TraceBuilder().launch([program], registers=8).build()
    trace.values[:] = trace.values.max(axis=1, keepdims=True) * (trace.values != 0)  # all lanes alike
    trace = replace(trace, hints=Hints.none(len(trace.code)))
    scheme = parse_scheme("malekeh+gscalar")
    outcome = lockstep(trace, with_overrides(preset("tiny"), machine), scheme, PysimEngine())
    assert outcome.divergence is None, outcome.divergence.reason
    assert outcome.result.counters["issue.moves"] > 10


@pytest.mark.long
def test_more_requests_than_a_byte_counts_wait_at_a_bank() -> None:
    machine = ["lanes=1", "sub_cores=1", "sub_core.warps=8", "sub_core.banks=1", "sub_core.collectors=64"]
    program = [Op(Unit.FMA, (0, 1, 2, 3, 4, 5), 8 + each, 1) for each in range(12)]
    trace = TraceBuilder().launch([program] * 8, registers=24).build()
    trace = replace(trace, hints=Hints.none(len(trace.code)))
    run = Run(trace, *machine)
    assert max(values[2] for _, _, event, values in run.events if event == "conflict") > 255
    outcome = lockstep(trace, run.config, parse_scheme("baseline"), PysimEngine())
    assert outcome.divergence is None, outcome.divergence.reason


@pytest.mark.long
@pytest.mark.parametrize(
    ("scheme", "overrides"), [*CASES, *(pytest.param(*case, marks=pytest.mark.long) for case in MORE)]
)
def test_every_event_of_every_cycle(scheme: str, overrides: tuple[str, ...]) -> None:
    outcome = lockstep(
        hinted(1), with_overrides(preset("tiny"), overrides), parse_scheme(scheme), PysimEngine()
    )
    assert outcome.divergence is None, f"seed 1: {outcome.divergence.reason}"
    assert outcome.result is not None
    assert outcome.result.counters["boc.forwards"]


@pytest.mark.long
@pytest.mark.parametrize(
    "active", [2, *(pytest.param(active, marks=pytest.mark.long) for active in (1, 3, 8, 20))]
)
def test_two_levels(active: int) -> None:
    config = with_overrides(preset("tiny"), [TWO_LEVEL, f"sub_core.active_warps={active}"])
    outcome = lockstep(random_trace(2), config, parse_scheme("baseline"), PysimEngine())
    assert outcome.divergence is None, f"seed 2: {outcome.divergence.reason}"
    assert outcome.result is not None
    counters, stalls = outcome.result.counters, outcome.result.stalls
    assert counters["two_level.activations"] == counters["two_level.deactivations"] > 0
    assert counters["two_level.ready_pending"] >= stalls["pending"] > 0


SIMILAR = [
    ("gscalar", ()),
    pytest.param("gscalar-half", ("sub_core.execute.scalar_sfu=one",), marks=pytest.mark.long),
    pytest.param("bdi", ("lanes=8",), marks=pytest.mark.long),
    ("scalar-rf", ("sub_core.banks=4",)),
]


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "overrides"), SIMILAR)
def test_registers_that_resemble_each_other(scheme: str, overrides: tuple[str, ...]) -> None:
    """Compression, decompress moves and scalar execution."""
    outcome = lockstep(
        similar_trace(1), with_overrides(preset("tiny"), overrides), parse_scheme(scheme), PysimEngine()
    )
    assert outcome.divergence is None, f"seed 1: {outcome.divergence.reason}"
    assert outcome.result is not None
    counters = outcome.result.counters
    assert counters["issue.moves"]
    assert counters["rf.arrays.write"]
    assert counters["scalar.alu"] or scheme == "bdi"
    assert counters["scalar.divergent"] or not scheme.startswith("gscalar")
    assert counters["scalar.half"] or scheme != "gscalar-half"
    assert counters["scalar_rf.reads"] or scheme != "scalar-rf"

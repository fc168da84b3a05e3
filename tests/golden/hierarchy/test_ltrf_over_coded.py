"""G-Scalar's storage under LTRF's cache in the machine: operands, scalar execution, arrays, cycles, and
mutants.

All kernels, and what they count, with

    pytest -m long tests/golden/hierarchy/test_ltrf_over_coded.py
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.golden.storage.test_coded import Checked, hand_made, lanes
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.counters import count
from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import Scalar
from warpbank.golden.check import OperandMismatch
from warpbank.golden.result import Result
from warpbank.golden.sm import Sm, simulate
from warpbank.golden.storage.coded import READ_DELAY, Coded
from warpbank.golden.storage.metadata import Metadata
from warpbank.program.hint_passes import with_hints
from warpbank.program.random_programs.hinted import random_for
from warpbank.program.random_programs.intervals import with_prefetches
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.builder import ALL, alu
from warpbank.program.trace.schema import Trace

STORAGES = ("gscalar", "gscalar-half", "bdi")
SMALL = with_overrides(preset("tiny"), ["sub_core.cache.registers=8", "sub_core.active_warps=2"])
LOW, HIGH = 0x0000FFFF, 0xFFFF0000


def run(trace: Trace, scheme: str, config: SmConfig) -> tuple[Result, list[Record]]:
    records: list[Record] = []
    return Sm(trace, config, parse_scheme(scheme), events=records.append).run(), records


def program(seed: int, scheme: str) -> Trace:
    return random_for(parse_scheme(scheme), SMALL, seed, ctas=3, warps=3, length=40)


def kernel(name: str, scheme: str, config: SmConfig) -> Result:
    job, wanted = workloads.get(name).job("tiny"), parse_scheme(scheme)
    return simulate(
        with_hints(trace_job(job), wanted.hints, config, lambda: compile_job(job)), config, wanted
    )


@pytest.mark.quick("ltrf-plus-gscalar", "ltrf-bdi", "ltrf+renaming-gscalar-half")
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    "cache",
    ["ltrf", "ltrf-plus", "ltrf+bow-wb", "ltrf+malekeh", "ltrf+renaming", "ltrf-plus+bow-wb+renaming"],
)
def test_random_programs(cache: str, storage: str) -> None:
    """No operand is wrong, and counters are sums of events."""
    scheme = f"{cache}+{storage}"
    for seed in range(3):
        result, records = run(program(seed, scheme), scheme, SMALL)
        counted = result.counters
        assert result.operands_checked > 100
        assert counted == count(records)
        assert counted["rf.arrays.read"] > 0
        assert counted["cache.fills"] == counted["rf.reads"] > 0
        assert counted["issue.moves"] == 0


@pytest.mark.parametrize("name", [pytest.param("reduction", marks=pytest.mark.long), "bfs", "spmv"])
def test_kernels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one lane executes has one result, and is the same as without a cache."""
    monkeypatch.setattr("warpbank.golden.storage.coded.ScalarLanes", Checked)
    monkeypatch.setattr(Checked, "seen", 0)
    _same_as_flat(name, "ltrf", "gscalar")
    assert Checked.seen


@pytest.mark.long
@pytest.mark.parametrize("name", workloads.names())
@pytest.mark.parametrize(
    ("cache", "storage"),
    [
        ("ltrf", "gscalar"),
        ("ltrf-plus", "gscalar"),
        ("ltrf-strand", "gscalar"),
        ("ltrf", "gscalar-half"),
        ("ltrf-plus", "gscalar-half"),
        ("ltrf-plus", "bdi"),
        ("ltrf+renaming", "gscalar"),
    ],
)
def test_all_kernels(name: str, cache: str, storage: str) -> None:
    _same_as_flat(name, cache, storage)


def _same_as_flat(name: str, cache: str, storage: str) -> None:
    config = preset("turing")
    flat, cached = kernel(name, storage, config), kernel(name, f"{cache}+{storage}", config)
    counted = [field for field in flat.counters if field.startswith("scalar.")]
    assert {field: flat.counters[field] for field in counted} == {
        field: cached.counters[field] for field in counted
    }
    assert cached.operand_mismatches == 0


def test_a_divergent_scalar_is_one_for_its_own_lanes_only() -> None:
    """Figure 7b: in the cache, and after a way to the main register file and back."""
    ops = (
        alu(2),
        alu(2, 2, mask=LOW),
        alu(1, 2, mask=LOW),
        alu(1, 2, mask=HIGH),
        alu(1, 2, mask=0xFF),
        alu(1, 2),
    )
    trace = hand_made(*ops, values=[np.arange(32), 4, 1, 2, 3, 5])
    moved = 0
    for seed in range(8):
        _, records = run(with_prefetches(trace, 8, seed), "ltrf+gscalar", preset("turing"))
        assert lanes(records)[2:6] == [
            (1, Scalar.DIVERGENT),
            (16, Scalar.NONE),
            (8, Scalar.NONE),
            (32, Scalar.NONE),
        ]
        moved += sum(name == "write_back" for _, _, name, _ in records)
    assert moved


def test_a_partial_warp_is_not_divergent() -> None:
    ops = (alu(2, mask=0xFF), alu(1, 2, mask=0xFF))
    trace = hand_made(*ops, values=[np.where(np.arange(32) < 8, 3, np.arange(32)), 1], launched=0xFF)
    _, records = run(with_prefetches(trace, 8, 0), "ltrf+gscalar", preset("turing"))
    assert lanes(records)[:2] == [(1, Scalar.ALU), (1, Scalar.ALU)]


def test_arrays_are_activated_by_moves_only() -> None:
    """One interval that ends: what it reads was fetched, and nothing is written back."""
    ops = (alu(1), alu(2), alu(3, 1, 2), alu(3, 3, mask=0xF), alu(4, 3))
    trace = hand_made(*ops, values=[5, np.arange(32) * 0x101, 9, 9, 9])
    result, records = run(with_prefetches(trace, 8, 5), "ltrf-plus+gscalar", preset("turing"))
    moves = sum(name in ("fetch", "write_back") for _, _, name, _ in records)
    assert sum(name in ("array_read", "array_write") for _, _, name, _ in records) == moves
    assert result.counters["cache.reads"] > moves


@pytest.mark.parametrize("storage", STORAGES)
def test_a_fetch_passes_the_decompressor(storage: str) -> None:
    """The soonest that a register arrives after its bank was read; operands and results take as long as
    without compression."""
    soonest = []
    for scheme in ("ltrf", f"ltrf+{storage}"):
        _, records = run(program(1, f"ltrf+{storage}"), scheme, SMALL)
        read: dict[tuple[int, ...], int] = {}
        found = []
        for cycle, _, name, values in records:
            if name == "fetch":
                read[values[-2:]] = cycle
            elif name == "cache_fill":
                found.append(cycle - read.pop(values[-2:]))
        soonest.append(min(found))
    crossed = 2 + SMALL.sub_core.cache.crossing
    assert soonest == [crossed, crossed + READ_DELAY]


def test_without_fetches_nothing_takes_longer() -> None:
    """One warp, one interval, nothing alive before it: as many cycles as without compression."""
    trace = with_prefetches(
        hand_made(alu(1), *(alu(1, 1) for _ in range(6)), values=[np.arange(32)] * 7), 8, 5
    )
    config = preset("turing")
    assert run(trace, "ltrf-plus+gscalar", config)[0].cycles == run(trace, "ltrf-plus", config)[0].cycles


def mismatches(storage: str) -> bool:
    for seed in range(6):
        try:
            run(program(seed, f"ltrf+{storage}"), f"ltrf+{storage}", SMALL)
        except OperandMismatch:
            return True
    return False


@pytest.mark.quick("gscalar")
@pytest.mark.parametrize("storage", STORAGES)
def test_mutants_are_caught(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not mismatches(storage)
    with monkeypatch.context() as context:  # compressed although some of its lanes are still to come
        encode = Coded.encode
        context.setattr(Coded, "encode", lambda self, value, compress: encode(self, value, True))
        assert mismatches(storage)
    if storage != "bdi":
        with monkeypatch.context() as context:  # D is ignored
            context.setattr(Metadata, "kept", lambda self: self.enc)
            assert mismatches(storage)


def test_a_mutant_that_ignores_masks_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Metadata, "scalar", lambda self, mask: self.full)
    ops = (alu(2), alu(2, 2, mask=LOW), alu(1, 2, mask=HIGH))
    trace = hand_made(*ops, values=[np.arange(32), 4, 2], launched=ALL)
    _, records = run(with_prefetches(trace, 8, 0), "ltrf+gscalar", preset("turing"))
    assert (1, Scalar.DIVERGENT) in lanes(records)

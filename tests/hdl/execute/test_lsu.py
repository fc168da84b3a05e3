"""The load/store unit in lockstep with golden's: random uops at random sizes, and broken units that must be
noticed."""

from __future__ import annotations

import pytest
from amaranth.hdl import Cat
from hypothesis import given, settings
from hypothesis import strategies as st

import warpbank.hdl.execute.lsu as unit
from tests.hdl.execute.lsu_pair import difference, random_stimulus, run_golden, run_rtl
from tests.hdl.wrapped import wrapped
from tests.thinned import examples
from warpbank.arch.config import SmConfig, preset, with_overrides
from warpbank.hdl.execute.l1 import Mshrs, Tags
from warpbank.hdl.execute.lsu import Lsu
from warpbank.hdl.execute.memory import Memory
from warpbank.hdl.execute.returns import Returns

#: Every latency and interval at its least.
FAST = (
    "l1.latency=1",
    "memory.l2_interval=1",
    "memory.dram_interval=1",
    "memory.l2_latency=1",
    "memory.dram_latency=1",
    "memory.atomic_interval=1",
    "lsu.shared_latency=1",
    "lsu.const_latency=1",
    "lsu.shuffle_latency=2",
)
#: Every queue as short as it can be.
TIGHT = (
    "lsu.queue=1",
    "lsu.pending=1",
    "l1.mshrs=1",
    "l1.merges=1",
    "l1.sets=1",
    "l1.ways=1",
    "memory.queue=1",
    "memory.l2_sets=1",
    "memory.l2_ways=1",
)
#: Lines in sectors.
SECTORED = ("l1.sectors=4", "memory.l2_sectors=4")


@st.composite
def machines(draw: st.DrawFn) -> SmConfig:
    overrides = [
        f"sub_cores={draw(st.integers(1, 4))}",
        f"lsu.queue={draw(st.integers(1, 3))}",
        f"lsu.pending={draw(st.integers(1, 12))}",
        f"l1.latency={draw(st.sampled_from((1, 2, 3, 6, 40)))}",
        f"l1.mshrs={draw(st.integers(1, 5))}",
        f"l1.merges={draw(st.integers(1, 4))}",
        f"l1.ways={draw(st.integers(1, 4))}",
        f"l1.sets={draw(st.sampled_from((1, 2, 8)))}",
        f"memory.queue={draw(st.integers(1, 5))}",
        f"memory.l2_interval={draw(st.integers(1, 3))}",
        f"memory.dram_interval={draw(st.integers(1, 9))}",
        f"memory.l2_latency={draw(st.integers(1, 25))}",
        f"memory.dram_latency={draw(st.integers(1, 25))}",
        f"memory.l2_ways={draw(st.integers(1, 3))}",
        f"memory.l2_sets={draw(st.sampled_from((1, 2, 16)))}",
        f"l1.sectors={draw(st.sampled_from((1, 4)))}",
        f"memory.l2_sectors={draw(st.sampled_from((1, 4)))}",
    ]
    return with_overrides(preset("tiny"), overrides)


def compare(
    config: SmConfig, seed: int, cycles: int, spread: int, lines: int, rate: float, dut: Lsu | None = None
) -> str:
    stimulus = random_stimulus(config, seed, cycles, spread, lines, rate)
    return difference(run_golden(config, stimulus), run_rtl(config, stimulus, dut))


@settings(max_examples=examples(12, 5), deadline=None)
@given(
    config=machines(),
    seed=st.integers(0, 1 << 20),
    spread=st.sampled_from((1, 4, 12, 60)),
    lines=st.integers(1, 8),
    rate=st.sampled_from((0.05, 0.3, 0.9)),
)
def test_random_uops(config: SmConfig, seed: int, spread: int, lines: int, rate: float) -> None:
    assert compare(config, seed, 250, spread, lines, rate) == ""


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(
    config=machines(),
    seed=st.integers(0, 1 << 20),
    spread=st.sampled_from((1, 4, 12, 60)),
    lines=st.integers(1, 16),
    rate=st.sampled_from((0.02, 0.1, 0.3, 0.9)),
)
def test_many_random_uops(config: SmConfig, seed: int, spread: int, lines: int, rate: float) -> None:
    assert compare(config, seed, 800, spread, lines, rate) == ""


@pytest.mark.quick("0.05-*")
@pytest.mark.parametrize(
    "overrides",
    [
        (),
        FAST,
        TIGHT,
        (*FAST, *TIGHT),
        ("l1.latency=60", "l1.mshrs=6", "lsu.pending=20"),
        SECTORED,
        (*SECTORED, *FAST),
        (*SECTORED, *TIGHT),
        (*SECTORED, "l1.mshrs=12", "l1.sets=1", "memory.dram_interval=7", "memory.l2_interval=6"),
    ],
)
@pytest.mark.parametrize("rate", [0.05, 0.6])
def test_corners(overrides: tuple[str, ...], rate: float) -> None:
    assert compare(with_overrides(preset("tiny"), overrides), 3, 400, 9, 4, rate) == ""


def test_turing() -> None:
    assert compare(preset("turing"), 5, 600, 200, 32, 0.2) == ""


def test_configuration_is_asked_for() -> None:
    with pytest.raises(TypeError, match=r"Lsu needs the machine's configuration, an SmConfig, not 'tiny'\."):
        Lsu("tiny")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Memory needs the machine's configuration, an SmConfig, not None\."):
        Memory(None)  # type: ignore[arg-type]


MUTANTS = {
    "the line filled first is replaced": (
        "Tags",
        lambda *a, **k: wrapped(Tags(*a, **k), touch=lambda value, _: 0),
    ),
    "atomics do not invalidate": ("Tags", lambda *a, **k: wrapped(Tags(*a, **k), remove=lambda value, _: 0)),
    "the lowest bit of a line is lost": (
        "Tags",
        lambda *a, **k: wrapped(Tags(*a, **k), line=lambda value, _: value & ~1),
    ),
    "one merge too few": (
        "Mshrs",
        lambda entries, merges, *rest: wrapped(
            Mshrs(entries, merges, *rest),
            can_merge=lambda value, ports: value & (ports.waiting != merges - 1),
        ),
    ),
    "an MSHR too few": ("Mshrs", lambda entries, *rest: Mshrs(entries - 1, *rest)),
    "younger uops first": (
        "Returns",
        lambda *a, **k: wrapped(
            Returns(*a, **k),
            answers=lambda value, ports: Cat(value[1], value[0], value[2]),
            answered=lambda value, ports: Cat(value[1], value[0], value[2]),
        ),
    ),
    "misses are not waited for": (
        "Returns",
        lambda *a, **k: wrapped(Returns(*a, **k), finish_complete=lambda value, _: 1),
    ),
}


@pytest.mark.quick("*lowest bit*", "*atomics*")
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, made = MUTANTS[name]
    monkeypatch.setattr(unit, place, made)
    config = with_overrides(preset("tiny"), ["l1.merges=3", "l1.latency=30", "l1.sets=2"])
    assert any(compare(config, seed, 500, 10, 4, 0.4, Lsu(config, probe=True)) for seed in range(3))


SECTOR_MUTANTS = {
    "a line that is there counts as whole": (
        "Tags",
        lambda *a, **k: wrapped(Tags(*a, **k), hit=lambda value, ports: (~ports.missing).any()),
    ),
    "the rest of a line is forgotten": ("Mshrs", lambda *a: wrapped(Mshrs(*a), left=lambda value, _: 0)),
    "a sector that is on its way is asked for again": (
        "Mshrs",
        lambda *a: wrapped(Mshrs(*a), asks=lambda value, ports: ports.sectors),
    ),
    "a request brings its lowest sector only": (
        "Mshrs",
        lambda *a: wrapped(Mshrs(*a), fill_sectors=lambda value, _: value & -value),
    ),
    "memory moves whole lines": (
        "Memory",
        lambda *a, **k: wrapped(Memory(*a, **k), sectors=lambda value, _: 15),
    ),
}


@pytest.mark.quick("*whole")
@pytest.mark.parametrize("name", SECTOR_MUTANTS)
def test_mutants_of_sectors_are_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, made = SECTOR_MUTANTS[name]
    monkeypatch.setattr(unit, place, made)
    config = with_overrides(preset("tiny"), [*SECTORED, "l1.mshrs=6", "l1.sets=2"])
    assert any(compare(config, seed, 500, 10, 4, 0.4, Lsu(config, probe=True)) for seed in range(3))

"""The worked example of a storage from outside: it runs under every collector and every cache without another
class, golden and RTL in lockstep, and broken ones are caught."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Const

import warpbank.golden.registry
import warpbank.hdl.registry
from tests.registries import kept
from warpbank.arch.config import preset
from warpbank.arch.errors import SchemeError
from warpbank.arch.schemes import SCHEMES, Scheme, parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.random_programs.hinted import random_for
from warpbank.program.trace.schema import Trace
from warpbank.sim import extensions
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import Outcome, lockstep
from warpbank.sim.runs import RunSpec
from warpbank.studies.combinations import room_of

FOLDER = Path(__file__).parents[2] / "examples" / "zero_registers"
NAME = "zero-registers"
MACHINE = preset("tiny")
ROWS = {
    room: ["", *(row.name for row in SCHEMES.values() if room_of(row) == room)]
    for room in ("collector", "hierarchy", "mapping")
}


def _legal(rows: tuple[str, ...]) -> bool:
    """Whether plain banks go with these rows."""
    try:
        parse_scheme("+".join(filter(None, rows)) or "baseline")
    except SchemeError:
        return False
    return True


#: Pairs of a collector and a hierarchy that go together.
LEGAL = [rows for rows in product(ROWS["collector"], ROWS["hierarchy"]) if _legal(rows)]


@pytest.fixture(autouse=True)
def _example() -> Iterator[None]:
    with kept():
        extensions.load(FOLDER)
        yield


def _name(*rows: str) -> str:
    return "+".join([row for row in rows if row and row != "baseline"] + [NAME])


def _trace(scheme: Scheme, seed: int, length: int = 12) -> Trace:
    """A random program, of which half of all results are zeros, on some lanes or on all."""
    trace = random_for(scheme, scheme.machine(MACHINE), seed, length=length)
    values, rng = trace.values.copy(), np.random.default_rng(seed)
    values[rng.random(len(values)) < 0.4] = 0
    values[rng.random(values.shape) < 0.2] = 0
    return replace(trace, values=values)


def _lockstep(text: str, seed: int, length: int = 8) -> Outcome:
    scheme = parse_scheme(text)
    return lockstep(_trace(scheme, seed, length), MACHINE, scheme, PysimEngine())


def test_it_is_short() -> None:
    assert sum(len(path.read_text().splitlines()) for path in FOLDER.glob("*.py")) < 150


@pytest.mark.long
def test_it_runs_under_everything_that_plain_banks_do() -> None:
    """Golden: every legal combination of a collector, a hierarchy and a mapping."""
    built = 0
    for rows in product(*ROWS.values()):
        if not _legal(rows):
            continue
        scheme = parse_scheme(_name(*rows))
        plain = parse_scheme("+".join(filter(None, rows)) or "baseline")
        result = simulate(_trace(scheme, built), MACHINE, scheme)
        assert result.cycles == simulate(_trace(scheme, built), MACHINE, plain).cycles
        assert result.operands_checked > 20
        counters = result.counters
        assert counters["rf.arrays.read"] + counters["rf.arrays.write"] < (
            counters["rf.arrays.plain_read"] + counters["rf.arrays.plain_write"]
        )
        built += 1
    assert built >= 50


def test_arrays_of_a_kernel() -> None:
    found = RunSpec("nn", "tiny", NAME, "turing").compute()
    counters = found["counters"]
    assert 0 < counters["rf.arrays.read"] < 0.95 * counters["rf.arrays.plain_read"]
    assert counters["rf.arrays.plain_read"] == 8 * counters["rf.reads"]
    assert found["cycles"] == RunSpec("nn", "tiny", "baseline", "turing").compute()["cycles"]


@pytest.mark.quick("zero-registers")
@pytest.mark.parametrize(
    "scheme", [_name(), pytest.param(_name("ltrf"), marks=pytest.mark.long), _name("malekeh", "renaming")]
)
def test_golden_and_rtl_are_equal(scheme: str) -> None:
    outcome = _lockstep(scheme, 1)
    assert outcome.divergence is None, outcome.divergence.reason
    assert outcome.result is not None
    counters = outcome.result.counters
    assert counters["rf.arrays.read"] < counters["rf.arrays.plain_read"]


@pytest.mark.long
@pytest.mark.parametrize("rows", LEGAL, ids=lambda rows: "+".join(filter(None, rows)) or "baseline")
def test_golden_and_rtl_are_equal_under_everything(rows: tuple[str, str]) -> None:
    text = _name(*rows)
    for seed in range(3):
        outcome = _lockstep(text, seed, 16)
        assert outcome.divergence is None, f"seed {seed}: {outcome.divergence.reason}"


class KeepsTheBit:
    """Mutant of the model: a row that has been zero stays zero."""

    def _is_zero(self, bank: int, row: int) -> bool:
        seen = self.__dict__.setdefault("_seen", set())
        if super()._is_zero(bank, row):  # type: ignore[misc]
            seen.add((bank, row))
        return (bank, row) in seen


def test_a_model_whose_bit_stays_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    storages = warpbank.golden.registry.STORAGES
    broken = type("Broken", (KeepsTheBit, storages["zero_registers"]), {})
    monkeypatch.setitem(storages, "zero_registers", broken)
    assert any(_lockstep(NAME, seed, 16).divergence is not None for seed in range(3))


def test_rtl_that_does_not_look_at_the_bit_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arrays of a row of zeros hold what was there before."""
    unit = warpbank.hdl.registry.STORAGES["zero_registers"]
    monkeypatch.setattr(f"{unit.__module__}.read_at", lambda m, memory, address: Const(0, 1))
    assert any(_lockstep(NAME, seed, 16).divergence is not None for seed in range(3))

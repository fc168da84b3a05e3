"""Release in whole runs: nothing that is dying waits longer than it has to, and in the end every physical
register is free."""

from __future__ import annotations

from typing import Any

import pytest

import warpbank.golden.registry
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.mapping import renaming
from warpbank.golden.mapping.release import Release
from warpbank.golden.mapping.renaming import Renaming
from warpbank.golden.mapping.table import TABLE_BANKS
from warpbank.golden.sm import simulate
from warpbank.program.hint_passes import with_hints
from warpbank.program.random_programs.hinted import random_for
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.schema import Trace

#: Cycles that the stages add to a warp's turn: three until it can be chosen, if it was served as the register
#: came, and four from the choice to the release.
STAGES = 7
#: Registers of the last bank of the table.
LAST = sum(1 << register for register in range(TABLE_BANKS - 1, 256, TABLE_BANKS))
TINY = preset("tiny")


class Timed(Release):
    """Counts for how many cycles each register has been dying, the first of its bank, neither read nor
    written any more: at most one for each warp, and those of the stages."""

    longest = 0

    def __init__(self, warps: int) -> None:
        super().__init__(warps)
        self._ages: dict[tuple[int, int], int] = {}

    def edge(self, mapped: list[int]) -> None:
        super().edge(mapped)
        ages = {}
        for warp, (dying, writing) in enumerate(zip(self.dying, self._writing, strict=True)):
            for bank in range(TABLE_BANKS):
                mine = [number for number in range(bank, 256, TABLE_BANKS) if dying & ~writing & 1 << number]
                register = min(mine, default=None)
                if register is not None and register not in self._readers[warp]:
                    ages[warp, register] = self._ages.get((warp, register), 0) + 1
        self._ages = ages
        Timed.longest = max([Timed.longest, *ages.values()])
        assert Timed.longest <= self._warps + STAGES, f"{ages} cycles"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Renaming]:
    """The mappings of the runs of a test, which time their releases."""
    found: list[Renaming] = []

    class Kept(Renaming):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            found.append(self)

    monkeypatch.setattr(renaming, "Release", Timed)
    monkeypatch.setattr(Timed, "longest", 0)
    monkeypatch.setitem(warpbank.golden.registry.MAPPINGS, "renaming", Kept)
    return found


def run(trace: Trace, config: Any, scheme: str, made: list[Renaming]) -> int:
    """Returns how many registers were renamed. Afterwards all are free, within the time that the proof in
    `tests/formal/test_release.py` gives."""
    result = simulate(trace, config, parse_scheme(scheme))
    warps = config.sub_core.warps
    assert len(made) == config.sub_cores
    for mapping in made:
        for _ in range((warps + STAGES) * 256 // TABLE_BANKS):
            mapping.edge()
        assert not any(mapping.table.mapped)
        assert not any(mapping.reserve.held)
        assert not mapping.release.ended
        assert mapping.availability.free == config.sub_core.warp_registers - mapping.exempt.reserved
    made.clear()
    return int(result.counters["renaming.maps"])


@pytest.mark.parametrize("policy", ["consolidate", "wear_level"])
@pytest.mark.parametrize("scheme", ["renaming", "bow-wb+renaming", "malekeh+renaming+gscalar"])
def test_random_programs(scheme: str, policy: str, made: list[Renaming]) -> None:
    config = with_overrides(TINY, [f"sub_core.mapping.policy={policy}"])
    for seed in range(4):
        trace = random_for(parse_scheme(scheme), config, seed, ctas=3, warps=3, length=25)
        assert run(trace, config, scheme, made), f"seed {seed}"
    assert Timed.longest > 1, "warps never waited for each other"


@pytest.mark.parametrize(("kernel", "table"), [("reduction", 1024), ("vectoradd", 20)])
def test_kernels(kernel: str, table: int, made: list[Renaming]) -> None:
    """The second one's table is so small that some registers are exempt."""
    scheme = parse_scheme("renaming")
    config = with_overrides(TINY, [f"sub_core.mapping.table_bytes={table}"])
    job = workloads.get(kernel).job("tiny")
    trace = with_hints(trace_job(job), scheme.hints, config, lambda: compile_job(job))
    assert any(trace.exempt) == (table < 1024)
    assert run(trace, config, "renaming", made)


class Deaf(Timed):
    """The last bank of the table is never asked."""

    def _find(self) -> tuple[int, int] | None:
        found = super()._find()
        return None if found is None else (found[0], found[1] & ~LAST)


class Loses(Timed):
    """What a warp still has when it drains is not released."""

    def end(self, warp: int, mapped: int) -> None:
        """Nothing dies."""


@pytest.mark.parametrize("unit", [Deaf, Loses])
def test_mutants_are_caught(unit: Any, made: list[Renaming], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renaming, "Release", unit)
    with pytest.raises(AssertionError):
        test_random_programs("renaming", "consolidate", made)

"""LTRF over renamed registers in the machine: what is moved where, files smaller than the static demand, and
mutants.

All kernels with

    pytest -m long tests/golden/hierarchy/test_ltrf_over_renaming.py
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import warpbank.golden.registry
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.counters import count
from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.check import OperandMismatch
from warpbank.golden.hierarchy.engine import Transfer
from warpbank.golden.hierarchy.flat import Flat
from warpbank.golden.hierarchy.ltrf import Ltrf
from warpbank.golden.mapping.release import Release
from warpbank.golden.mapping.renaming import Renaming
from warpbank.golden.result import Result
from warpbank.golden.sm import Sm, simulate
from warpbank.program.errors import ExecutionError
from warpbank.program.hint_passes import with_hints
from warpbank.program.random_programs.intervals import with_prefetches
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.random_programs.release import with_flags
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.schema import Trace

SCHEMES = ("ltrf+renaming", "ltrf-plus+malekeh+renaming", "ltrf-strand+bow-wr+renaming")
happened: Counter[str] = Counter()


class Watched(Ltrf):
    """A register goes only to the physical register that it has."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        store = self._engine._store

        def watched_store(bank: int, transfer: Transfer) -> None:
            if not transfer.void:
                assert self._mapping.home(transfer.warp, transfer.register) == (bank, transfer.row), (
                    "a register goes to somebody else's place"
                )
                if isinstance(self._mapping, Renaming):
                    dying = self._mapping.release.dying[transfer.warp]
                    happened["dying on its way"] += dying >> transfer.register & 1
                happened["stored"] += 1
            store(bank, transfer)

        self._engine._store = watched_store  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    happened.clear()
    for name in ("ltrf", "ltrf_plus"):
        monkeypatch.setitem(warpbank.golden.registry.HIERARCHIES, name, Watched)


def machine(*overrides: str) -> SmConfig:
    return with_overrides(preset("tiny"), [f"sub_core.{override}" for override in overrides])


def run(trace: Trace, config: SmConfig, scheme: str, skip: bool = True) -> Result:
    records: list[Record] = []
    result = Sm(trace, config, parse_scheme(scheme), events=records.append, skip=skip).run()
    assert {name: result.counters[name] for name in result.counters} == count(records)
    return result


def kernel(name: str, config: SmConfig, scheme: str) -> Trace:
    job = workloads.get(name).job("tiny")
    return with_hints(trace_job(job), parse_scheme(scheme).hints, config, lambda: compile_job(job))


def program(seed: int, *, barriers: int = 2, exempt: int = 0, length: int = 12) -> Trace:
    trace = random_trace(seed, launches=3, barriers=barriers, ctas=2, length=length)
    return with_flags(with_prefetches(trace, 8, seed), seed, exempt=exempt)


@pytest.mark.quick("reduction*")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["reduction", "bfs"])
def test_kernels(name: str, scheme: str) -> None:
    """Every operand comes from the cache and is right; all that was given is released in the end."""
    config = machine("bank_latency=280")
    counted = run(kernel(name, config, scheme), config, scheme).counters
    assert counted["cache.reads"] == counted["collector.deliveries"]
    assert (
        counted["rf.reads"]
        == counted["cache.fetches"]
        == counted["cache.fills"]
        < counted["cache.allocations"]
    )
    assert counted["renaming.maps"] >= counted["renaming.unmaps"] > 0
    moved_out = happened["stored"]
    assert counted["renaming.lookups"] == counted["cache.fetches"] + moved_out > 0


@pytest.mark.long
@pytest.mark.parametrize("name", workloads.names())
@pytest.mark.parametrize("scheme", [*SCHEMES, "ltrf-strand+renaming", "ltrf+bow-wb+renaming"])
@pytest.mark.parametrize("config", ["turing", "maxwell"])
def test_all_kernels(name: str, scheme: str, config: str) -> None:
    chosen = with_overrides(preset(config), ["sub_core.bank_latency=280"])
    assert simulate(kernel(name, chosen, scheme), chosen, parse_scheme(scheme)).operands_checked


@pytest.mark.quick("*-0")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("scheme", SCHEMES)
def test_random_programs(seed: int, scheme: str) -> None:
    """Slept cycles change nothing; some registers are exempt; a second launch begins with new names."""
    config = machine("cache.registers=8", "bank_latency=160", f"active_warps={1 + seed % 3}", "rows=64")
    trace = program(seed, exempt=0b1010 if seed % 2 else 0)
    first, second = (run(trace, config, scheme, skip) for skip in (True, False))
    assert (first.cycles, first.counters) == (second.cycles, second.counters), f"seed {seed}"


def test_registers_die_on_their_way() -> None:
    """A pbr may name a register that has just left the cache: it is released when it has arrived."""
    config = machine("cache.registers=8", "bank_latency=630", "active_warps=2")
    for seed in range(4):
        run(program(seed), config, "ltrf+renaming")
    assert happened["dying on its way"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_dead_registers_are_not_moved(scheme: str) -> None:
    config = machine()
    plain = run(kernel("reduction", config, "ltrf"), config, "ltrf").counters
    renamed = run(kernel("reduction", config, scheme), config, scheme).counters
    assert renamed["rf.write_backs"] < plain["rf.write_backs"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_fewer_registers_than_the_static_demand(scheme: str) -> None:
    """Warps that do not wait at barriers always get on: the one that is served first becomes active and finds
    its registers."""
    for seed in range(3):
        trace = program(seed, barriers=0, length=30)
        cycles = [
            run(trace, machine("cache.registers=8", "active_warps=2", f"rows={rows}"), scheme).cycles
            for rows in (64, 8)
        ]
        happened["slower"] += cycles[1] > cycles[0]
    assert happened["slower"]


def test_a_kernel_in_half_of_its_registers() -> None:
    cycles = []
    for rows in (32, 12, 5):  # eight warps of eight registers in two banks
        config = machine(f"rows={rows}")
        cycles.append(run(kernel("vectoradd", config, "ltrf+renaming"), config, "ltrf+renaming").cycles)
    assert cycles[0] < cycles[-1]


def test_registers_that_wait_at_a_barrier() -> None:
    config = machine("rows=4")
    with pytest.raises(ExecutionError, match=r"for a physical register and holds \d+ physical registers"):
        run(kernel("reduction", config, "ltrf+renaming"), config, "ltrf+renaming")


def fails(config: SmConfig, scheme: str = "ltrf+renaming") -> Any:
    """Run some programs; the first failure."""
    for seed in range(5):
        try:
            run(program(seed), config, scheme)
        except (AssertionError, OperandMismatch) as error:
            return error
    return None


SLOW = machine("cache.registers=8", "banks=1", "bank_latency=630", "active_warps=2", "rows=64")


def test_the_programs_pass() -> None:
    assert fails(SLOW) is None


def test_mutant_released_while_it_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Release, "_in_use", lambda self, warp, register: register in self._readers[warp])
    assert fails(SLOW) is not None


def test_mutant_released_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands come from the cache, where a released register is poisoned, too."""
    monkeypatch.setattr(Release, "_in_use", lambda *_: False)
    assert isinstance(fails(machine("cache.registers=8")), OperandMismatch)


def test_mutant_what_moves_goes_on_after_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ltrf, "launch", Flat.launch)
    assert fails(SLOW) is not None


def test_mutant_not_moved_although_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Renaming, "content", lambda *_: None)
    assert isinstance(fails(SLOW), OperandMismatch)

"""Renaming in the machine: kernels with their operands checked, files smaller than the static demand,
mutants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import warpbank.golden.registry
from tests.hdl.bench import make_uop
from tests.program.release.replay import drawn
from tests.program.release.test_insertion import at_the_branch, one_instruction_early
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.counters import count
from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.check import OperandMismatch
from warpbank.golden.hierarchy.result_cache import ResultCache
from warpbank.golden.hierarchy.sw_rfc import SwRfc
from warpbank.golden.mapping import renaming
from warpbank.golden.mapping.deadlock_reserve import DeadlockReserve
from warpbank.golden.mapping.exempt import Exempt
from warpbank.golden.mapping.release import Release
from warpbank.golden.mapping.renaming import Renaming
from warpbank.golden.probe import Probe
from warpbank.golden.sm import simulate
from warpbank.program.errors import ExecutionError, LaunchError
from warpbank.program.hint_passes import with_hints
from warpbank.program.isa import Kernel
from warpbank.program.random_programs.intervals import with_prefetches
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.random_programs.release import with_flags
from warpbank.program.release.fetch import without_pir
from warpbank.program.release.insertion import Release as Flags
from warpbank.program.release.insertion import insert_flags, release_all
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.schema import Trace

SCHEME = parse_scheme("renaming")


@cache
def traced(name: str) -> Trace:
    job = workloads.get(name).job("tiny")
    return with_hints(trace_job(job), SCHEME.hints, preset("tiny"), lambda: compile_job(job))


def run(
    name: str, rows: int = 256, scheduler: str = "two_level", trace: Trace | None = None, **overrides: Any
) -> Any:
    records: list[Record] = []
    config = with_overrides(
        preset("tiny"), [f"sub_core.rows={rows}", *(f"{k}={v}" for k, v in overrides.items())]
    )
    result = simulate(trace or traced(name), config, replace(SCHEME, scheduler=scheduler), events=records)
    assert {name: result.counters[name] for name in result.counters} == count(records)
    return result, records


@pytest.mark.parametrize("scheduler", ["two_level", "gto", "lrr"])
@pytest.mark.parametrize("name", ["vectoradd", "reduction"])
def test_a_kernel(name: str, scheduler: str) -> None:
    result, records = run(name, scheduler=scheduler)
    assert result.operands_checked
    held: dict[tuple[int, int], tuple[int, int]] = {}
    for _, _, event, values in records:  # nobody shares a physical register
        if event == "map":
            warp, register, bank, row = values
            assert (bank, row) not in held
            held[bank, row] = warp, register
        elif event == "unmap":
            warp, register, bank, row = values
            assert held.pop((bank, row)) == (warp, register)
    assert result.counters["renaming.maps"] == result.counters["renaming.unmaps"] + len(held)
    assert result.counters["renaming.flag_hits"] > result.counters["renaming.flag_fetches"] > 0


def test_fewer_registers_than_the_static_demand() -> None:
    demand = 8 * 8 // 2  # eight warps of eight registers, in two banks
    cycles = [run("vectoradd", rows)[0].cycles for rows in (demand, 12, 5)]
    assert cycles == sorted(cycles)
    assert cycles[-1] > cycles[0]


def fewest(seed: int, scheduler: str, exempt: int = 0, more: int = 0, changes: Sequence[str] = ()) -> int:
    """Cycles of random programs of up to twelve registers, without barriers, on as few physical registers as
    one warp may need beside the exempt ones of all eight."""
    rows = 12 + 7 * exempt.bit_count() + more
    config = with_overrides(preset("tiny"), ["sub_core.banks=1", f"sub_core.rows={rows}", *changes])
    trace = with_flags(
        random_trace(seed, ctas=4, warps=2, length=25, barriers=0, launches=2), seed, exempt=exempt
    )
    return simulate(trace, config, replace(SCHEME, scheduler=scheduler)).cycles


@pytest.mark.parametrize("scheduler", ["two_level", "gto", "lrr"])
def test_without_barriers_some_warp_can_always_go_on(scheduler: str) -> None:
    for seed, exempt in ((0, 0), (1, 0b100100), (2, 0)):
        assert fewest(seed, scheduler, exempt) > fewest(seed, scheduler, exempt, more=84), f"seed {seed}"


class KeepsNothing(DeadlockReserve):
    """Whoever comes first takes the last registers."""

    def look(self, here: int) -> tuple[int, int]:
        return super().look(here)[0], 0


def test_without_a_reserve_warps_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renaming, "DeadlockReserve", KeepsNothing)
    with pytest.raises(ExecutionError, match="no warp can ever proceed"):
        fewest(0, "lrr")


#: Seed and exempt registers of programs with barriers.
BARRIERS = ((0, 0), (1, 0b100100), (2, 0))


def with_barriers(
    seed: int,
    scheduler: str,
    cores: int,
    scheme: str = "renaming",
    exempt: int = 0,
    changes: Sequence[str] = (),
) -> int:
    """Cycles of a random program of up to twelve registers whose CTAs have two warps in each sub-core and
    four barriers, on as many physical registers of a sub-core as one CTA may need."""
    rows = 24 + 8 * exempt.bit_count()
    config = with_overrides(
        preset("tiny"), ["sub_core.banks=1", f"sub_core.rows={rows}", f"sub_cores={cores}", *changes]
    )
    trace = random_trace(seed, ctas=6, warps=2 * cores, length=40, barriers=4, launches=2)
    chosen = replace(parse_scheme(scheme), scheduler=scheduler)
    if chosen.units.hierarchy.active_only and not chosen.units.hierarchy.compiled:
        trace = with_prefetches(trace, config.sub_core.cache.registers, seed)
    trace = with_flags(trace, seed, exempt=exempt)
    assert chosen.machine(config).launch_shape(12, exempt.bit_count(), 2 * cores)[1] > 2
    return simulate(trace, config, chosen).cycles


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("scheduler", ["two_level", "gto", "lrr"])
def test_with_barriers_a_cta_can_always_go_on(scheduler: str, cores: int) -> None:
    for seed, exempt in BARRIERS:
        assert with_barriers(seed, scheduler, cores, exempt=exempt), f"seed {seed}"


#: Machine whose first uops are looked at in the cycle before their warp's turn.
STAGES = ["sub_core.front_end.issue_stages=1", "sub_core.mapping.lookup_stages=2"]


@pytest.mark.parametrize("scheduler", ["two_level", "gto", "lrr"])
def test_with_stages_some_warp_and_some_cta_can_always_go_on(scheduler: str) -> None:
    """A shortage of registers is known a cycle later, and asked for again at a warp's turn."""
    assert fewest(0, scheduler, changes=STAGES) > fewest(0, scheduler)
    for seed, exempt in BARRIERS:
        assert with_barriers(seed, scheduler, 1, exempt=exempt, changes=STAGES), f"seed {seed}"


@pytest.mark.parametrize("staged", [False, True])
def test_what_a_new_first_uop_lacks_is_not_known_where_there_are_stages(staged: bool) -> None:
    """No register is free for the first uop of warp 0: it lacks one, once it has been looked at."""
    core = with_overrides(preset("tiny"), ["sub_core.rows=4", *STAGES * staged]).sub_core
    mapping = Renaming(core, Probe(0, None))
    mapping.launch(8, 0, 1, 0)
    for _ in range(20):
        mapping.edge()
    mapping.availability.take(8)
    mapping.edge()
    uop = make_uop(0, 0, destination=3, count=1)
    settled = mapping.look([[uop]], 1, new=1)
    assert (mapping.lacking, settled) == ((0, False) if staged else (1, True))
    mapping.edge()
    assert mapping.look([[uop]], 1)
    assert mapping.lacking == 1


@pytest.mark.parametrize("staged", [False, True])
def test_first_uops_are_compared_with_what_was_free_before_where_there_are_stages(staged: bool) -> None:
    """Eight registers: what is taken counts from the next cycle on, what comes back two cycles later, and it
    does a cycle later after the warp has drained."""
    core = with_overrides(preset("tiny"), ["sub_core.rows=4", *STAGES * staged]).sub_core
    mapping = Renaming(core, Probe(0, None))
    mapping.launch(8, 0, 2, 0)
    mapping.start(0, 0)
    writes = [make_uop(0, 0, destination=0, count=4), make_uop(0, 1, destination=4, count=3)]
    wide = make_uop(1, 0, destination=0, count=2)
    free, lacks = [], []
    for cycle in range(32 + staged):
        mapping.look([[], [wide]], 2)
        lacks.append(mapping.lacking >> 1)
        free.append(mapping.availability.free)
        if cycle in (20, 21):
            mapping.issue(writes[cycle - 20])
            mapping.result_written(0, 0xFF)
        if cycle == 22:
            mapping.end(0)
        mapping.edge()
    assert free == [8] * 21 + [4] + [1] * (7 + staged) + [5] * 3
    assert lacks[1:] == [0] * 21 + [1] * 7 + [int(staged)] * (2 + staged) + [0]


@pytest.mark.parametrize(
    "scheme",
    [
        "bow-wr+renaming",
        "malekeh+renaming",
        "renaming+gscalar",
        "bow-wb+renaming+bdi",
        "rfc+renaming",
        "sw-rfc+renaming",
        "ltrf+renaming",
        "ltrf-plus+bow-wr+renaming",
    ],
)
def test_with_barriers_under_other_collectors_and_storages(scheme: str) -> None:
    assert with_barriers(3, "two_level", 2, scheme)


def test_without_rows_for_a_cta_its_warps_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under `sw-rfc` a warp that lacks registers keeps its row of the cache."""
    monkeypatch.setattr(SwRfc, "may_activate", ResultCache.may_activate)
    with pytest.raises(ExecutionError, match="no warp can ever proceed"):
        with_barriers(3, "two_level", 2, "sw-rfc+renaming")


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("scheduler", ["two_level", "gto", "lrr"])
def test_without_registers_for_a_cta_its_warps_wait_for_each_other(
    scheduler: str, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one warp is served first, the others of its CTA may wait for registers, and it for them: in all
    programs of `test_with_barriers_a_cta_can_always_go_on`."""
    monkeypatch.setattr(SmConfig, "launch_reserve", lambda *_: 0)
    for seed, exempt in BARRIERS:
        with pytest.raises(ExecutionError, match="no warp can ever proceed"):
            with_barriers(seed, scheduler, cores, exempt=exempt)


class GoesOn(DeadlockReserve):
    """What one CTA can still need counts as the next one's need."""

    def edge(self) -> None:
        self._counted = self.members


def test_what_a_cta_can_need_is_found_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renaming, "DeadlockReserve", GoesOn)
    with pytest.raises(ExecutionError, match="no warp can ever proceed"):
        with_barriers(0, "gto", 2)


def test_registers_that_wait_at_a_barrier() -> None:
    with pytest.raises(ExecutionError, match=r"for a physical register and holds \d+ physical registers"):
        run("reduction", 4)


def test_registers_of_one_warp_that_do_not_fit() -> None:
    with pytest.raises(
        LaunchError, match="registers per thread, with 0 that every warp keeps, do not fit the 4 physical"
    ):
        run("vectoradd", 2)


@pytest.mark.parametrize("policy", ["consolidate", "wear_level"])
def test_policies(policy: str) -> None:
    _, records = run("vectoradd", **{"sub_core.mapping.policy": policy})
    rows = {values[3] for _, _, event, values in records if event == "map"}
    assert (max(rows) < 64) == (policy == "consolidate")  # a sub-array has 64 rows


def test_exempt_registers_are_never_renamed() -> None:
    trace = replace(traced("vectoradd"), exempt=(0b110,) * len(traced("vectoradd").kernels))
    _, records = run("vectoradd", trace=trace)
    assert all(values[1] not in (1, 2) for _, _, event, values in records if event == "map")


def test_a_table_that_is_too_small() -> None:
    """Registers are exempted until it holds the others; if the machine can not hold so many, the launch is
    refused."""
    job = workloads.get("vectoradd").job("tiny")
    for size, exempt in ((64, 0), (40, 1)):
        config = with_overrides(preset("tiny"), ["sub_core.rows=64", f"sub_core.mapping.table_bytes={size}"])
        trace = with_hints(trace_job(job), SCHEME.hints, config, lambda: compile_job(job))
        assert [mask.bit_count() for mask in trace.exempt] == [exempt]
        result = simulate(trace, config, SCHEME)
        assert result.operands_checked
    with pytest.raises(LaunchError, match="the renaming table of a sub-core"):
        run("vectoradd", **{"sub_core.mapping.table_bytes": 1})


class ReleasesEarly(Release):
    """Reads that are pending do not count."""

    def issue(self, warp: int, sources: tuple[int, ...], writes: int, dead: int) -> None:
        super().issue(warp, (), writes, dead)

    def read(self, warp: int, register: int) -> None:
        """Nobody reads."""


class FreeTooEarly(Renaming):
    """A register is marked free when it is about to be released, although the uop that issues then keeps
    it."""

    def edge(self) -> Any:
        kept = (
            0
            if self.release.choice is None
            else self.release.choice[1] & self.release._saved[self.release.choice[0]]
        )
        for register in range(kept.bit_length()):
            if kept >> register & 1:
                physical = self.table.find(self.release.choice[0], register)
                assert physical is not None
                self.availability.give(physical)
        return super().edge()


def test_a_register_marked_free_too_early_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(warpbank.golden.registry.MAPPINGS, "renaming", FreeTooEarly)
    with pytest.raises((OperandMismatch, AssertionError), match=r"found 0xdeadbeef|is given back twice"):
        run("reduction", scheduler="lrr")


class RenamesExempt(Exempt):
    """Exempt registers are renamed, too."""

    def launch(self, mask: int, slots: int) -> None:
        super().launch(0, slots)


def test_an_exempt_register_that_is_renamed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renaming, "Exempt", RenamesExempt)
    with pytest.raises(AssertionError, match="all"):
        test_exempt_registers_are_never_renamed()


def test_a_register_released_too_early_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renaming, "Release", ReleasesEarly)
    with pytest.raises(OperandMismatch, match="found 0xdeadbeef"):
        run("reduction", scheduler="lrr", **{"sub_core.bank_latency": 630})


@pytest.mark.parametrize("early", [at_the_branch, one_instruction_early])
def test_flags_too_early_are_found_out(early: Callable[[dict[str, Kernel], Flags], Flags]) -> None:
    """A pbr at the branch instead of the reconvergence point, operand flags at the instruction before:
    operands of random programs are right with the compiler's flags, and not with these."""
    for seed in (0, 2, 3):
        kernels, trace = drawn(seed)
        flags = release_all(kernels)
        assert simulate(without_pir(insert_flags(trace, flags)), preset("fermi"), SCHEME).operands_checked, (
            f"seed {seed}"
        )
        with pytest.raises(OperandMismatch):
            simulate(without_pir(insert_flags(trace, early(kernels, flags))), preset("fermi"), SCHEME)


def test_exempt_registers_take_no_room_in_unused_slots() -> None:
    """A table of 256 bytes leaves a sub-core of fermi eight warps of this kernel: the other slots' registers
    are for renaming."""
    machine = with_overrides(
        preset("fermi"), ["sub_core.mapping.table_bytes=256", "sub_core.mapping.release_flags=on"]
    )
    registers, mask = 38, (1 << 14) - 1
    slots = machine.launch_shape(registers, mask.bit_count())[1]
    assert slots == machine.sub_core.table_entries // 24 == 8
    unit = Renaming(machine.sub_core, Probe(0, None))
    unit.launch(registers, mask, slots, 0)
    for _ in range(renaming.COUNTED):
        unit.edge()
    assert unit.availability.free == machine.sub_core.warp_registers - 8 * 14
    assert unit.exempt.find(7, 13) == 8 * 14 - 1


def test_a_launch_uses_no_more_slots_than_leave_one_warp_its_registers() -> None:
    machine = with_overrides(
        preset("fermi"), ["sub_core.rows=8", "sub_core.mapping.release_flags=on"]
    )  # 128 of them
    shapes = [machine.launch_shape(*kernel)[1] for kernel in ((40, 0), (40, 20), (128, 0), (129, 1))]
    assert shapes == [1170 // 40, (128 - 20) // 20, 1170 // 128, 0]

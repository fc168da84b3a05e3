"""Golden and RTL in lockstep under register renaming, with release flags, fewer registers than the static
demand, and a table so small that some are not renamed. The other policies and schedulers on random programs
with

    pytest -m long tests/sim/test_lockstep_renaming.py
"""

from __future__ import annotations

from itertools import product

import pytest

from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.mapping.availability import POLICIES
from warpbank.program.hint_passes import with_hints
from warpbank.program.random_programs.hinted import random_for
from warpbank.program.random_programs.operations import random_op, random_trace
from warpbank.program.random_programs.release import with_flags
from warpbank.program.random_programs.strands import STRAND_REGISTERS, in_strands, with_strands
from warpbank.program.runner import compile_job, trace_job
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import lockstep

SCHEME = parse_scheme("renaming")
SEED = 1
CASES = [
    pytest.param(
        policy, scheduler, marks=() if (policy, scheduler) == ("wear_level", "lrr") else pytest.mark.long
    )
    for policy, scheduler in product(POLICIES, ("two_level", "gto", "lrr"))
]


@pytest.mark.long
def test_every_event_of_every_cycle() -> None:
    config = with_overrides(preset("tiny"), ["sub_core.rows=12", "sub_core.mapping.table_bytes=20"])
    job = workloads.get("vectoradd").job("tiny")
    trace = with_hints(trace_job(job), SCHEME.hints, config, lambda: compile_job(job))
    assert trace.exempt[0].bit_count() == 2
    outcome = lockstep(trace, config, SCHEME, PysimEngine())
    assert outcome.divergence is None, outcome.divergence.reason
    assert outcome.result.counters["renaming.unmaps"]


@pytest.mark.parametrize(("policy", "scheduler"), CASES)
def test_policies_and_schedulers(policy: str, scheduler: str) -> None:
    """A random program whose R2 and R5 are exempt, on 24 physical registers for two warps of twelve."""
    config = with_overrides(
        preset("tiny"),
        [
            "sub_core.warps=2",
            "sub_core.rows=12",
            "lanes=2",
            f"sub_core.mapping.policy={policy}",
            f"sub_core.front_end.scheduler={scheduler}",
        ],
    )
    exempt = 0b100100
    trace = with_flags(random_trace(6, ctas=2, warps=2, length=10, barriers=0), 6, exempt=exempt)
    outcome = lockstep(trace, config, SCHEME, PysimEngine())
    assert outcome.divergence is None, f"seed 6: {outcome.divergence.reason}"
    assert outcome.result is not None
    assert outcome.result.counters["renaming.unmaps"]


@pytest.mark.quick("2")
@pytest.mark.parametrize("stages", [1, 2])
def test_stages_of_the_look_up(stages: int) -> None:
    """A random program on a machine whose operands have their names as many cycles later."""
    cycles = []
    for number in (0, stages):
        config = with_overrides(
            preset("tiny"),
            ["sub_core.warps=2", "sub_core.rows=12", "lanes=2", f"sub_core.mapping.lookup_stages={number}"],
        )
        trace = with_flags(random_trace(6, ctas=2, warps=2, length=10, barriers=0), 6, exempt=0b100100)
        outcome = lockstep(trace, config, SCHEME, PysimEngine())
        assert outcome.divergence is None, f"seed 6: {outcome.divergence.reason}"
        assert outcome.result is not None
        cycles.append(outcome.result.cycles)
    assert cycles[0] < cycles[1]


@pytest.mark.quick("6-lrr")
@pytest.mark.parametrize("scheduler", ["lrr", "gto", "two_level"])
@pytest.mark.parametrize("seed", [6, 1])
def test_what_a_first_uop_lacks_is_looked_up_before_its_turn(seed: int, scheduler: str) -> None:
    """A random program on 24 physical registers, with a stage between choice and issue and two of the
    look-up: results are located a cycle ahead, too."""
    config = with_overrides(
        preset("tiny"),
        [
            "sub_core.warps=2",
            "sub_core.rows=12",
            "lanes=2",
            f"sub_core.front_end.scheduler={scheduler}",
            "sub_core.front_end.issue_stages=1",
            "sub_core.mapping.lookup_stages=2",
        ],
    )
    trace = with_flags(random_trace(seed, ctas=2, warps=2, length=10, barriers=0), seed, exempt=0b100100)
    outcome = lockstep(trace, config, SCHEME, PysimEngine())
    assert outcome.divergence is None, f"seed {seed}: {outcome.divergence.reason}"
    assert outcome.result is not None
    assert outcome.result.counters["renaming.unmaps"]


@pytest.mark.quick("ltrf*", "*half")
@pytest.mark.parametrize("scheme", ["ltrf+renaming", "rfc+renaming", "bow-wr+renaming+gscalar-half"])
def test_others_have_places_with_stages_of_the_look_up(scheme: str) -> None:
    """Behind a cache results are not located a cycle ahead; a decompress move takes no register."""
    chosen = parse_scheme(scheme)
    stage = ["sub_core.front_end.issue_stages=1", "sub_core.mapping.lookup_stages=2"]
    config = with_overrides(preset("tiny"), ["sub_core.warps=2", "lanes=2", *stage])
    program = random_for(chosen, config, SEED, ctas=1, divergent="gscalar" in scheme)
    outcome = lockstep(program, config, chosen, PysimEngine())
    assert outcome.divergence is None, f"seed {SEED}: {outcome.divergence.reason}"
    assert outcome.result is not None
    assert outcome.result.counters["renaming.unmaps"]
    assert outcome.result.counters["issue.moves"] or "gscalar" not in scheme


@pytest.mark.quick("gto")
@pytest.mark.parametrize("scheduler", ["gto", "two_level"])
def test_the_registers_of_a_cta_are_kept(scheduler: str) -> None:
    """A random program with barriers, four warps of a CTA in two sub-cores, on as many physical registers as
    two of them may need: without a CTA that is served first it deadlocks."""
    config = with_overrides(
        preset("tiny"),
        [
            "sub_cores=2",
            "sub_core.warps=4",
            "sub_core.banks=1",
            "sub_core.rows=24",
            "lanes=2",
            f"sub_core.front_end.scheduler={scheduler}",
        ],
    )
    trace = with_flags(random_trace(3, ctas=4, warps=4, length=15, barriers=2, launches=2), 3)
    outcome = lockstep(trace, config, SCHEME, PysimEngine())
    assert outcome.divergence is None, f"seed 3: {outcome.divergence.reason}"
    assert outcome.result is not None
    assert outcome.result.counters["renaming.unmaps"]


@pytest.mark.long
@pytest.mark.parametrize(("seed", "rows", "active"), [(1, 1, 1), (2, 1, 2), (3, 1.5, 4)])
def test_rows_of_a_cache_are_kept_for_a_cta(seed: int, rows: float, active: int) -> None:
    """Under `sw-rfc`, in strands: without the rows that are kept these programs deadlock."""
    scheme = parse_scheme("sw-rfc+renaming")
    config = with_overrides(
        preset("tiny"),
        [
            "sub_cores=2",
            "sub_core.warps=4",
            "sub_core.banks=2",
            f"sub_core.rows={int(STRAND_REGISTERS * rows)}",
            f"sub_core.active_warps={active}",
            "lanes=2",
        ],
    )
    trace = random_trace(
        seed,
        ctas=4,
        warps=4,
        length=15,
        barriers=2,
        launches=2,
        registers=STRAND_REGISTERS,
        make=in_strands(random_op),
    )
    trace = with_strands(trace, scheme.machine(config).sub_core.cache.registers)
    outcome = lockstep(with_flags(trace, seed, registers=STRAND_REGISTERS), config, scheme, PysimEngine())
    assert outcome.divergence is None, f"seed {seed}: {outcome.divergence.reason}"

"""Golden and RTL in lockstep on machines with issue stages, on random programs; on the programs of
`warpbank schemes --check` with

    pytest -m long tests/sim/test_lockstep_issue_stage.py
"""

from __future__ import annotations

import pytest

from tests.hdl.front_end.test_issue_stage import Sure
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.hdl.front_end import issue
from warpbank.program.random_programs.hinted import SMALL, random_for
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.engines.verilator import VerilatorEngine
from warpbank.sim.lockstep import Outcome, lockstep
from warpbank.studies.combinations import PROGRAMS, LockstepRun

STAGE = "sub_core.front_end.issue_stages=1"
#: Each row of the registry, and some joined: collectors, hierarchies, mappings, storages, schedulers.
SCHEMES = [
    "baseline",
    "bow",
    "bow-wb",
    "bow-wr",
    "malekeh",
    "malekeh-pr",
    "ccu-lru-gto",
    "ccu-lru-own",
    "ltrf",
    "ltrf-plus",
    "ltrf-strand",
    "rfc",
    "sw-rfc",
    "renaming",
    "gscalar",
    "gscalar-half",
    "bdi",
    "scalar-rf",
    "malekeh+gscalar+renaming",
    "bow-wr+bdi",
    "bow-wb+renaming+gscalar-half",
    "ltrf-plus+gscalar+renaming",
    "ltrf+malekeh+renaming+bdi",
    "ltrf-strand+bow-wr+renaming",
    "sw-rfc+ccu-lru-gto+renaming+gscalar",
    "rfc+malekeh-pr+gscalar-half",
    "renaming+scalar-rf",
]
#: Renaming, and rows that ask it for names, each with a look-up in one cycle or two of its own.
RENAMING = [
    "renaming",
    "malekeh+renaming",
    "bow-wr+renaming+gscalar-half",
    "rfc+renaming",
    "ltrf+renaming",
    "renaming+scalar-rf",
]
LOOK_UP = "sub_core.mapping.lookup_stages"
#: Other machines: policies, one warp, no branch hold, flags and bits of the compiler.
MACHINES = [
    (
        "baseline",
        (
            "sub_core.front_end.scheduler=lrr",
            "sub_core.collector.allocation=per_warp",
            "sub_core.collectors=8",
        ),
    ),
    ("baseline", ("sub_core.front_end.scheduler=two_level", "sub_core.active_warps=3")),
    ("baseline", ("sub_core.front_end.buffer_entries=1", "sub_core.front_end.branch_hold=0")),
    ("renaming", ("sub_core.mapping.release_flags=on", "sub_core.front_end.scheduler=gto")),
    ("malekeh", ("sub_core.front_end.scheduler=two_level", "sub_core.collector.sthld=8")),
    *((scheme, (f"{LOOK_UP}={stages}",)) for stages in (1, 2) for scheme in RENAMING),
]


def run(scheme: str, *overrides: str, stages: int = 1) -> Outcome:
    """A random program, under Amaranth's simulator."""
    staged = f"sub_core.front_end.issue_stages={stages}"
    config, chosen = with_overrides(preset("tiny"), [*SMALL, staged, *overrides]), parse_scheme(scheme)
    return lockstep(random_for(chosen, config, 1), config, chosen, PysimEngine())


@pytest.mark.quick("baseline", "malekeh+gscalar+renaming")
@pytest.mark.parametrize("scheme", ["baseline", "malekeh+gscalar+renaming", "ltrf-plus", "bow-wr"])
def test_every_event_of_every_cycle(scheme: str) -> None:
    outcome = run(scheme)
    assert outcome.divergence is None, f"seed 1: {outcome.divergence.reason}"
    assert outcome.result is not None
    assert outcome.result.stalls["chosen"]


@pytest.mark.quick("ltrf-plus+gscalar+renaming-3")
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_more_stages(scheme: str, stages: int) -> None:
    outcome = run(scheme, "lanes=2", stages=stages)
    assert outcome.divergence is None, f"seed 1: {outcome.divergence.reason}"
    assert outcome.result is not None
    assert outcome.result.stalls["chosen"]


@pytest.mark.long
@pytest.mark.parametrize("scheme", RENAMING)
def test_more_stages_before_a_look_up(scheme: str) -> None:
    outcome = run(scheme, "lanes=2", f"{LOOK_UP}=2", stages=3)
    assert outcome.divergence is None, f"seed 1: {outcome.divergence.reason}"
    assert outcome.result is not None
    assert outcome.result.counters["renaming.maps"]


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "overrides"), [*((scheme, ()) for scheme in SCHEMES), *MACHINES])
def test_programs(scheme: str, overrides: tuple[str, ...]) -> None:
    for program in PROGRAMS:
        task = LockstepRun(scheme, program, "tiny", (STAGE, *overrides), "verilator").prepared()
        divergence = lockstep(*task, VerilatorEngine()).divergence
        assert divergence is None, f"{program}: {divergence.reason}"


def test_a_mutant_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issue, "IssueStage", Sure)
    assert run("baseline", "sub_core.collectors=1").divergence is not None

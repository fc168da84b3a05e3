"""All combinations of schemes: the list, and the check of them as a command. What it runs is
`test_lockstep_combined.py`'s.

pytest -m long tests/studies/test_combinations.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from warpbank.arch.schemes import SCHEMES, parse_scheme
from warpbank.cli.app import app
from warpbank.program.errors import WarpbankError
from warpbank.program.random_programs.hinted import RandomProgram
from warpbank.sim.lockstep import Divergence, Outcome
from warpbank.sim.runs.execute import Progress
from warpbank.sim.runs.worker import Outcome as Ended
from warpbank.sim.runs.worker import perform
from warpbank.studies import combinations as combined
from warpbank.studies.combinations import PROGRAMS, LockstepRun, check, combinations, named, room_of

BROKEN = "malekeh+renaming"


def test_every_row_is_combined_with_every_other_room() -> None:
    found = combinations()
    names = [each.scheme for each in found]
    assert names[0] == "baseline"
    assert len(set(names)) == len(names)
    assert found == combinations()
    rows = [row for row in SCHEMES.values() if row.name != "baseline"]
    assert all(room_of(row) for row in rows)
    for row in rows:
        assert row.name in names
    sizes = [1 + sum(room_of(row) == room for row in rows) for room in combined.ROOMS]
    assert len(found) == sizes[0] * sizes[1] * sizes[2] * sizes[3]


def test_what_is_legal_can_be_parsed_and_what_is_refused_has_a_sentence() -> None:
    for each in combinations():
        if each.legal:
            assert parse_scheme(each.scheme)
        else:
            assert each.reason.endswith(".")
            with pytest.raises(ValueError, match="cannot work"):
                parse_scheme(each.scheme)


def test_only_what_is_named() -> None:
    assert {"bow+renaming", "renaming"} < {each.scheme for each in named("renaming")}
    assert {"bow+renaming", "bow+renaming+gscalar"} <= {
        each.scheme for each in named("renaming+bow") if each.legal
    }
    assert all({"bow", "renaming"} <= set(each.scheme.split("+")) for each in named("renaming+bow"))
    with pytest.raises(WarpbankError, match=r"Unknown row .bows.\. Did you mean bow.*Known: baseline"):
        named("bows")
    with pytest.raises(WarpbankError, match="a register file has one collector"):
        named("bow+malekeh")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A lockstep that only notes what it was asked to run, and finds one scheme wrong."""
    calls: list[str] = []

    def run(name: str) -> Outcome:
        calls.append(name)
        found = Divergence(3, "The events of cycle 3 differ.", *(None, None)) if name == BROKEN else None  # type: ignore[arg-type]
        return Outcome(1, 7, None, found, {"build": 0.0, "run": 0.0, "rtl": 0.0})

    def here(tasks: list[LockstepRun], *, workers: int | None, progress: Progress | None) -> list[Ended]:
        outcomes = [perform(task) for task in tasks]
        for done, outcome in enumerate(outcomes if progress else [], 1):
            progress(outcome, done, len(tasks))
        return outcomes

    monkeypatch.setattr(combined, "execute", here)
    monkeypatch.setattr(combined, "lockstep", lambda trace, config, scheme, engine: run(scheme.name))
    monkeypatch.setattr(combined.store, "folder", lambda: tmp_path)
    return calls


def test_the_command_runs_all_and_says_what_failed(ran: list[str]) -> None:
    result = CliRunner().invoke(
        app, ["schemes", "--check", "--only", "renaming", "--kernel", "vectoradd", "--json"]
    )
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    legal = [each["scheme"] for each in data["combinations"] if each["legal"]]
    assert ran == legal
    assert not data["passed"]
    assert {run["scheme"]: run["wrong"] for run in data["runs"] if run["wrong"]} == {
        BROKEN: "The events of cycle 3 differ."
    }


def test_a_check_goes_on_where_it_was_stopped(ran: list[str]) -> None:
    command = ["schemes", "--check", "--only", "bow", "--kernel", "vectoradd"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    assert "refused combinations" in first.stdout
    count = len(ran)
    assert count > 1
    assert CliRunner().invoke(app, command).exit_code == 0
    assert len(ran) == count, "what had passed was run again"
    broken = [each for each in combinations() if each.scheme == BROKEN]
    for _ in range(2):
        found = check(broken, ["vectoradd"], "tiny", [], "pysim")
        assert [outcome.error for outcome in found] == ["The events of cycle 3 differ."]
    assert len(ran) == count + 2, "what had failed was not run again"


def test_random_programs_are_part_of_the_check(ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """They run on the machine of the check, with what their scheme asks of the compiler."""
    traces: list[Any] = []
    noted = combined.lockstep

    def run(trace: Any, config: Any, scheme: Any, engine: Any) -> Outcome:
        traces.append(trace)
        return noted(trace, config, scheme, engine)

    monkeypatch.setattr(combined, "lockstep", run)
    command = ["schemes", "--check", "--only", "bow-wb+gscalar", "--kernel", "divergent-7", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert {each["kernel"] for each in json.loads(result.stdout)["runs"]} == {"divergent-7"}
    assert ran[0] == "bow-wb+gscalar"
    parts = traces[0].dynamic["mask"] & 0xF
    assert ((parts != 0xF) & (parts != 0)).mean() > 0.2
    assert {name for name in PROGRAMS if RandomProgram.parse(name)} >= {"divergent-3", "divergent-9"}
    with pytest.raises(WarpbankError, match="diverging-7"):
        LockstepRun("bow", "diverging-7", "tiny", (), "pysim").check()


@pytest.mark.long
@pytest.mark.parametrize("scheme", [each.scheme for each in combinations() if each.legal])
def test_every_legal_combination(scheme: str) -> None:
    """In Verilator: Amaranth's simulator takes a quarter of an hour for a combination."""
    for kernel in PROGRAMS:
        assert LockstepRun(scheme, kernel, "tiny", (), "verilator").compute()["cycles"] > 0


@pytest.mark.long
def test_moves_through_collectors_of_several_uops() -> None:
    """In Verilator, whose testbench has to find what a decompress move has read among the uops of its
    collector."""
    assert LockstepRun("bow+gscalar", "spmv", "tiny", (), "verilator").compute()["cycles"] > 0

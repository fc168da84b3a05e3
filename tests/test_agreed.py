"""Record of agreement: what a change makes invalid, what is written, and that a divergence is not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import agreed
from tests.agreed import Entry, check, circuit, look, missing, read, write
from warpbank.sim.engines.design import parts
from warpbank.studies.combinations import PROGRAMS
from warpbank.synth import netlist

SCHEME = "bow"


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A lockstep that notes what it runs, and finds a difference on lud."""
    calls: list[str] = []

    def prepared(scheme: str, program: str) -> tuple[str, str, str]:
        return program, "config", scheme

    def lockstep(program: str, *rest: Any) -> Any:
        calls.append(program)
        wrong = SimpleNamespace(reason="The events of cycle 3 differ.")
        return SimpleNamespace(divergence=wrong if program == "lud" else None)

    monkeypatch.setattr(agreed, "_prepared", prepared)
    monkeypatch.setattr(agreed, "lockstep", lockstep)
    monkeypatch.setattr(agreed, "behaviour", lambda program, config, scheme: f"digest of {program}")
    for name in ("circuit", "built"):
        monkeypatch.setattr(agreed, name, lambda scheme: f"circuit of {scheme}")
    return calls


def test_what_differs_is_not_recorded_and_is_run_again(ran: list[str]) -> None:
    entry, wrong = check(SCHEME, Entry(), "sources")
    assert ran == list(PROGRAMS)
    assert wrong == ["bow lud: The events of cycle 3 differ."]
    assert missing(entry) == ["lud"]
    ran.clear()
    check(SCHEME, entry, "sources")
    assert ran == ["lud"]


def test_other_sources_with_one_circuit_and_one_behaviour_leave_an_entry_valid(ran: list[str]) -> None:
    entry, _ = check(SCHEME, Entry(), "sources")
    assert look(SCHEME, entry, "others") == Entry(entry.circuit, entry.programs, "others")


def test_another_circuit_makes_all_programs_invalid(ran: list[str]) -> None:
    entry, _ = check(SCHEME, Entry(), "sources")
    entry.circuit = "another"
    assert missing(look(SCHEME, entry, "others")) == list(PROGRAMS)


def test_another_behaviour_makes_a_program_invalid(ran: list[str]) -> None:
    entry, _ = check(SCHEME, Entry(), "sources")
    entry.programs["spmv"] = "another"
    assert missing(look(SCHEME, entry, "others")) == ["spmv", "lud"]


def test_the_hash_of_a_circuit_knows_no_source_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places of statements are not written; what statements say matters."""
    before = circuit("baseline")
    made = netlist.to_rtlil

    assert "attribute \\src" not in made(parts(*agreed._machine("baseline"))[1].component, "sub_core")

    def changed(component: Any, name: str) -> str:
        text = str(made(component, name))
        assert "cell $and" in text
        return text.replace("cell $and", "cell $or", 1)

    monkeypatch.setattr(netlist, "to_rtlil", changed)
    assert circuit("baseline") != before


def test_a_model_that_schemes_share_is_built_once() -> None:
    """Schemes that share one stand together, and no two at a time are given to processes that would build
    it."""
    order = agreed._beside(["ltrf", "bow", "ltrf-strand"])
    assert order == ["ltrf", "ltrf-strand", "bow"]
    assert agreed._next(["ltrf-strand", "bow"], [agreed.hardware("ltrf")]) == 1
    assert agreed._next(["ltrf-strand"], [agreed.hardware("ltrf")]) == 0


def test_two_schemes_of_one_program_have_two_behaviours() -> None:
    found = {agreed.behaviour(*agreed._prepared(scheme, "vectoradd")) for scheme in ("baseline", SCHEME)}
    assert len(found) == 2


def test_a_scheme_that_there_is_no_longer_leaves_the_record(tmp_path: Path) -> None:
    path = tmp_path / "agreed.json"
    write(path, {"bow": Entry("circuit", {"lud": "digest"}, "sources"), "bowl": Entry("circuit")})
    assert read(path) == {"bow": Entry("circuit", {"lud": "digest"}, "sources")}
    assert not list(tmp_path.glob("*.part"))


def test_the_record_says_no_more_than_was_run() -> None:
    """Every entry is of a legal scheme, has a circuit, and names programs that a check runs."""
    recorded = read(agreed.RECORDED)
    assert set(recorded) <= set(agreed.schemes())
    for scheme, entry in recorded.items():
        assert entry.circuit, scheme
        assert set(entry.programs) <= set(PROGRAMS), scheme

"""`warpbank schemes`: the list, combinations, and what a check says. The check: tests/studies."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import warpbank
from warpbank.arch.schemes import SCHEMES
from warpbank.cli import schemes as command
from warpbank.sim.runs import Outcome
from warpbank.studies.combinations import LockstepRun, combinations


def test_every_scheme_is_listed() -> None:
    done = warpbank("schemes")
    assert done.code == 0, done.err
    words = {line.split()[0] for line in done.out.splitlines() if line.split()}
    assert set(SCHEMES) <= words
    rows = json.loads(warpbank("schemes", "--json").out)["schemes"]
    assert [row["name"] for row in rows] == list(SCHEMES)
    assert {"collector", "hierarchy", "mapping", "storage", "scheduler", "description"} <= set(rows[0])


def test_combinations() -> None:
    found = combinations()
    legal = sum(each.legal for each in found)
    out = warpbank("schemes", "--combinations").out
    assert f"{legal} legal combinations" in out
    assert f"{len(found) - legal} refused combinations" in out
    data = json.loads(warpbank("schemes", "--combinations", "--json").out)
    assert data["combinations"] == [each.to_dict() for each in found]
    assert (data["runs"], data["passed"]) == ([], True)


def test_a_check_tells_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(wanted: object, kernels: list[str], preset: str, *_: object, **more: object) -> list[Outcome]:
        spec = LockstepRun("bow", kernels[0], preset, (), "pysim")
        ended = [
            Outcome(spec, {"cycles": 7, "seconds": 1.5}),
            Outcome(spec, {"cycles": 7, "seconds": 1.5}, cached=True),
            Outcome(spec, None, "The events of cycle [3] differ."),
        ]
        for done, outcome in enumerate(ended, 1):
            more["progress"](outcome, done, len(ended))  # type: ignore[operator]
        return ended

    monkeypatch.setattr(command, "check", check)
    done = warpbank("schemes", "--check", "--only", "bow", "--json")
    assert done.code == 1
    assert done.err.splitlines() == [
        "1 of 3: bow vectoradd: equal, 7 cycles (1.5 s)",
        "2 of 3: bow vectoradd: equal, 7 cycles (kept)",
        "3 of 3: bow vectoradd: WRONG: The events of cycle [3] differ.",
    ]
    data = json.loads(done.out)
    assert not data["passed"]
    assert data["runs"][2] == {
        "scheme": "bow",
        "kernel": "vectoradd",
        "wrong": "The events of cycle [3] differ.",
        "cycles": 0,
        "seconds": 0.0,
        "kept": False,
    }


@pytest.mark.parametrize(
    "options",
    [
        *(("--kernel", "nn"), ("--preset", "tiny"), ("--set", "a=1"), ("--workers", "2")),
        ("--combinations", "--preset", "tiny"),
        ("--combinations", "--engine", "verilator"),
    ],
)
def test_options_of_the_check(options: tuple[str, ...]) -> None:
    done = warpbank("schemes", *options)
    assert done.code == 2
    assert "give --check, too" in " ".join(done.err.split())


def test_only_names_combinations() -> None:
    done = warpbank("schemes", "--only", "bow")
    assert done.code == 2
    assert "give --combinations or --check, too" in " ".join(done.err.split())

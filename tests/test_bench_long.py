"""`bench.long`: what is expected of a long run, notes that outlive a kill, and a run that is killed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.long import Notes, extrapolated, numbers, until_killed


def test_repetitions_that_add_equal_numbers() -> None:
    short = [{"cycles": 100, "reads": 7}, {"cycles": 110, "reads": 9}, {"cycles": 120, "reads": 11}]
    assert extrapolated(short, [12, 13, 14], 1000) == {"cycles": 9980, "reads": 1983}


def test_a_machine_that_is_not_as_it_was() -> None:
    short = [{"cycles": 100}, {"cycles": 110}, {"cycles": 121}]
    with pytest.raises(ValueError, match="repetition 13 adds 10 to cycles, and repetition 14 adds 11"):
        extrapolated(short, [12, 13, 14], 1000)


def test_numbers_of_a_result() -> None:
    result = {
        "cycles": 5,
        "warp_instructions": 4,
        "operands_checked": 3,
        "ipc": 0.8,
        "counters": {"rf.reads": 2},
        "stalls": {"fetch": 1},
    }
    assert numbers(result) == {
        "cycles": 5,
        "warp_instructions": 4,
        "operands_checked": 3,
        "counters.rf.reads": 2,
        "stalls.fetch": 1,
    }


def test_killed_and_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.long.EVERY", 0.05)
    notes = Notes(tmp_path / "notes.jsonl")
    assert until_killed([sys.executable, "-c", "import time; time.sleep(60)"], notes, 0.2) is None
    again = Notes(notes.path)  # as after a kill of the bench itself
    assert (again.count("start"), again.count("kill")) == (1, 1)
    assert all(note["bytes"] > 0 for note in again.all if note["event"] == "memory")
    assert until_killed([sys.executable, "-c", "print('{\"cycles\": 1}')"], again, None) == {"cycles": 1}
    assert Notes(notes.path).count("end") == 1

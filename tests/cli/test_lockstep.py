"""`warpbank lockstep`: equal, different, and what cannot be run."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import warpbank
from warpbank.arch.config import preset, with_overrides
from warpbank.sim.engines.pysim import PysimEngine


def test_command() -> None:
    done = warpbank(
        "lockstep",
        "vectoradd",
        "--size",
        "tiny",
        "--preset",
        "tiny",
        "--set",
        "sub_core.front_end.scheduler=gto",
        "--json",
    )
    assert done.code == 0, done.err
    content = json.loads(done.out)
    assert content["equal"]
    assert content["counters"]["issue.uops"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lockstep", "vectorad"], "vectoradd"),
        (["lockstep", "vectoradd", "--preset", "tinny"], "tiny"),
        (["lockstep", "vectoradd", "--set", "sub_core.banks=3"], "power of two"),
    ],
)
def test_user_errors(arguments: list[str], words: str) -> None:
    done = warpbank(*arguments)
    assert done.code == 2
    assert words in " ".join(done.err.split())


@pytest.mark.long
def test_a_difference_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The RTL's multiplier is a cycle slower than golden's."""
    slower = with_overrides(preset("tiny"), ["sub_core.execute.fma.latency=5"])

    class Slower(PysimEngine):
        def open(self, trace, config, scheme, **options):  # type: ignore[no-untyped-def]
            return super().open(trace, slower, scheme, **options)

    monkeypatch.setattr("warpbank.cli.lockstep.rtl_engine", lambda *_, **__: Slower())
    done = warpbank("lockstep", "reduction", "--size", "tiny", "--preset", "tiny")
    assert done.code == 1
    assert "DIFFERENT" in done.out
    assert "Last cycles (< only golden, > only RTL)" in done.out

"""`warpbank compare`: what cannot be meant. What it writes and prints: tests/studies/compare."""

from __future__ import annotations

import pytest

from tests.cli.command import warpbank
from warpbank.sim.runs import Outcome


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--schemes", "bwo"), "Unknown scheme 'bwo'. Did you mean bow"),
        (("--schemes", ","), "--schemes needs at least one name"),
        (("--kernels", "vectorad"), "Unknown kernel 'vectorad'. Did you mean vectoradd"),
        (("--kernels", "none.ptx"), "none.ptx"),
        (("--preset", "turin"), "Unknown preset"),
        (("--schemes", "malekeh+ltrf"), "cannot work"),
        (("--schemes", "ltrf", "--set", "sub_core.front_end.scheduler=lrr"), "needs the two_level scheduler"),
        (("--set", "sub_core.banks=3"), "power of two"),
        (("--output", "/proc/nothing"), "cannot make the folder"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "--output" in arguments:
        monkeypatch.setattr(
            "warpbank.studies.compare.run.execute",
            lambda tasks, **_: [Outcome(task, None, "not run") for task in tasks],
        )
    done = warpbank("compare", *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err

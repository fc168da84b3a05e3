"""`python -m bench.issue_stage`: IPC where every result comes a cycle later."""

from __future__ import annotations

import pytest

from bench import issue_stage
from warpbank.arch.config import preset, with_overrides


def test_every_result_comes_later() -> None:
    """By one cycle, in each execution unit, in what the load/store unit answers by itself, and in the L1."""
    before = preset("turing")
    after = with_overrides(before, [f"{name}={value}" for name, value in issue_stage.later(before).items()])
    for unit in ("alu", "fma", "sfu", "tensor", "fp64", "control"):
        old, new = (getattr(each.sub_core.execute, unit) for each in (before, after))
        assert new.latency == old.latency + 1
        assert new.interval == old.interval
    assert after.lsu.shared_latency == before.lsu.shared_latency + 1
    assert after.lsu.const_latency == before.lsu.const_latency + 1
    assert after.lsu.shuffle_latency == before.lsu.shuffle_latency + 1
    assert after.l1.latency == before.l1.latency + 1
    assert after.memory == before.memory


def test_a_row_a_scheme(capsys: pytest.CaptureFixture[str]) -> None:
    """One kernel: mean, least and greatest change are its own."""
    issue_stage.main(["baseline", "bow-wr"], ["vectoradd"], "tiny", "tiny")
    head, *_, baseline, bow = capsys.readouterr().out.splitlines()
    assert head == "tiny, tiny"
    for row, scheme in ((baseline, "baseline"), (bow, "bow-wr")):
        name, mean, least, _, greatest, _ = row.strip("| ").split(" | ")
        assert name == f"`{scheme}`"
        assert mean == least == greatest != "+0.0 %"

"""`warpbank fpga`: in simulation, and what cannot be built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import warpbank


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sgemm"], "does not do FFMA"),
        (["btree"], "takes 4 warps"),
        (["bfs", "--scheme", "ltrf"], "inserts instructions"),
        (["bfs", "--board", "ice40", "--output", "x"], "boards are ulx3s-85f"),
        (["bfs", "--board", "ice40"], "boards are ulx3s-85f"),
        (["bfs", "--divide", "3", "--output", "x"], "divided by a power of two"),
        (["bfs", "--set", "sub_core.execute.fma.latency=2"], "FMA takes 4 cycles"),
        (["bfs", "--set", "sub_core.bank=2"], "Did you mean banks"),
        (["bfs", "--scheme", "bowl"], "Unknown scheme 'bowl'"),
        (["bfs", "--scheme", "rfc", "--set", "sub_core.front_end.scheduler=gto"], "needs the two_level"),
    ],
)
def test_user_errors(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = warpbank("fpga", *arguments)
    assert done.code == 2
    assert words in " ".join(done.err.split())


@pytest.mark.long
def test_a_simulation_is_told() -> None:
    arguments = ("fpga", "bfs", "--set", "sub_core.warps=2")
    data = json.loads(warpbank(*arguments, "--json").out)
    assert (data["kernel"], data["scheme"], data["passed"]) == ("bfs", "baseline", True)
    assert set(data) == {"kernel", "scheme", "passed", "compared", "cycles"}
    told = f"PASS in simulation; {data['compared']} memory instructions compared, {data['cycles']} cycles"
    assert warpbank(*arguments).out == f"bfs, baseline: {told}\n"

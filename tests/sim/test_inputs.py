"""Inputs that other inputs name are inputs, too: nothing is written over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import warpbank
from warpbank.sim.inputs import named_in


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("list.g", "MemcpyHtoD,0x1,4\nkernel-1.traceg\nkernel-2.gz\n", ["kernel-1.traceg", "kernel-2.gz"]),
        ("k.toml", '[x]\nfile = "x.npy"\n[[launch]]\n[launch.more]\nfile = "y.npy"\n', ["x.npy", "y.npy"]),
        ("k.toml", "[buffers.x]\nfile = 5\n", []),
        ("k.toml", "[buffers", []),
        ("k.ptx", 'file = "x.npy"', []),
    ],
)
def test_names(name: str, text: str, found: list[str], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert named_in(tmp_path / name) == [tmp_path / each for each in found]
    assert named_in(tmp_path / "absent.toml") == []


def test_a_trace_of_a_list_is_not_overwritten(tmp_path: Path) -> None:
    trace, names = tmp_path / "kernel-1.csv", tmp_path / "list.g"
    trace.write_text("recorded")
    names.write_text("kernel-1.csv\n")
    done = warpbank("run", "--trace", str(names), "--preset", "tiny", "--over-time", str(trace))
    assert done.code == 2
    assert trace.read_text() == "recorded"

"""`warpbank trace`: what is written can be looked into."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import warpbank


def test_a_trace_is_written_and_summarised(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    done = warpbank("trace", "write", "vectoradd", str(path), "--size", "tiny")
    assert done.code == 0, done.err
    summary = json.loads(warpbank("trace", "inspect", str(path), "--json").out)
    assert done.err == f"wrote {path}: {summary['warp_instructions']} warp instructions\n"
    assert (summary["job"], summary["size"], summary["kernels"]) == ("vectoradd", "tiny", "vectoradd")
    shown = " ".join(warpbank("trace", "inspect", str(path)).out.split())
    assert f"warp_instructions {summary['warp_instructions']:,} " in shown
    nested = [name for name, value in summary.items() if isinstance(value, dict)]
    assert "instructions by opcode" in nested
    assert all(name in shown for name in nested)

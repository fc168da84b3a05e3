"""Shell completion: what a shell is offered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from warpbank.cli import completion


def _offered(words: str, folder: Path) -> list[str]:
    """What bash would show, of the command line itself."""
    environment = {
        **os.environ,
        "_WARPBANK_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    command = [sys.executable, "-m", "warpbank"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("warpbank run hot", ["hotspot"]),
        ("warpbank run own/s", ["own/saxpy.ptx"]),
        ("warpbank run nn --scheme bow-wr+malekeh-", ["bow-wr+malekeh-pr"]),
    ],
)
def test_the_shell_is_offered(words: str, offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "saxpy.ptx").touch()
    assert _offered(words, tmp_path) == offered


@pytest.mark.parametrize(
    ("complete", "typed", "offered"),
    [
        (completion.machine, "t", ["turing", "turing-accelsim", "tiny"]),
        (completion.machine, "x", []),
        (completion.schemes, "bow,gscalar-", ["bow,gscalar-half"]),
        (completion.schemes, "bow-wr,bow-w", ["bow-wr,bow-wb"]),
        (completion.kernels, "nn,al", ["nn,all"]),
        (completion.unit, "compressor_h", ["compressor_half"]),
        (completion.paper, "mal", ["malekeh"]),
        (completion.field, "sub_core.collector.win", ["sub_core.collector.window="]),
    ],
)
def test_names(complete: completion.Completion, typed: str, offered: list[str]) -> None:
    assert complete(typed) == offered


def test_units_without_their_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "warpbank.synth.units", None)
    assert completion.unit("") == []

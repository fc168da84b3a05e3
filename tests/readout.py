"""Read-out of register files: warps are cut somewhere, and read there what their scheme promises to keep.

The promise comes from the rest of the warp that was cut off, lane by lane: what some lane would have read
before it writes it must be there, whatever the hints say. A scheme without hints of liveness keeps all.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
import pytest

from tests.abstract_registers import Executed, executed, mismatches
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import MAX_SOURCES, MOVE, NOTICES, Control, Unit
from warpbank.golden import sm as golden_sm
from warpbank.golden.stream import TraceUop
from warpbank.program.hints import Hints
from warpbank.program.trace.schema import CODE, DYNAMIC, Trace
from warpbank.sim.engines import host
from warpbank.sim.engines.pysim import PysimEngine

#: Hints by which a scheme may lose what nobody reads again.
DROPS = {"dead", "release", "write_back", "fresh", "cached", "strands"}


class Recorder:
    """Stand-in of the operand checker that compares nothing: it notes what every uop was dispatched with."""

    latest: Recorder

    def __init__(self, trace: Trace, sub_cores: int, warps: int) -> None:
        Recorder.latest = self
        self.checked = 0
        self._rows: dict[tuple[int, int], int] = {}
        self.found: dict[tuple[int, int], list[np.ndarray]] = {}
        self.twice: list[tuple[int, int]] = []

    def start(self, sub_core: int, warp: int, row: int) -> None:
        """A warp starts."""
        self._rows[sub_core, warp] = row

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""

    def dispatch(self, uop: TraceUop) -> None:
        """A uop is dispatched: note its operands, decompress moves apart."""
        if uop.seq & MOVE:
            return
        key = self._rows[uop.sub_core, uop.warp], uop.seq
        if key in self.found:
            self.twice.append(key)
        self.found[key] = [np.array(operand) for operand in uop.operands]
        self.checked += len(self.found[key])


@contextmanager
def recording() -> Iterator[None]:
    """Machines that are made meanwhile note their operands instead of checking them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(golden_sm, "OperandChecker", Recorder)
        patch.setattr(host, "OperandChecker", Recorder)
        yield


# --- The promise.


def needed(rest: Sequence[Executed]) -> dict[int, tuple[set[int], int]]:
    """Registers that the rest of a warp reads before it writes them: register -> (lanes, instructions up to
    the first such read)."""
    written: dict[int, set[int]] = {}
    found: dict[int, tuple[set[int], int]] = {}
    for distance, instruction in enumerate(rest):
        for register in instruction.reads:
            wanted = set(instruction.active) - written.get(register, set())
            if wanted:
                before, first = found.get(register, (set(), distance))
                found[register] = before | wanted, first
        for register in instruction.writes:
            written.setdefault(register, set()).update(instruction.active)
    return found


def promised(
    done: Sequence[Executed], rest: Sequence[Executed], scheme: Scheme, window: int, lanes: int
) -> dict[int, set[int]]:
    """Registers that a scheme must still have, with their lanes. Of BOW's hints it is known that a value
    whose next read is in the window need not be anywhere else. G-Scalar's let go of lanes that a later write
    of the register leaves alone."""
    drops = DROPS & set(scheme.hints)
    if not drops:
        return {register: set(range(lanes)) for instruction in done for register in instruction.writes}
    found = needed(rest)
    if drops == {"fresh"}:
        last_written = {
            register: set(instruction.active) for instruction in done for register in instruction.writes
        }
        return {
            register: written | found.get(register, (set(), 0))[0]
            for register, written in last_written.items()
        }
    if "write_back" not in scheme.hints:
        return {register: wanted for register, (wanted, _) in found.items()}
    last = {
        register: number
        for number, instruction in enumerate(done)
        for register in (*instruction.reads, *instruction.writes)
    }
    return {
        register: wanted
        for register, (wanted, distance) in found.items()
        if register in last and len(done) + distance - last[register] >= window
    }


# --- The cut.


def places(trace: Trace, row: int, scheme: Scheme) -> list[int]:
    """Instructions of a warp before which it may be cut. A cache that the compiler manages promises nothing
    within a strand, so only where one has ended for sure: behind a barrier."""
    warp = trace.warps[row]
    first, length = int(warp["first"]), int(warp["length"])
    if "cached" not in scheme.hints:
        return list(range(length))
    controls = trace.code["control"][trace.dynamic["pc"][first : first + length]]
    return [*(number + 1 for number in range(length) if controls[number] == Control.BARRIER), length - 1]


class Cut(NamedTuple):
    """Trace whose warps end with a read-out.

    Parameters
    ----------
    trace : the trace.
    promised : (row of `Trace.warps`, number of the instruction) -> lanes that each operand of it must have.
    """

    trace: Trace
    promised: dict[tuple[int, int], list[set[int]]]


def cut(trace: Trace, scheme: Scheme, config: SmConfig, seed: int, *, ends: bool = False) -> Cut:
    """Trace whose warps end at a random instruction (`ends`: at their last), where they read what the scheme
    promises to have there, a register or several at a time."""
    rng = random.Random(seed)
    lanes, core = config.lanes, config.sub_core
    base = len(trace.code)
    readers: dict[tuple[Control, tuple[int, ...]], int] = {}
    sets: dict[int, int] = {}
    rows: list[np.ndarray] = []
    kept: dict[tuple[int, int], list[set[int]]] = {}
    warps = trace.warps.copy()
    total = 0
    prefetched = bool({"intervals", "strands"} & set(scheme.hints))
    for row, warp in enumerate(trace.warps):
        own = trace.dynamic[int(warp["first"]) : int(warp["first"]) + int(warp["length"])]
        at = len(own) - 1 if ends else rng.choice(places(trace, row, scheme))
        counted = [
            (number, instruction)
            for number, instruction in enumerate(executed(trace, row, lanes))
            if Control(int(trace.code["control"][instruction.pc])) not in NOTICES
        ]
        done = [instruction for number, instruction in counted if number < at]
        rest = [instruction for number, instruction in counted if number >= at]
        lanes_of = promised(done, rest, scheme, core.collector.window, lanes)
        registers = sorted(lanes_of)
        rng.shuffle(registers)
        tail: list[int] = []
        size = min(core.cache.registers, 12) if prefetched else len(registers) or 1
        for start in range(0, len(registers), size):
            group = registers[start : start + size]
            if prefetched:
                pc = readers.setdefault((Control.PREFETCH, tuple(group)), base + len(readers))
                sets[pc] = sum(1 << register for register in group)
                tail.append(pc)
            while group:
                width = rng.randint(1, min(MAX_SOURCES, len(group)))
                named, group = tuple(group[:width]), group[width:]
                kept[row, at + len(tail)] = [lanes_of[register] for register in named]
                tail.append(readers.setdefault((Control.NONE, named), base + len(readers)))
        added = np.zeros(len(tail), DYNAMIC)
        added["pc"], added["mask"] = tail, int(warp["mask"])
        piece = np.concatenate([own[:at], added, own[-1:]])
        warps[row]["first"], warps[row]["length"] = total, len(piece)
        total += len(piece)
        rows.append(piece)
    code = np.zeros(len(readers), CODE)
    for new, (control, registers_read) in zip(code, readers, strict=True):
        new["unit"] = Unit.CONTROL if control is Control.PREFETCH else Unit.ALU
        new["control"] = control
        if control is Control.NONE:
            new["sources"][: len(registers_read)] = registers_read
            new["source_count"] = len(registers_read)
    hints = trace.hints or Hints.none(base)
    neutral = Hints.none(len(code))
    joined = Hints(
        *(np.concatenate([getattr(hints, f.name), getattr(neutral, f.name)]) for f in fields(Hints))
    )
    made = replace(
        trace,
        code=np.concatenate([trace.code, code]),
        text=[*trace.text, *(f"read {named}" for _, named in readers)],
        ptx_line=np.concatenate([trace.ptx_line, np.zeros(len(code), trace.ptx_line.dtype)]),
        dynamic=np.concatenate(rows),
        warps=warps,
        working_sets={**trace.working_sets, **sets},
        hints=joined,
    )
    return Cut(made, kept)


# --- Machines.


def wrong_in_golden(program: Cut, scheme: Scheme, config: SmConfig) -> list[str]:
    """What the golden model reads wrong, in sentences."""
    with recording():
        golden_sm.simulate(program.trace, config, scheme)
    return _judged(program, config)


def wrong_in_rtl(program: Cut, scheme: Scheme, config: SmConfig) -> list[str]:
    """What the RTL reads wrong in Amaranth's simulator, in sentences."""
    with recording():
        PysimEngine().run(program.trace, config, scheme)
    return _judged(program, config)


def _judged(program: Cut, config: SmConfig) -> list[str]:
    recorder = Recorder.latest
    assert recorder.checked, "the machine read nothing"
    return [
        *(f"instruction {number} of warp {row} was dispatched twice" for row, number in recorder.twice),
        *mismatches(program.trace, config.lanes, recorder.found, program.promised),
    ]

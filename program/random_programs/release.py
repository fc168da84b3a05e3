"""Release flags for traces that come from no program: what no warp reads again, found from the end of each
warp back."""

from __future__ import annotations

import random

import numpy as np

from warpbank.arch.uop import Control
from warpbank.program.random_programs.intervals import dead_bits
from warpbank.program.release.fetch import without_pir
from warpbank.program.release.flags import OPERANDS
from warpbank.program.release.insertion import Release, insert_flags
from warpbank.program.release.words import COVERED, PAYLOAD_BITS, FlagWord
from warpbank.program.trace.schema import Trace

NUMBER_BITS = 6


def dead_before(trace: Trace, registers: int) -> list[int]:
    """Per pc the mask of registers that no warp reads, from any execution of it on, before it has written
    them on all lanes."""
    dead = [(1 << registers) - 1] * len(trace.code)
    for warp in trace.warps:
        rows = trace.dynamic[int(warp["first"]) : int(warp["first"]) + int(warp["length"])]
        alive = 0
        for row in rows[::-1]:
            code = trace.code[row["pc"]]
            if row["mask"]:
                if row["mask"] == warp["mask"]:
                    alive &= ~(((1 << int(code["count"])) - 1) << int(code["destination"]))
                for register in code["sources"][: code["source_count"]].tolist():
                    alive |= 1 << register
            dead[row["pc"]] &= ~alive
    return dead


def _pbr(pc: int, registers: list[int]) -> FlagWord:
    filled = registers + registers[:1] * (PAYLOAD_BITS // NUMBER_BITS - len(registers))
    payload = sum(number << NUMBER_BITS * place for place, number in enumerate(filled))
    return FlagWord(Control.PBR, pc, 0, payload, sum(1 << register for register in registers), NUMBER_BITS)


def with_flags(trace: Trace, seed: int, *, registers: int = 12, exempt: int = 0) -> Trace:
    """The trace with pir flags for most last reads and pbr instructions for some of what is dead; `exempt`:
    never renamed."""
    rng = random.Random(seed)
    dead = dead_bits(trace) & ((1 << OPERANDS) - 1)
    words = []
    for pc, mask in enumerate(dead_before(trace, registers)):
        found = [
            register for register in range(registers) if mask & ~exempt & 1 << register and rng.random() < 0.5
        ]
        if found and rng.random() < 0.3:
            words.append(_pbr(pc, found[: PAYLOAD_BITS // NUMBER_BITS]))
    for first in range(0, len(dead), COVERED):
        covers = min(COVERED, len(dead) - first)
        words.append(FlagWord(Control.PIR, first, covers, 0))
    return without_pir(insert_flags(trace, Release(dead.astype(np.uint8), tuple(words), (exempt,))))

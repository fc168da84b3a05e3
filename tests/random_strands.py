"""Random programs for a compiler-managed register file cache alone."""

from __future__ import annotations

import random

from warpbank.arch.uop import Unit
from warpbank.program.random_programs.strands import STRAND_REGISTERS
from warpbank.program.trace.builder import Op, TraceBuilder, alu, load
from warpbank.program.trace.schema import Trace


def strand_trace(seed: int, warps: int = 4, length: int = 40) -> Trace:
    """A trace with long runs of arithmetic on all lanes, some loads and some partial results among it."""
    rng = random.Random(seed)
    blocks = []
    for _ in range(2):
        block = []
        for _ in range(warps):
            ops: list[Op] = []
            for _ in range(length):
                kind, registers = rng.random(), rng.sample(range(20), 3)
                if kind < 0.8:
                    ops.append(
                        alu(registers[0], *registers[1:], unit=rng.choice((Unit.ALU, Unit.FMA, Unit.SFU)))
                    )
                elif kind < 0.87:
                    ops.append(alu(2 * rng.randrange(10), *registers, count=2, unit=Unit.FP64))
                elif kind < 0.93:
                    ops.append(alu(registers[0], registers[1], mask=0xF0F0F0F5))
                else:
                    ops.append(load(registers[0], registers[1], rng.randrange(30)))
            block.append(ops)
        blocks.append(block)
    return TraceBuilder(seed).launch(*blocks, registers=STRAND_REGISTERS).build()

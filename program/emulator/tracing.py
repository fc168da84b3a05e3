"""Trace rows, written as instructions are executed."""

from __future__ import annotations

import numpy as np

from warpbank.arch.uop import Memory
from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.memory import KIND, conflict_passes, lines_touched
from warpbank.program.emulator.layout import (
    COUNT,
    GROUP,
    GROUP_MEMORY,
    LINES,
    OP,
    OUT,
    ROWS,
    SIZE,
    TRACE_PC,
    VALUES,
    ZERO,
)
from warpbank.program.isa import Op, Space

_ALL = 0xFFFFFFFF


@jit
def memory_kind(op, count, kind):
    """Memory operation (`arch.uop.Memory`) of an access whose first lane touches this space."""
    if kind == Space.GLOBAL:
        if op == Op.LD:
            return Memory.LOAD_GLOBAL.value
        if op == Op.ST:
            return Memory.STORE_GLOBAL.value
        return Memory.ATOMIC_GLOBAL.value if count else Memory.REDUCE_GLOBAL.value
    if kind == Space.SHARED:
        if op == Op.LD:
            return Memory.LOAD_SHARED.value
        return Memory.STORE_SHARED.value if op == Op.ST else Memory.ATOMIC_SHARED.value
    if kind == Space.LOCAL:
        return Memory.LOAD_LOCAL.value if op == Op.LD else Memory.STORE_LOCAL.value
    return Memory.LOAD_CONST.value


@jit
def record(pc, mask, code, R, S, T, dynamic, all_values, all_lines):
    """Write one row of the trace. Barrier fields are filled in by control. (Arrays one by one: the bundle is
    costly to pass on.)"""
    row = dynamic[S[ROWS]]
    S[ROWS] += 1
    row.pc = code[pc, TRACE_PC]
    row.mask = mask
    row.value = S[VALUES]
    row.line = S[LINES]
    row.line_count = 0
    row.passes = 0
    row.memory = Memory.NONE.value
    row.flags = 0
    row.barrier = 0
    row.barrier_warps = 0
    if mask == 0:
        return
    op = code[pc, OP]
    source = ZERO if op == Op.BAR else OUT  # the value of bar.red comes when the barrier opens
    for k in range(code[pc, COUNT]):
        v = S[VALUES]
        S[VALUES] += 1
        if mask == _ALL:
            for i in range(32):
                all_values[v, i] = R[source + k, i]
        else:
            for i in range(32):
                all_values[v, i] = R[source + k, i] & np.uint32(-((mask >> i) & 1))
    if code[pc, GROUP] == GROUP_MEMORY:
        first = np.int64(0)
        while (mask >> first) & 1 == 0:
            first += 1
        row.memory = memory_kind(op, code[pc, COUNT], T[KIND, first])
        lines = lines_touched(code[pc, SIZE], mask, T, all_lines, S[LINES])
        row.line_count = lines
        S[LINES] += lines
        row.passes = conflict_passes(code[pc, SIZE], mask, op == Op.ATOM, T)
    elif op == Op.SHFL:
        row.memory = Memory.SHUFFLE.value
    elif op == Op.MEMBAR:
        row.memory = Memory.FENCE.value

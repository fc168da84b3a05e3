"""Execution of one instruction on a warp's registers and predicates; memory and control stand elsewhere."""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator import layout as at
from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.approximate import mufu
from warpbank.program.emulator.lanes.compare import compare, truth_table
from warpbank.program.emulator.lanes.convert import convert
from warpbank.program.emulator.lanes.crosslane import crosslane
from warpbank.program.emulator.lanes.floating import (
    directed,
    double,
    extremum,
    finish,
    half,
    prepare,
    single,
    tiny,
)
from warpbank.program.emulator.lanes.integer import integer
from warpbank.program.emulator.lanes.logic import logic
from warpbank.program.emulator.lanes.tensor import mma
from warpbank.program.emulator.layout import (
    AUX,
    BOOLOP,
    CMP,
    COUNT,
    DESTINATION,
    DTYPE,
    FINISH,
    FTZ,
    G_BLOCK,
    G_GRID,
    G_LAUNCH,
    G_WARPS,
    GROUP,
    GROUP_BITS,
    GROUP_COMPARE,
    GROUP_CONVERT,
    GROUP_F32,
    GROUP_F64,
    GROUP_HALF,
    GROUP_INTEGER,
    GROUP_LANES,
    GROUP_MOVE,
    GROUP_MUFU,
    GROUP_ROUNDED,
    GROUP_SPECIAL,
    GROUP_TENSOR,
    MODIFIED,
    NEG,
    OP,
    OUT,
    PREDICATE,
    QUERY,
    QUERY_NOT,
    RND,
    SAT,
    SOURCE,
    STYPE,
    WRITES_PREDICATE,
)
from warpbank.program.isa import DType, Op, Sreg

_ALL = 0xFFFFFFFF


@jit
def special(which, R, w, G, cta, clock):
    """S2R: special registers of every lane."""
    bx, by = G[G_BLOCK], G[G_BLOCK + 1]
    gx, gy = G[G_GRID], G[G_GRID + 1]
    for lane in range(32):
        thread = 32 * w + lane
        value = np.int64(0)
        if which == Sreg.TID_X:
            value = thread % bx
        elif which == Sreg.TID_Y:
            value = thread // bx % by
        elif which == Sreg.TID_Z:
            value = thread // (bx * by)
        elif which == Sreg.CTAID_X:
            value = cta % gx
        elif which == Sreg.CTAID_Y:
            value = cta // gx % gy
        elif which == Sreg.CTAID_Z:
            value = cta // (gx * gy)
        elif which == Sreg.LANEID:
            value = np.int64(lane)
        elif which == Sreg.WARPID:
            value = w
        elif which == Sreg.NWARPID:
            value = G[G_WARPS]
        elif which == Sreg.NSMID:
            value = np.int64(1)
        elif which == Sreg.GRIDID:
            value = G[G_LAUNCH]
        elif which == Sreg.CLOCK or which == Sreg.GLOBALTIMER:
            value = clock
        elif which == Sreg.CLOCK_HI or which == Sreg.GLOBALTIMER_HI:
            value = clock >> 32
        elif which == Sreg.LANEMASK_EQ:
            value = np.int64(1) << lane
        elif which == Sreg.LANEMASK_LE:
            value = (np.int64(2) << lane) - 1
        elif which == Sreg.LANEMASK_LT:
            value = (np.int64(1) << lane) - 1
        elif which == Sreg.LANEMASK_GE:
            value = np.int64(_ALL) & ~((np.int64(1) << lane) - 1)
        elif which == Sreg.LANEMASK_GT:
            value = np.int64(_ALL) & ~((np.int64(2) << lane) - 1)
        R[OUT, lane] = value & _ALL


@jit
def move(code, pc, R, a, b, query):
    """MOV and SEL."""
    if code[pc, OP] == Op.MOV:
        for k in range(code[pc, COUNT]):
            for i in range(32):
                R[OUT + k, i] = R[a + k, i]
    else:
        for i in range(32):
            R[OUT, i] = R[a, i] if (query >> i) & 1 else R[b, i]


@jit
def compute(code, pc, R, P, mask, w, G, cta, clock):
    """Execution of everything but memory and control: results into the OUT rows; returns the two predicate
    results."""
    group, op, dtype, aux = code[pc, GROUP], code[pc, OP], code[pc, DTYPE], code[pc, AUX]
    a, b, c = code[pc, SOURCE], code[pc, SOURCE + 1], code[pc, SOURCE + 2]
    query = P[code[pc, QUERY]] ^ code[pc, QUERY_NOT]
    modified = code[pc, MODIFIED]
    if modified:
        neg, absolute = code[pc, NEG], code[pc, at.ABS]
        ftz = code[pc, FTZ] != 0 and group != GROUP_CONVERT
        if modified & 1:
            a = prepare(
                R, a, 0, dtype if group != GROUP_CONVERT else code[pc, STYPE], neg & 1, absolute & 1, ftz
            )
        if modified & 2:
            b = prepare(R, b, 1, dtype, neg & 2, absolute & 2, ftz)
        if modified & 4:
            c = prepare(R, c, 2, dtype, neg & 4, absolute & 4, ftz)
    p0, p1 = np.int64(0), np.int64(0)
    if group == GROUP_F32:
        if op == Op.FMIN or op == Op.FMAX:
            extremum(op, dtype, aux, R, a, b)
        else:
            single(op, R, a, b, c)
    elif group == GROUP_INTEGER:
        p0 = integer(op, dtype, aux, R, a, b, c, query, code[pc, WRITES_PREDICATE] != 0)
    elif group == GROUP_BITS:
        logic(op, dtype, aux, R, a, b, c, code[pc, SOURCE + 3])
    elif group == GROUP_MOVE:
        move(code, pc, R, a, b, query)
    elif group == GROUP_COMPARE:
        q1 = P[code[pc, QUERY + 1]] ^ code[pc, QUERY_NOT + 1]
        if op == Op.PLOP:
            p0 = truth_table(aux, query, q1, P[code[pc, QUERY + 2]] ^ code[pc, QUERY_NOT + 2])
        else:
            p0, p1 = compare(op, dtype, code[pc, CMP], code[pc, BOOLOP], R, a, b, query, q1)
    elif group == GROUP_SPECIAL:
        special(aux, R, w, G, cta, clock)
    elif group == GROUP_F64:
        if op == Op.FMIN or op == Op.FMAX:
            extremum(op, dtype, aux, R, a, b)
        else:
            double(op, R, a, b, c)
    elif group == GROUP_CONVERT:
        convert(dtype, code[pc, STYPE], code[pc, RND], code[pc, SAT] != 0, code[pc, FTZ] != 0, aux, R, a)
    elif group == GROUP_MUFU:
        mufu(aux, dtype, R, a)
    elif group == GROUP_ROUNDED:
        directed(op, dtype, code[pc, RND], R, a, b, c)
    elif group == GROUP_HALF:
        half(op, dtype, code[pc, RND], aux, R, a, b, c)
    elif group == GROUP_LANES:
        p0 = crosslane(op, dtype, aux, R, a, b, c, query, mask)
    elif group == GROUP_TENSOR:
        mma(aux, dtype, code[pc, STYPE], R, a, b, c, code[pc, SOURCE + 3], code[pc, SOURCE + 4])
    if code[pc, FINISH]:
        if code[pc, FTZ] != 0 and (op == Op.FMUL or op == Op.FFMA) and dtype != DType.F64:
            tiny(op, dtype, code[pc, RND], R, a, b, c)
        finish(R, dtype, code[pc, FTZ] != 0, code[pc, SAT] != 0)
    return p0, p1


@jit
def write_back(code, pc, R, P, mask, p0, p1):
    """Write-back of results to registers and predicates, in the lanes that executed."""
    d = code[pc, DESTINATION]
    for k in range(code[pc, COUNT]):
        if mask == _ALL:
            for i in range(32):
                R[d + k, i] = R[OUT + k, i]
        else:
            for i in range(32):
                if (mask >> i) & 1:
                    R[d + k, i] = R[OUT + k, i]
    if code[pc, WRITES_PREDICATE]:
        p = code[pc, PREDICATE]
        P[p] = (P[p] & ~mask) | (p0 & mask)
        p = code[pc, PREDICATE + 1]
        P[p] = (P[p] & ~mask) | (p1 & mask)

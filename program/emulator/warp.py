"""One warp: fetch, guard, execute, write back, record, and go where control leads."""

from __future__ import annotations

import numpy as np

from program.emulator import layout as at
from program.emulator.barrier import arrive, completed, open_if_complete
from program.emulator.jit import jit
from program.emulator.lanes.approximate import mufu
from program.emulator.lanes.bits import popcount
from program.emulator.lanes.compare import compare, truth_table
from program.emulator.lanes.convert import convert
from program.emulator.lanes.crosslane import crosslane
from program.emulator.lanes.floating import directed, double, extremum, finish, half, prepare, single
from program.emulator.lanes.integer import integer
from program.emulator.lanes.logic import logic
from program.emulator.lanes.memory import KIND, conflict_passes, lines_touched, memory
from program.emulator.lanes.tensor import mma
from program.emulator.layout import (
    AUX,
    BAD_BARRIER,
    BOOLOP,
    CLOCK,
    CMP,
    COUNT,
    CTA,
    CURRENT,
    DESTINATION,
    DTYPE,
    E_BARRIER,
    E_BARRIER_PC,
    E_MASK,
    E_MEET,
    E_PC,
    E_VALUE,
    ENDLESS,
    EXECUTED,
    EXITED,
    FAULT,
    FAULT_ADDRESS,
    FAULT_LANE,
    FAULT_PC,
    FAULT_WARP,
    FAULTED,
    FINISH,
    FTZ,
    G_BLOCK,
    G_CODE,
    G_FIRST_WARP,
    G_GRID,
    G_LAUNCH,
    G_WARPS,
    GROUP,
    GROUP_BITS,
    GROUP_COMPARE,
    GROUP_CONTROL,
    GROUP_CONVERT,
    GROUP_F32,
    GROUP_F64,
    GROUP_HALF,
    GROUP_INTEGER,
    GROUP_LANES,
    GROUP_MEMORY,
    GROUP_MOVE,
    GROUP_MUFU,
    GROUP_ROUNDED,
    GROUP_SPECIAL,
    GROUP_TENSOR,
    GUARD,
    GUARD_NOT,
    LIMIT,
    LINES,
    LIVE,
    LOOP,
    MEET,
    MODIFIED,
    NEG,
    OP,
    OUT,
    PENDING,
    PHASE,
    PREDICATE,
    QUERY,
    QUERY_NOT,
    RAN_OFF,
    RND,
    ROWS,
    RUNNING,
    SAT,
    SEGMENTS,
    SIZE,
    SLICE,
    SOURCE,
    SOURCES,
    STATUS,
    STYPE,
    TARGET,
    THREADS,
    TRACE_PC,
    TRACING,
    TRAPPED,
    TREE_FULL,
    VALUES,
    WAITING,
    WRITES_PREDICATE,
    ZERO,
)
from program.emulator.tree import choose, end_entry, new_entry, part
from program.isa import Op, Space, Sreg
from program.trace.schema import FLAG_ARRIVE, FLAG_LAST, FLAG_WAIT

_ALL = 0xFFFFFFFF


@jit
def special(which, R, w, G, cta, clock):
    """S2R."""
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
    """Everything but memory and control: results into the OUT rows; returns the two predicate results."""
    group, op, dtype, aux = code[pc, GROUP], code[pc, OP], code[pc, DTYPE], code[pc, AUX]
    a, b, c = code[pc, SOURCE], code[pc, SOURCE + 1], code[pc, SOURCE + 2]
    query = P[code[pc, QUERY]] ^ code[pc, QUERY_NOT]
    modified = code[pc, MODIFIED]
    if modified:
        neg, absolute = code[pc, NEG], code[pc, at.ABS]
        ftz = code[pc, FTZ] != 0 and group != GROUP_CONVERT
        if modified & 1:
            a = prepare(R, a, 0, dtype if group != GROUP_CONVERT else code[pc, STYPE], neg & 1, absolute & 1, ftz)
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
        finish(R, dtype, code[pc, FTZ] != 0, code[pc, SAT] != 0)
    return p0, p1


@jit
def write_back(code, pc, R, P, mask, p0, p1):
    """Results to registers and predicates, in the lanes that executed."""
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


@jit
def memory_kind(op, count, kind):
    """arch.uop.Memory of an access whose first lane touches this space."""
    if kind == Space.GLOBAL:
        if op == Op.LD:
            return 1
        if op == Op.ST:
            return 2
        return 3 if count else 4
    if kind == Space.SHARED:
        if op == Op.LD:
            return 5
        return 6 if op == Op.ST else 7
    if kind == Space.LOCAL:
        return 8 if op == Op.LD else 9
    return 10


@jit
def record(m, pc, mask, R):
    """One row of the trace. Barrier fields are filled in by control."""
    S, code = m.state, m.code
    row = m.dynamic[S[ROWS]]
    S[ROWS] += 1
    row.pc = code[pc, TRACE_PC]
    row.mask = mask
    row.value = S[VALUES]
    row.line = S[LINES]
    row.line_count = 0
    row.passes = 0
    row.memory = 0
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
                m.values[v, i] = R[source + k, i]
        else:
            for i in range(32):
                m.values[v, i] = R[source + k, i] & np.uint32(-((mask >> i) & 1))
    if code[pc, GROUP] == GROUP_MEMORY:
        first = np.int64(0)
        while (mask >> first) & 1 == 0:
            first += 1
        row.memory = memory_kind(op, code[pc, COUNT], m.work[KIND, first])
        lines = lines_touched(code[pc, SIZE], mask, m.work, m.lines, S[LINES])
        row.line_count = lines
        S[LINES] += lines
        row.passes = conflict_passes(code[pc, SIZE], mask, op == Op.ATOM, m.work)
    elif op == Op.SHFL:
        row.memory = 11
    elif op == Op.MEMBAR:
        row.memory = 12


@jit
def fail(m, w, pc, kind, lane):
    """Note a fault."""
    S = m.state
    S[STATUS], S[FAULT], S[FAULT_WARP], S[FAULT_PC], S[FAULT_LANE] = FAULTED, kind, w, pc, lane
    return False


@jit
def settle(m, w):
    """After an instruction that made lanes arrive or exit: does it complete the arrival? Then flag it, open the barrier."""
    S = m.state
    b = completed(m, w)
    if b < 0:
        return
    if S[TRACING]:
        row = m.dynamic[S[ROWS] - 1]
        row.flags |= FLAG_ARRIVE
        if m.warps[w, CURRENT] < 0:
            row.flags |= FLAG_WAIT
        row.barrier = b
        row.barrier_warps = (m.barriers[b, at.B_THREADS] + 31) >> 5
    open_if_complete(m, b)


@jit
def barrier(m, w, e, pc, lanes):
    """BAR by some lanes of the current entry; False: a fault."""
    code, R, P = m.code, m.registers[w], m.predicates[w]
    E, warp = m.entries[w], m.warps[w]
    first = np.int64(0)
    while (lanes >> first) & 1 == 0:
        first += 1
    b = np.int64(R[code[pc, SOURCE], first])
    threads = np.int64(0)
    if code[pc, SOURCES] > 1:
        threads = np.int64(R[code[pc, SOURCE + 1], first])
    if b >= at.BARRIERS or threads & 31 or threads > 1024:
        m.state[FAULT_ADDRESS] = b | (threads << 32)
        return fail(m, w, pc, BAD_BARRIER, first)
    mode = code[pc, AUX]
    arrive(m, w, b, lanes, threads, P[code[pc, QUERY]] ^ code[pc, QUERY_NOT], mode)
    if mode == 1:
        E[e, E_PC] = pc + 1
    else:
        others = E[e, E_MASK] & ~lanes
        meet = E[e, E_MEET]
        E[e, E_PC], E[e, E_MASK], E[e, E_BARRIER], E[e, E_BARRIER_PC] = pc + 1, lanes, b, pc
        E[e, E_VALUE] = m.state[VALUES] - 1
        if others and pc + 1 != meet and new_entry(E, warp, pc + 1, others, meet, E[e, at.E_PARENT]) < 0:
            return fail(m, w, pc, TREE_FULL, first)
        choose(E, warp)
        if warp[CURRENT] < 0:
            warp[PHASE] = WAITING
    settle(m, w)
    choose(E, warp)
    return True


@jit
def exit_lanes(m, w, e, pc, lanes):
    """EXIT by some lanes of the current entry."""
    E, warp = m.entries[w], m.warps[w]
    warp[LIVE] &= ~lanes
    E[e, E_MASK] &= ~lanes
    if E[e, E_MASK] == 0:
        end_entry(E, warp, e)
    else:
        E[e, E_PC] = pc + 1
    choose(E, warp)
    if warp[LIVE] == 0:
        warp[PHASE] = EXITED
        if m.state[TRACING]:
            m.dynamic[m.state[ROWS] - 1].flags |= FLAG_LAST
        for b in range(at.BARRIERS):
            open_if_complete(m, b)
        return
    if warp[CURRENT] < 0:
        warp[PHASE] = WAITING
    if warp[PENDING]:
        settle(m, w)
        choose(E, warp)


@jit
def control(m, w, e, pc, mask, executing):
    """BRA, EXIT, BAR, TRAP and the like for the current entry, which is left at its next pc. False: a fault."""
    code, E, warp = m.code, m.entries[w], m.warps[w]
    op = code[pc, OP]
    E[e, E_PC] = pc + 1
    if executing == 0:
        return True
    if op == Op.BRA:
        target = code[pc, TARGET]
        if target <= pc:
            warp[LOOP] = pc
        if executing == mask:
            E[e, E_PC] = target
        elif target != pc + 1:
            if not part(E, warp, e, executing, target, pc + 1, code[pc, MEET]):
                return fail(m, w, pc, TREE_FULL, np.int64(0))
            choose(E, warp)
    elif op == Op.EXIT:
        exit_lanes(m, w, e, pc, executing)
    elif op == Op.BAR:
        return barrier(m, w, e, pc, executing)
    elif op == Op.TRAP:
        lane = np.int64(0)
        while (executing >> lane) & 1 == 0:
            lane += 1
        return fail(m, w, pc, TRAPPED, lane)
    return True


@jit
def run_warp(m, w):
    """Run a warp until it has had its slice, waits, or has exited. A fault or the end of the budget sets STATUS."""
    code, S, G = m.code, m.state, m.geometry
    R, P, E, warp = m.registers[w], m.predicates[w], m.entries[w], m.warps[w]
    tracing = S[TRACING] != 0
    begin = S[ROWS]
    choose(E, warp)
    e = warp[CURRENT]
    if e < 0:
        warp[PHASE] = WAITING
        return
    pc, mask, meet = E[e, E_PC], E[e, E_MASK], E[e, E_MEET]
    for _ in range(SLICE):
        if S[EXECUTED] >= S[LIMIT]:
            S[STATUS], S[FAULT_WARP], S[FAULT_PC] = ENDLESS, w, pc
            break
        if pc >= G[G_CODE]:
            fail(m, w, pc, RAN_OFF, np.int64(0))
            break
        executing = mask & (P[code[pc, GUARD]] ^ code[pc, GUARD_NOT])
        group = code[pc, GROUP]
        S[EXECUTED] += 1
        S[THREADS] += popcount(executing)
        if executing and group != GROUP_CONTROL:
            p0, p1 = np.int64(0), np.int64(0)
            if group == GROUP_MEMORY:
                if not memory(code, pc, R, executing, w, m.bytes, m.words, m.buffers, G, S, m.work):
                    S[STATUS], S[FAULT_WARP], S[FAULT_PC] = FAULTED, w, pc
                    break
            else:
                p0, p1 = compute(code, pc, R, P, executing, w, G, S[CTA], warp[CLOCK])
            write_back(code, pc, R, P, executing, p0, p1)
        if tracing:
            record(m, pc, executing, R)
        warp[CLOCK] += 1
        if group == GROUP_CONTROL:
            if not control(m, w, e, pc, mask, executing):
                break
            e = warp[CURRENT]
            if e < 0 or warp[PHASE] != RUNNING:
                break
            pc, mask, meet = E[e, E_PC], E[e, E_MASK], E[e, E_MEET]
        else:
            pc += 1
        if pc == meet:
            E[e, E_PC] = pc
            choose(E, warp)
            e = warp[CURRENT]
            if e < 0:
                break
            pc, mask, meet = E[e, E_PC], E[e, E_MASK], E[e, E_MEET]
    if warp[PHASE] == RUNNING:
        if e >= 0:
            E[e, E_PC] = pc
        else:
            warp[PHASE] = WAITING
    if tracing and S[ROWS] > begin:
        n = S[SEGMENTS]
        m.segments[n, 0] = G[G_FIRST_WARP] + S[CTA] * G[G_WARPS] + w
        m.segments[n, 1] = begin
        m.segments[n, 2] = S[ROWS] - begin
        S[SEGMENTS] += 1

"""Warp execution: fetch, guard, execute, write back, record, and go where control leads."""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator import layout as at
from warpbank.program.emulator.barrier import arrive, completed, open_if_complete
from warpbank.program.emulator.compute import compute, write_back
from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.bits import popcount
from warpbank.program.emulator.lanes.memory import memory
from warpbank.program.emulator.layout import (
    AUX,
    BAD_BARRIER,
    CLOCK,
    CTA,
    CURRENT,
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
    G_CODE,
    G_FIRST_WARP,
    G_WARPS,
    GROUP,
    GROUP_CONTROL,
    GROUP_MEMORY,
    GUARD,
    GUARD_NOT,
    LIMIT,
    LIVE,
    LOOP,
    MEET,
    OP,
    PENDING,
    PHASE,
    QUERY,
    QUERY_NOT,
    RAN_OFF,
    ROWS,
    RUNNING,
    SEGMENTS,
    SLICE,
    SOURCE,
    SOURCES,
    STATUS,
    TARGET,
    THREADS,
    TRACING,
    TRAPPED,
    TREE_FULL,
    TWO_BARRIERS,
    UNEVEN_BARRIER,
    VALUES,
    WAITING,
)
from warpbank.program.emulator.tracing import record
from warpbank.program.emulator.tree import choose, end_entry, new_entry, part
from warpbank.program.isa import Op
from warpbank.program.trace.schema import FLAG_ARRIVE, FLAG_LAST, FLAG_WAIT


@jit
def fail(m, w, pc, kind, lane):
    """Record of a fault in the status words."""
    S = m.state
    S[STATUS], S[FAULT], S[FAULT_WARP], S[FAULT_PC], S[FAULT_LANE] = FAULTED, kind, w, pc, lane
    return False


@jit
def settle(m, w):
    """Completion check after an instruction that made lanes arrive or exit. Then flag it, open the
    barrier. Whether the warp has arrived at one, and may have at another."""
    S = m.state
    b = completed(m, w)
    if b < 0:
        return False
    if S[TRACING]:
        row = m.dynamic[S[ROWS] - 1]
        row.flags |= FLAG_ARRIVE
        if m.warps[w, CURRENT] < 0:
            row.flags |= FLAG_WAIT
        row.barrier = b
        row.barrier_warps = (m.barriers[b, at.B_THREADS] + 31) >> 5
    open_if_complete(m, b)
    return True


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
    for i in range(first + 1, 32):
        if (lanes >> i) & 1:
            for k in range(code[pc, SOURCES]):
                if R[code[pc, SOURCE + k], i] != R[code[pc, SOURCE + k], first]:
                    return fail(m, w, pc, UNEVEN_BARRIER, np.int64(i))
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
    """EXIT by some lanes of the current entry; False: a fault."""
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
        return True
    if warp[CURRENT] < 0:
        warp[PHASE] = WAITING
    if warp[PENDING]:
        arrivals = 0  # without the lanes that exit the warp may be complete at several barriers
        while settle(m, w):
            arrivals += 1
            if arrivals == 2 and m.state[TRACING]:
                return fail(m, w, pc, TWO_BARRIERS, np.int64(0))
        choose(E, warp)
    return True


@jit
def control(m, w, e, pc, mask, executing):
    """BRA, EXIT, BAR, TRAP and the like for the current entry, which is left at its next pc. False: a
    fault."""
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
        return exit_lanes(m, w, e, pc, executing)
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
    """Run a warp until it has had its slice, waits, or has exited. A fault or the end of the budget sets
    STATUS."""
    code, S, G = m.code, m.state, m.geometry
    R, P, E, warp = m.registers[w], m.predicates[w], m.entries[w], m.warps[w]
    bytes_, words, buffers, T = m.bytes, m.words, m.buffers, m.work
    dynamic, values, lines = m.dynamic, m.values, m.lines
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
                if not memory(code, pc, R, executing, w, bytes_, words, buffers, G, S, T):
                    S[STATUS], S[FAULT_WARP], S[FAULT_PC] = FAULTED, w, pc
                    break
            else:
                p0, p1 = compute(code, pc, R, P, executing, w, G, S[CTA], warp[CLOCK])
            write_back(code, pc, R, P, executing, p0, p1)
        if tracing:
            record(pc, executing, code, R, S, T, dynamic, values, lines)
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

"""CTA barriers. Lanes arrive one by one; a warp has arrived when all its lanes that have not exited have."""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.bits import popcount
from warpbank.program.emulator.layout import (
    AUX,
    B_AND,
    B_COUNT,
    B_OR,
    B_THREADS,
    BARRIERS,
    COUNT,
    DESTINATION,
    E_BARRIER,
    E_BARRIER_PC,
    E_MASK,
    E_USED,
    E_VALUE,
    EXITED,
    LIVE,
    PENDING,
    PHASE,
    PREDICATE,
    RUNNING,
    TOP,
    TRACING,
    WAITING,
)


@jit
def reset_barrier(m, b):
    """Reset a barrier: nobody is there."""
    m.barriers[b, B_THREADS], m.barriers[b, B_COUNT], m.barriers[b, B_AND], m.barriers[b, B_OR] = 0, 0, 1, 0
    for w in range(m.warps.shape[0]):
        m.arrived[w, b] = 0
        m.complete[w, b] = 0


@jit
def arrive(m, w, b, lanes, threads, query, mode):
    """Arrival of lanes of warp w at barrier b; `query` is the predicate of bar.red."""
    m.arrived[w, b] |= lanes
    m.warps[w, PENDING] |= np.int64(1) << b
    if threads > 0:
        m.barriers[b, B_THREADS] = threads
    if mode >= 2:
        m.barriers[b, B_COUNT] += popcount(query & lanes)
        m.barriers[b, B_AND] &= np.int64((query & lanes) == lanes)
        m.barriers[b, B_OR] |= np.int64((query & lanes) != 0)


@jit
def deliver(m, w, e, b):
    """Delivery of bar.red's result to the lanes of an entry that waited for it, and into the trace."""
    pc, lanes = m.entries[w, e, E_BARRIER_PC], m.entries[w, e, E_MASK]
    mode = m.code[pc, AUX]
    if mode == 2:
        result = m.barriers[b, B_COUNT]
        if m.code[pc, COUNT]:
            for i in range(32):
                if (lanes >> i) & 1:
                    m.registers[w, m.code[pc, DESTINATION], i] = result
                    if m.state[TRACING]:
                        m.values[m.entries[w, e, E_VALUE], i] = result
    elif mode > 2:
        result = m.barriers[b, B_AND] if mode == 3 else m.barriers[b, B_OR]
        p = m.code[pc, PREDICATE]
        m.predicates[w, p] = m.predicates[w, p] & ~lanes | (lanes if result else np.int64(0))


@jit
def open_if_complete(m, b):
    """Open barrier b if all who must have arrived; returns whether it opened."""
    warps = m.warps.shape[0]
    count = np.int64(0)
    everyone = True
    for w in range(warps):
        count += m.complete[w, b]
        if m.warps[w, PHASE] != EXITED and not m.complete[w, b]:
            everyone = False
    if count == 0:
        return False
    threads = m.barriers[b, B_THREADS]
    if (threads > 0 and 32 * count < threads) or (threads == 0 and not everyone):
        return False
    for w in range(warps):
        for e in range(m.warps[w, TOP]):
            if m.entries[w, e, E_USED] and m.entries[w, e, E_BARRIER] == b:
                deliver(m, w, e, b)
                m.entries[w, e, E_BARRIER] = -1
                if m.warps[w, PHASE] == WAITING:
                    m.warps[w, PHASE] = RUNNING
        m.warps[w, PENDING] &= ~(np.int64(1) << b)
    reset_barrier(m, b)
    return True


@jit
def completed(m, w):
    """Barrier at which warp w has just arrived as a whole; -1: none."""
    if m.warps[w, PENDING] == 0 or m.warps[w, LIVE] == 0:
        return np.int64(-1)
    for b in range(BARRIERS):
        here = m.arrived[w, b]
        if here != 0 and not m.complete[w, b] and m.warps[w, LIVE] & ~here == 0:
            m.complete[w, b] = 1
            return np.int64(b)
    return np.int64(-1)

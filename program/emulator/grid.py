"""Grid execution: CTAs one after the other, the warps of a CTA in turns, a slice each, so one may wait for
another's store."""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator.barrier import reset_barrier
from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.layout import (
    BARRIERS,
    CTA,
    CURRENT,
    DEADLOCK,
    DONE,
    E_BARRIER,
    E_CHILDREN,
    E_MASK,
    E_MEET,
    E_PARENT,
    E_PC,
    E_USED,
    EXISTS,
    EXITED,
    FIRST,
    FIRST_PREDICATE,
    G_LOCAL_AT,
    G_LOCAL_BYTES,
    G_ROWS,
    G_SHARED_AT,
    G_SHARED_BYTES,
    G_THREADS,
    LAST_CTA,
    LINES,
    LIVE,
    MAX_LINES,
    NEEDS_ROOM,
    PHASE,
    ROWS,
    RUNNING,
    SEGMENTS,
    SLICE,
    STARTED,
    STATUS,
    TOP,
    TRACING,
    TURN,
    VALUES,
    WARP_WORDS,
)
from warpbank.program.emulator.warp import run_warp


@jit
def start_cta(m):
    """Start of a CTA: registers, shared and local memory zero, every warp at pc 0."""
    G, S = m.geometry, m.state
    warps = m.warps.shape[0]
    m.registers[:, FIRST : G[G_ROWS], :] = np.uint32(0)
    m.predicates[:, FIRST_PREDICATE:] = 0
    m.bytes[G[G_SHARED_AT] : G[G_SHARED_AT] + G[G_SHARED_BYTES]] = np.uint8(0)
    m.bytes[G[G_LOCAL_AT] : G[G_LOCAL_AT] + warps * ((G[G_LOCAL_BYTES] + 3) >> 2) * 128] = np.uint8(0)
    for w in range(warps):
        threads = min(G[G_THREADS] - 32 * w, np.int64(32))
        lanes = (np.int64(1) << threads) - 1
        for k in range(WARP_WORDS):
            m.warps[w, k] = 0
        m.warps[w, LIVE], m.warps[w, EXISTS], m.warps[w, TOP], m.warps[w, CURRENT] = lanes, lanes, 1, 0
        root = m.entries[w, 0]
        root[E_PC], root[E_MASK], root[E_MEET], root[E_PARENT] = 0, lanes, -1, -1
        root[E_CHILDREN], root[E_BARRIER], root[E_USED] = 0, -1, 1
    for b in range(BARRIERS):
        reset_barrier(m, b)
    S[TURN], S[STARTED] = 0, 1


@jit
def has_room(m):
    """Whether the trace arrays can take a whole slice."""
    S = m.state
    return (
        S[ROWS] + SLICE <= m.dynamic.shape[0]
        and S[VALUES] + 4 * SLICE <= m.values.shape[0]
        and S[LINES] + MAX_LINES * SLICE <= m.lines.shape[0]
        and S[SEGMENTS] < m.segments.shape[0]
    )


@jit
def run_grid(m):
    """Run until the grid is done or STATUS says what is needed from outside. Call again to go on."""
    S = m.state
    S[STATUS] = DONE
    warps = m.warps.shape[0]
    while S[CTA] < S[LAST_CTA]:
        if not S[STARTED]:
            start_cta(m)
        idle = 0
        while idle < warps:
            w = S[TURN]
            if m.warps[w, PHASE] == RUNNING:
                if S[TRACING] and not has_room(m):
                    S[STATUS] = NEEDS_ROOM
                    return
                idle = 0
                run_warp(m, w)
                if S[STATUS] != DONE:
                    return
            else:
                idle += 1
            S[TURN] = w + 1 if w + 1 < warps else 0
        for w in range(warps):
            if m.warps[w, PHASE] != EXITED:
                S[STATUS] = DEADLOCK
                return
        S[CTA] += 1
        S[STARTED] = 0

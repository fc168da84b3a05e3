"""Cross-lane instructions: shuffles, votes, matches, reductions."""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.integer import signed
from warpbank.program.emulator.layout import OUT
from warpbank.program.isa import Atomic, DType, Op, Shuffle, Vote


@jit
def shuffle(mode, R, a, b, c):
    """SHFL: returns the lanes whose source lane is in range. A source lane that does not execute gives its
    register as it is."""
    in_range = np.int64(0)
    for lane in range(32):
        amount = np.int64(R[b, lane]) & 31
        clamp = np.int64(R[c, lane]) & 31
        segment = (np.int64(R[c, lane]) >> 8) & 31
        top = (lane & segment) | (clamp & ~segment & 31)
        if mode == Shuffle.UP:
            source = lane - amount
            valid = source >= top
        elif mode == Shuffle.DOWN:
            source = lane + amount
            valid = source <= top
        elif mode == Shuffle.BFLY:
            source = lane ^ amount
            valid = source <= top
        else:
            source = (lane & segment) | (amount & ~segment & 31)
            valid = source <= top
        if valid:
            in_range |= np.int64(1) << lane
        else:
            source = np.int64(lane)
        R[OUT, lane] = R[a, source]
    return in_range


@jit
def vote(mode, R, query, mask):
    """VOTE: the answer for every lane, as a mask of all or none."""
    yes = query & mask
    if mode == Vote.BALLOT:
        for i in range(32):
            R[OUT, i] = yes
        return np.int64(0)
    if mode == Vote.ALL:
        result = yes == mask
    elif mode == Vote.ANY:
        result = yes != 0
    else:
        result = yes == mask or yes == 0
    return np.int64(0xFFFFFFFF) if result else np.int64(0)


@jit
def match(dtype, everyone, R, a, mask):
    """MATCH: returns the mask of all or none that match.all answers."""
    wide = dtype == DType.U64 or dtype == DType.S64
    all_same = True
    for i in range(32):
        same = np.int64(0)
        if (mask >> i) & 1:
            for j in range(32):
                if (mask >> j) & 1 and R[a, i] == R[a, j] and (not wide or R[a + 1, i] == R[a + 1, j]):
                    same |= np.int64(1) << j
            if same != mask:
                all_same = False
        R[OUT, i] = same
    if everyone:
        for i in range(32):
            R[OUT, i] = mask if all_same else 0
    return np.int64(0xFFFFFFFF) if all_same else np.int64(0)


@jit
def reduce(which, dtype, R, a, mask):
    """REDUX."""
    is_signed = dtype == DType.S32
    result, started = np.int64(0), False
    for i in range(32):
        if (mask >> i) & 1 == 0:
            continue
        x = signed(R[a, i]) if is_signed else np.int64(R[a, i])
        if not started:
            result, started = x, True
        elif which == Atomic.ADD:
            result += x
        elif which == Atomic.MIN:
            result = min(result, x)
        elif which == Atomic.MAX:
            result = max(result, x)
        elif which == Atomic.AND:
            result &= x
        elif which == Atomic.OR:
            result |= x
        else:
            result ^= x
    for i in range(32):
        R[OUT, i] = result & 0xFFFFFFFF


@jit
def crosslane(op, dtype, aux, R, a, b, c, query, mask):
    """SHFL, VOTE, MATCH, ACTIVEMASK, REDUX; returns the predicate result."""
    if op == Op.SHFL:
        return shuffle(aux, R, a, b, c)
    if op == Op.VOTE:
        return vote(aux, R, query, mask)
    if op == Op.MATCH:
        return match(dtype, aux & 1, R, a, mask)
    if op == Op.REDUX:
        reduce(aux, dtype, R, a, mask)
        return np.int64(0)
    for i in range(32):
        R[OUT, i] = mask
    return np.int64(0)

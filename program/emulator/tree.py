"""Divergence tree: a warp's lanes as a tree of entries.

An entry is a set of lanes at one pc. A branch on which lanes part makes the entry wait, at the pc where they
meet again, for two (or one) new entries below it; an entry that reaches its own meeting pc ends, and its
parent goes on when the last entry below it has ended. Entries without children can run. Normally the newest
does, and the tree is the classic SIMT stack; but if it blocks at a CTA barrier the others run on, so that
every lane can arrive. If all that could run is blocked, lanes that wait at a meeting pc for blocked ones go
on without them: a barrier that half a warp has reached must not wait for the other half's waiting for it.
"""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.layout import (
    CURRENT,
    E_BARRIER,
    E_CHILDREN,
    E_MASK,
    E_MEET,
    E_PARENT,
    E_PC,
    E_USED,
    ENTRIES,
    LIVE,
    TOP,
)


@jit
def new_entry(E, warp, pc, mask, meet, parent):
    """New entry above all others; -1 if the tree is full."""
    at = warp[TOP]
    if at < ENTRIES:
        warp[TOP] += 1
    else:
        at = np.int64(-1)
        for i in range(ENTRIES):
            if not E[i, E_USED]:
                at = np.int64(i)
                break
        if at < 0:
            return at
    E[at, E_PC], E[at, E_MASK], E[at, E_MEET], E[at, E_PARENT] = pc, mask, meet, parent
    E[at, E_CHILDREN], E[at, E_BARRIER], E[at, E_USED] = 0, -1, 1
    if parent >= 0:
        E[parent, E_CHILDREN] += 1
    return at


@jit
def end_entry(E, warp, at):
    """End of an entry whose lanes have met their parent or exited. Parents left without lanes end too."""
    while at >= 0:
        E[at, E_USED] = 0
        parent = E[at, E_PARENT]
        if parent < 0:
            return
        E[parent, E_CHILDREN] -= 1
        if E[parent, E_CHILDREN] > 0:
            return
        E[parent, E_MASK] &= warp[LIVE]
        if E[parent, E_MASK] != 0:
            return
        at = parent


@jit
def choose(E, warp):
    """Choose the newest entry that can run as the current one; -1 if none can."""
    warp[CURRENT] = -1
    while warp[TOP] > 0 and not E[warp[TOP] - 1, E_USED]:
        warp[TOP] -= 1
    i = warp[TOP] - 1
    while i >= 0:
        if E[i, E_USED] and E[i, E_CHILDREN] == 0 and E[i, E_BARRIER] < 0:
            if E[i, E_PC] != E[i, E_MEET]:
                warp[CURRENT] = i
                return
            end_entry(E, warp, i)
            i = warp[TOP]  # its parent may be newer than others that can run: look again from the top
        i -= 1
    if release(E, warp):
        warp[CURRENT] = warp[TOP] - 1


@jit
def release(E, warp):
    """Release of waiting lanes when no entry can run: those at the newest meeting pc go on as an entry on
    top; False: no lanes wait at any."""
    for i in range(warp[TOP] - 1, -1, -1):
        if not E[i, E_USED] or E[i, E_CHILDREN] == 0:
            continue
        waiting = E[i, E_MASK] & warp[LIVE]
        for k in range(warp[TOP]):
            if E[k, E_USED] and E[k, E_PARENT] == i:
                waiting &= ~E[k, E_MASK]
        if waiting == 0:
            continue
        if warp[TOP] >= ENTRIES:
            return False
        new_entry(E, warp, E[i, E_PC], waiting, E[i, E_MEET], E[i, E_PARENT])
        E[i, E_MASK] &= ~waiting
        return True
    return False


@jit
def part(E, warp, at, taken, target, following, meet):
    """Split of the current entry: lanes `taken` go to `target`, the others on to `following`; False: the tree
    is full."""
    others = E[at, E_MASK] & ~taken
    parent = at
    if meet < 0:
        meet = E[at, E_MEET]
    if meet == E[at, E_MEET]:
        # They meet where this entry meets its parent: the halves take its place. This keeps loops from
        # growing the tree.
        parent = E[at, E_PARENT]
        if following == meet and meet >= 0:
            E[at, E_PC], E[at, E_MASK] = target, taken
            return True
        E[at, E_PC], E[at, E_MASK] = following, others
        return target == meet or new_entry(E, warp, target, taken, meet, parent) >= 0
    E[at, E_PC] = meet
    if following != meet and new_entry(E, warp, following, others, meet, parent) < 0:
        return False
    return target == meet or new_entry(E, warp, target, taken, meet, parent) >= 0

"""Scan of a trace that all statistics of values come from: compiled, one warp after the other, with its
registers."""

from __future__ import annotations

import numpy as np

from warpbank.program.loops import loop
from warpbank.program.similarity.instructions import ALU, NONE, SFU

#: Lanes that scalar execution of a part of a warp takes together.
PART = 16
_DIVERGENT = 5


@loop
def _alike(value, mask):
    """Of 64 lanes, those of `mask`: how many leading bytes are equal, and per part of 16 lanes whether it is
    scalar (bit)."""
    parts, difference, base, started = 0, np.uint32(0), np.uint32(0), False
    for part in range(value.size // PART):
        lanes = mask >> np.uint64(PART * part) & np.uint64(0xFFFF)
        own, mine, has = np.uint32(0), np.uint32(0), False
        for lane in range(PART):
            if lanes >> np.uint64(lane) & np.uint64(1):
                if not has:
                    own, has = value[PART * part + lane], True
                mine |= value[PART * part + lane] ^ own
        if has:
            if not started:
                base, started = own, True
            difference |= mine | (own ^ base)
            if mine == 0:
                parts |= 1 << part
    return _leading(difference), parts


@loop
def _leading(difference):
    """Bytes in front that do not differ."""
    if difference == 0:
        return 4
    if difference < 1 << 8:
        return 3
    if difference < 1 << 16:
        return 2
    return 1 if difference < 1 << 24 else 0


@loop
def _delta(value, mask):
    """Bytes that the signed differences from the first lane of `mask` need, 0 to 2; 4: more."""
    need, base, started = 0, np.int64(0), False
    for lane in range(value.size):
        if mask >> np.uint64(lane) & np.uint64(1):
            if not started:
                base, started = np.int64(value[lane]), True
            delta = ((np.int64(value[lane]) - base + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
            if not -(1 << 15) <= delta < 1 << 15:
                return 4
            if not -(1 << 7) <= delta < 1 << 7:
                need = 2
            elif delta != 0:
                need = max(need, 1)
    return need


@loop
def _lanes(mask):
    found = 0
    while mask:
        mask &= mask - np.uint64(1)
        found += 1
    return found


@loop
def _store(value, mask, existing, stored):
    """Add the bytes of one written register."""
    plain = 4 * _lanes(existing)
    stored[0] += plain
    if mask != existing:
        stored[1:] += plain
        return
    alike = _alike(value, existing)[0]
    stored[1] += plain if alike == 0 else alike + (4 - alike) * _lanes(existing)
    for part in range(value.size // PART):
        own = existing & np.uint64(0xFFFF) << np.uint64(PART * part)
        if own:
            alike = _alike(value, own)[0]
            stored[2] += 4 * _lanes(own) if alike == 0 else alike + (4 - alike) * _lanes(own)
    delta = _delta(value, existing)
    stored[3] += plain if delta == 4 else 4 + delta * _lanes(existing)


@loop
def _known(note, mask, existing):
    """What the hardware knows of an operand for the lanes `mask`: whether it is scalar, and of each part
    (bits).

    note: lanes of the last write, 1 if they were equal, equal parts; 1 if it is compressed.
    """
    if note[0] == existing:
        return note[1] != 0, np.int64(note[2] if mask == existing else 0)
    return note[1] != 0 and note[0] == mask, np.int64(0)


@loop
def scan(made, executed, static, results):
    """Execute the steps of all warps and count.

    made : `Steps.rows`, `.first`, `.existing`.
    executed : of `Trace.dynamic`: pc, lanes that come, lanes that run, first row of values; the values.
    static : of `Trace.code`: sources and their count, first result and their count; class and predicate
        operands (`Instructions`); predicates written.
    results : arrays to count into: instructions (all, idle, divergent, scalar without operands) and moves;
        (by values, by hardware) x `Eligible`; (reads, writes) x `CLASSES`; `Sizes`.
    """
    rows, first, warps = made
    pcs, active, masks, value_rows, all_values = executed
    sources, source_count, destination, count, kinds, predicates_read, predicates_written = static
    counts, eligible, accesses, stored = results
    value = np.zeros((256, 64), np.uint32)
    notes = np.zeros((256, 4), np.uint64)
    tests = np.zeros(
        (8, 3), np.uint64
    )  # of predicates: lanes of the last write, 1 if they are the same in them, equal parts
    for w in range(len(warps)):
        value[:] = 0
        notes[:] = 0
        tests[:] = 0
        existing = warps[w]
        every = np.int64(0)  # parts that have lanes
        for part in range(4):
            if existing >> np.uint64(PART * part) & np.uint64(0xFFFF):
                every |= np.int64(1 << part)
        for step in range(first[w], first[w + 1]):
            lanes, mask = np.uint64(0), np.uint64(0)
            for half in range(2):
                row = rows[step, half]
                if row >= 0:
                    pc = pcs[row]
                    lanes |= np.uint64(active[row]) << np.uint64(32 * half)
                    mask |= np.uint64(masks[row]) << np.uint64(32 * half)
            counts[0] += 1
            if lanes == 0:
                counts[1] += 1
                continue
            divergent = lanes != existing
            counts[2] += divergent
            if mask == 0:
                continue
            # What one lane could do: decided by the values, by the hardware.
            scalar_values, scalar_known = True, True
            parts_values, parts_known = every, every
            for k in range(source_count[pc]):
                r = sources[pc, k]
                alike, parts = _alike(value[r], mask)
                scalar_values &= alike == 4
                parts_values &= parts
                scalar, parts = _known(notes[r], mask, existing)
                scalar_known &= scalar
                parts_known &= parts
                accesses[0, _DIVERGENT if divergent else alike] += 1
            for p in range(7):
                if predicates_read[pc] >> p & 1:
                    inside = mask & ~tests[p, 0] == 0
                    scalar_values &= inside and tests[p, 1] != 0
                    parts_values = parts_values & np.int64(tests[p, 2]) if inside else np.int64(0)
                    scalar_known, parts_known = False, np.int64(0)
            kind = kinds[pc]
            if kind != NONE:
                counts[3] += scalar_values and source_count[pc] == 0
                for how in range(2):
                    scalar, parts = (scalar_known, parts_known) if how else (scalar_values, parts_values)
                    if divergent:
                        eligible[how, 4] += scalar
                    elif scalar:
                        eligible[how, 0 if kind == ALU else 1 if kind == SFU else 2] += 1
                    elif parts:
                        eligible[how, 3] += 1
            for k in range(count[pc]):
                r = destination[pc] + k
                for half in range(2):
                    row = rows[step, half]
                    if row >= 0:
                        for lane in range(32):
                            if masks[row] >> lane & 1:
                                value[r, 32 * half + lane] = all_values[value_rows[row] + k, lane]
                alike, parts = _alike(value[r], mask)
                counts[4] += mask != existing and notes[r, 3] != 0
                notes[r, 0], notes[r, 1], notes[r, 2] = mask, np.uint64(alike == 4), np.uint64(parts)
                notes[r, 3] = np.uint64(mask == existing and alike > 0)
                accesses[1, _DIVERGENT if divergent else alike] += 1
                _store(value[r], mask, existing, stored)
            for p in range(7):
                if predicates_written[pc] >> p & 1:
                    known = kind != NONE
                    tests[p, 0], tests[p, 1] = mask, np.uint64(scalar_values and known)
                    tests[p, 2] = np.uint64(parts_values if known else 0)

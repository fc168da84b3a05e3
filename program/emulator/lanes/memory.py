"""Memory instructions: loads, stores and atomics. All memory is one byte array; `locate` turns the lanes'
addresses into places in it.

Global memory stands first (place = address - GLOBAL_BASE), then the constant bank, shared and local memory.
Local memory is interleaved: the same word of the 32 lanes is 128 consecutive bytes, so a lane's next word is
128 bytes on.
"""

from __future__ import annotations

import numpy as np

from warpbank.arch.uop import LINE_MASK, LINE_WIDTH
from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.bits import f32, f64, i64, u32
from warpbank.program.emulator.lanes.floating import flush, smaller
from warpbank.program.emulator.lanes.integer import pair
from warpbank.program.emulator.lanes.softfloat import NAN32, nan64, narrow, rounded, widen
from warpbank.program.emulator.layout import AUX as AUX_COLUMN
from warpbank.program.emulator.layout import (
    BAD_SPACE,
    DTYPE,
    FAULT,
    FAULT_ADDRESS,
    FAULT_LANE,
    FAULT_SPACE,
    G_BUFFERS,
    G_CONST_AT,
    G_CONST_BYTES,
    G_FIRST_WARP,
    G_LOCAL_AT,
    G_LOCAL_BYTES,
    G_SHARED_AT,
    G_SHARED_BYTES,
    G_WARPS,
    LOCAL_LINES,
    MISALIGNED,
    OFFSET,
    OP,
    OUT,
    OUT_OF_BOUNDS,
    SIZE,
    SOURCE,
    SPACE,
    WIDE,
)
from warpbank.program.emulator.layout import CTA as CTA_WORD
from warpbank.program.isa import (
    CONST_WINDOW,
    GLOBAL_BASE,
    LOCAL_WINDOW,
    SHARED_WINDOW,
    WINDOW_SIZE,
    Atomic,
    DType,
    Op,
    Space,
)

# Working rows shared by the functions below.
PLACE = 0  # byte in the memory array, per lane
KIND = 1  # Space of each lane's access
LINE = 2  # line number of each lane's first byte
USED = 3  # distinct words seen, per bank
WORDS = 4  # the words themselves: 32 rows, one per bank
SECTOR = 36  # sector of its line that each lane touches
WORK_ROWS = 37

_NUMBER = np.uint64(LINE_MASK)  # of a line, without the mask of its sectors
_SECTORS = np.uint64(LINE_WIDTH)  # place of that mask


@jit
def find_buffer(B, count, address):
    """Last buffer that starts at or below the address; -1: none."""
    low, high = np.int64(0), count
    while low < high:
        middle = (low + high) >> 1
        if B[middle, 0] <= address:
            low = middle + 1
        else:
            high = middle
    return low - 1


@jit
def fault(S, kind, lane, address, space):
    """Record of a memory fault in the status words."""
    S[FAULT], S[FAULT_LANE], S[FAULT_ADDRESS], S[FAULT_SPACE] = kind, lane, address, space
    return False


@jit
def locate(code, pc, R, mask, w, B, G, S, T):
    """Fill the working rows for every lane of the mask; False: a fault was noted."""
    row, size, offset, wide = code[pc, SOURCE], code[pc, SIZE], code[pc, OFFSET], code[pc, WIDE]
    declared = code[pc, SPACE]
    buffer, first, last = np.int64(-1), np.int64(1), np.int64(0)
    local_words = (G[G_LOCAL_BYTES] + 3) >> 2
    for i in range(32):
        if (mask >> i) & 1 == 0:
            continue
        if wide:
            address = pair(R, row, i) + offset
        else:
            address = (np.int64(R[row, i]) + offset) & 0xFFFFFFFF
        space, at = declared, address
        if declared == Space.GENERIC:
            space = np.int64(Space.GLOBAL)
            if SHARED_WINDOW <= address < SHARED_WINDOW + WINDOW_SIZE:
                space, at = np.int64(Space.SHARED), address - SHARED_WINDOW
            elif LOCAL_WINDOW <= address < LOCAL_WINDOW + WINDOW_SIZE:
                space, at = np.int64(Space.LOCAL), address - LOCAL_WINDOW
            elif CONST_WINDOW <= address < CONST_WINDOW + WINDOW_SIZE:
                space, at = np.int64(Space.CONST), address - CONST_WINDOW
        if at & (size - 1):
            return fault(S, MISALIGNED, i, at, space)
        if space == Space.GLOBAL:
            if at < first or at > last - size:
                buffer = find_buffer(B, G[G_BUFFERS], at)
                if buffer < 0 or at > B[buffer, 1] - size:
                    return fault(S, OUT_OF_BOUNDS, i, at, space)
                first, last = B[buffer, 0], B[buffer, 1]
            T[PLACE, i] = at - GLOBAL_BASE
            T[LINE, i] = at >> 7
            T[SECTOR, i] = (at >> 5) & 3
        elif space == Space.SHARED:
            if at < 0 or at > G[G_SHARED_BYTES] - size:
                return fault(S, OUT_OF_BOUNDS, i, at, space)
            T[PLACE, i] = G[G_SHARED_AT] + at
            T[LINE, i] = at >> 2  # the word, for bank conflicts
        elif space == Space.LOCAL:
            if at < 0 or at > G[G_LOCAL_BYTES] - size:
                return fault(S, OUT_OF_BOUNDS, i, at, space)
            T[PLACE, i] = G[G_LOCAL_AT] + ((w * local_words + (at >> 2)) * 32 + i) * 4 + (at & 3)
            warp = G[G_FIRST_WARP] + S[CTA_WORD] * G[G_WARPS] + w
            T[LINE, i] = LOCAL_LINES + warp * local_words + (at >> 2)
            T[SECTOR, i] = i >> 3  # a word of eight lanes
        else:
            if code[pc, OP] != Op.LD:
                return fault(S, BAD_SPACE, i, at, space)
            if at < 0 or at > G[G_CONST_BYTES] - size:
                return fault(S, OUT_OF_BOUNDS, i, at, space)
            T[PLACE, i] = G[G_CONST_AT] + at
        if code[pc, OP] == Op.ATOM and space == Space.LOCAL:
            return fault(S, BAD_SPACE, i, at, space)
        T[KIND, i] = space
    return True


@jit
def extended(M8, at, size, dtype):
    """A sub-word load as 32 bits."""
    x = np.int64(M8[at])
    if size == 2:
        x |= np.int64(M8[at + 1]) << 8
    if dtype == DType.S8 and x & 0x80:
        x |= 0xFFFFFF00
    elif dtype == DType.S16 and x & 0x8000:
        x |= 0xFFFF0000
    return x


@jit
def load(size, dtype, R, mask, M8, M32, T):
    """LD from the places in T."""
    for i in range(32):
        if (mask >> i) & 1:
            at = T[PLACE, i]
            if size == 4:
                R[OUT, i] = M32[at >> 2]
            elif size < 4:
                R[OUT, i] = extended(M8, at, size, dtype)
            else:
                step = 32 if T[KIND, i] == Space.LOCAL else 1
                for k in range(size >> 2):
                    R[OUT + k, i] = M32[(at >> 2) + k * step]


@jit
def store(size, row, R, mask, M8, M32, T):
    """ST to the places in T, in lane order: the highest lane wins."""
    for i in range(32):
        if (mask >> i) & 1:
            at = T[PLACE, i]
            if size == 4:
                M32[at >> 2] = R[row, i]
            elif size < 4:
                for k in range(size):
                    M8[at + k] = (R[row, i] >> np.uint32(8 * k)) & np.uint32(0xFF)
            else:
                step = 32 if T[KIND, i] == Space.LOCAL else 1
                for k in range(size >> 2):
                    M32[(at >> 2) + k * step] = R[row + k, i]


@jit
def combine_float(which, dtype, old, operand, flushing):
    """ADD, MIN, MAX on bits of one float."""
    if dtype == DType.F64:
        x, y = f64(old), f64(operand)
        z = x + y if which == Atomic.ADD else smaller(x, y, which == Atomic.MIN, 0)
        return i64(z) if z == z else nan64(Op.FADD, old, operand, operand)
    if dtype == DType.F32:
        if which == Atomic.ADD:
            if flushing:
                old, operand = flush(old, dtype), flush(operand, dtype)
            s = f32(old) + f32(operand)
            bits = np.int64(u32(s)) if s == s else np.int64(NAN32)
            return flush(bits, dtype) if flushing else bits
        t = smaller(np.float64(f32(old)), np.float64(f32(operand)), which == Atomic.MIN, 0)
        return np.int64(u32(np.float32(t))) if t == t else np.int64(NAN32)
    x, y = widen(old, dtype), widen(operand, dtype)
    if which == Atomic.ADD:
        return rounded(Op.FADD, dtype, 0, x, y, 0.0)
    return narrow(smaller(x, y, which == Atomic.MIN, 0), dtype, 0)


@jit
def combine(which, dtype, bits, old, operand, new, flushing):
    """New memory word of an atomic operation. 32-bit operands come zero-extended."""
    if which == Atomic.EXCH:
        return operand
    if which == Atomic.CAS:
        return new if old == operand else old
    if which == Atomic.AND:
        return old & operand
    if which == Atomic.OR:
        return old | operand
    if which == Atomic.XOR:
        return old ^ operand
    if which == Atomic.INC:
        return np.int64(0) if np.uint64(old) >= np.uint64(operand) else old + 1
    if which == Atomic.DEC:
        return operand if old == 0 or np.uint64(old) > np.uint64(operand) else old - 1
    if dtype == DType.F16X2 or dtype == DType.BF16X2:
        low = combine_float(which, dtype, old & 0xFFFF, operand & 0xFFFF, False)
        return low | (
            combine_float(which, dtype, (old >> 16) & 0xFFFF, (operand >> 16) & 0xFFFF, False) << 16
        )
    if dtype >= DType.F16:
        return combine_float(which, dtype, old, operand, flushing)
    if which == Atomic.ADD:
        return old + operand
    if dtype == DType.S32:
        less = np.int32(old) < np.int32(operand)
    elif dtype == DType.S64:
        less = old < operand
    else:
        less = np.uint64(old) < np.uint64(operand)
    return old if less == (which == Atomic.MIN) else operand


@jit
def atomic(which, dtype, size, operand_row, new_row, R, mask, M8, M32, T):
    """ATOM at the places in T, lane after lane."""
    for i in range(32):
        if (mask >> i) & 1 == 0:
            continue
        at = T[PLACE, i]
        word = at >> 2
        # PTX: f32 additions flush subnormals in global memory, not in shared memory.
        flushing = T[KIND, i] == Space.GLOBAL
        if size == 8:
            old = np.int64(M32[word]) | (np.int64(M32[word + 1]) << 32)
            result = combine(which, dtype, 64, old, pair(R, operand_row, i), pair(R, new_row, i), flushing)
            M32[word + 1] = (result >> 32) & 0xFFFFFFFF
            R[OUT + 1, i] = (old >> 32) & 0xFFFFFFFF
            M32[word] = result & 0xFFFFFFFF
        elif size == 4:
            old = np.int64(M32[word])
            result = combine(
                which, dtype, 32, old, np.int64(R[operand_row, i]), np.int64(R[new_row, i]), flushing
            )
            M32[word] = result & 0xFFFFFFFF
        else:
            old = np.int64(M8[at]) | (np.int64(M8[at + 1]) << 8)
            operand, new = np.int64(R[operand_row, i]) & 0xFFFF, np.int64(R[new_row, i]) & 0xFFFF
            result = combine(which, dtype, 16, old, operand, new, False)
            M8[at] = result & 0xFF
            M8[at + 1] = (result >> 8) & 0xFF
        R[OUT, i] = old & 0xFFFFFFFF


@jit
def memory(code, pc, R, mask, w, M8, M32, B, G, S, T):
    """LD, ST or ATOM; False: a fault was noted and nothing done."""
    if not locate(code, pc, R, mask, w, B, G, S, T):
        return False
    op, size, dtype = code[pc, OP], code[pc, SIZE], code[pc, DTYPE]
    if op == Op.LD:
        load(size, dtype, R, mask, M8, M32, T)
    elif op == Op.ST:
        store(size, code[pc, SOURCE + 1], R, mask, M8, M32, T)
    else:
        atomic(
            code[pc, AUX_COLUMN], dtype, size, code[pc, SOURCE + 1], code[pc, SOURCE + 2], R, mask, M8, M32, T
        )
    return True


@jit
def lines_touched(size, mask, T, lines, at):
    """Append the distinct lines of global and local lanes in order of first touch, each with the mask of the
    sectors touched; returns how many. An access is aligned, so it lies in one sector."""
    count = np.int64(0)
    for i in range(32):
        if (mask >> i) & 1 == 0 or (T[KIND, i] != Space.GLOBAL and T[KIND, i] != Space.LOCAL):
            continue
        words = max(size >> 2, np.int64(1)) if T[KIND, i] == Space.LOCAL else np.int64(1)
        touched = np.uint64(1) << (_SECTORS + np.uint64(T[SECTOR, i]))
        for k in range(words):
            line = np.uint64(T[LINE, i] + k)
            known = False
            for j in range(at + count - 1, at - 1, -1):
                if lines[j] & _NUMBER == line:
                    lines[j] |= touched
                    known = True
                    break
            if not known:
                lines[at + count] = line | touched
                count += 1
    return count


@jit
def conflict_passes(size, mask, is_atomic, T):
    """Passes a shared access takes: 32 banks of 4 bytes; 8-byte accesses go by half warps, 16-byte ones by
    quarters.

    Lanes that want the same word of a bank share a pass, except in an atomic, which serves one lane at a
    time.
    """
    words = max(size >> 2, np.int64(1))
    lanes = 32 // words
    passes = np.int64(0)
    for start in range(0, 32, lanes):
        most = np.int64(0)
        for bank in range(32):
            T[USED, bank] = 0
        for i in range(start, start + lanes):
            if (mask >> i) & 1 == 0 or T[KIND, i] != Space.SHARED:
                continue
            for k in range(words):
                word = T[LINE, i] + k
                bank = word & 31
                used = T[USED, bank]
                known = False
                if not is_atomic:
                    for j in range(used):
                        if T[WORDS + bank, j] == word:
                            known = True
                            break
                if not known:
                    T[WORDS + bank, used] = word
                    T[USED, bank] = used + 1
                    most = max(most, used + 1)
        passes += most
    return passes

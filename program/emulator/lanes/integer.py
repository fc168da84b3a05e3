"""Integer arithmetic instructions."""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.layout import OUT
from warpbank.program.isa import DType, Op

_LOW = 0xFFFFFFFF


@jit
def signed(x):
    """The low 32 bits as a signed number."""
    return np.int64(np.int32(x))


@jit
def pair(R, row, i):
    """The 64 bits of a register pair, as a signed number."""
    return np.int64(R[row, i]) | (np.int64(R[row + 1, i]) << 32)


@jit
def put_pair(R, i, value):
    """Write of 64 bits into the result rows."""
    R[OUT, i] = value & 0xFFFFFFFF
    R[OUT + 1, i] = (value >> 32) & 0xFFFFFFFF


@jit
def divide(x, y, is_signed, remainder):
    """Quotient rounded to zero, or remainder, of 64-bit numbers. By zero: all ones, or x."""
    if y == 0:
        return x if remainder else np.int64(-1)
    if not is_signed:
        p, q = np.uint64(x), np.uint64(y)
        return np.int64(p % q) if remainder else np.int64(p // q)
    if y == -1:  # the one quotient that can overflow: it wraps
        return np.int64(0) if remainder else -x
    p = np.uint64(-x if x < 0 else x)
    q = np.uint64(-y if y < 0 else y)
    if remainder:
        r = np.int64(p % q)
        return -r if x < 0 else r
    d = np.int64(p // q)
    return -d if (x < 0) != (y < 0) else d


@jit
def add_with_carry(op, R, a, b, query):
    """The four additions and subtractions; returns the carry out of each lane."""
    invert = np.uint32(0xFFFFFFFF) if op == Op.ISUB or op == Op.ISUBC else np.uint32(0)
    if op == Op.IADD:
        query = np.int64(0)
    elif op == Op.ISUB:
        query = np.int64(0xFFFFFFFF)
    carries = np.int64(0)
    for i in range(32):
        total = np.int64(R[a, i]) + np.int64(R[b, i] ^ invert) + ((query >> i) & 1)
        R[OUT, i] = total & 0xFFFFFFFF
        carries |= (total >> 32) << i
    return carries


@jit
def integer(op, dtype, aux, R, a, b, c, query, want_carry):
    """IADD .. DP4A. Returns the carry mask of the additions if it is wanted."""
    is_signed = dtype == DType.S32 or dtype == DType.S64
    if op == Op.IADD:
        if want_carry:
            return add_with_carry(op, R, a, b, query)
        for i in range(32):
            R[OUT, i] = R[a, i] + R[b, i]
    elif op == Op.ISUB:
        if want_carry:
            return add_with_carry(op, R, a, b, query)
        for i in range(32):
            R[OUT, i] = R[a, i] - R[b, i]
    elif op == Op.IADDC or op == Op.ISUBC:
        return add_with_carry(op, R, a, b, query)
    elif op == Op.IMUL:
        for i in range(32):
            R[OUT, i] = R[a, i] * R[b, i]
    elif op == Op.IMAD:
        for i in range(32):
            R[OUT, i] = R[a, i] * R[b, i] + R[c, i]
    elif op == Op.IMULHI or op == Op.IMADHI:
        for i in range(32):
            if is_signed:
                high = (signed(R[a, i]) * signed(R[b, i])) >> 32
            else:
                high = (np.int64(R[a, i]) * np.int64(R[b, i])) >> 32
            if op == Op.IMADHI:
                high += np.int64(R[c, i])
            R[OUT, i] = high & 0xFFFFFFFF
    elif op == Op.IMULW or op == Op.IMADW:
        for i in range(32):
            if is_signed:
                product = signed(R[a, i]) * signed(R[b, i])
            else:
                product = np.int64(R[a, i]) * np.int64(R[b, i])
            if op == Op.IMADW:
                product += pair(R, c, i)
            put_pair(R, i, product)
    elif op == Op.IDIV or op == Op.IREM:
        for i in range(32):
            if dtype == DType.U64 or dtype == DType.S64:
                put_pair(R, i, divide(pair(R, a, i), pair(R, b, i), is_signed, op == Op.IREM))
            elif is_signed:
                R[OUT, i] = divide(signed(R[a, i]), signed(R[b, i]), True, op == Op.IREM) & 0xFFFFFFFF
            else:
                R[OUT, i] = divide(np.int64(R[a, i]), np.int64(R[b, i]), False, op == Op.IREM) & 0xFFFFFFFF
    elif op == Op.IMIN or op == Op.IMAX:
        flip = np.uint32(0x80000000) if is_signed else np.uint32(0)
        for i in range(32):
            first = (R[a, i] ^ flip) < (R[b, i] ^ flip)
            R[OUT, i] = R[a, i] if first == (op == Op.IMIN) else R[b, i]
    elif op == Op.IABS:
        for i in range(32):
            x = signed(R[a, i])
            R[OUT, i] = (-x if x < 0 else x) & 0xFFFFFFFF
    elif op == Op.SAD:
        for i in range(32):
            if is_signed:
                difference = signed(R[a, i]) - signed(R[b, i])
            else:
                difference = np.int64(R[a, i]) - np.int64(R[b, i])
            R[OUT, i] = ((-difference if difference < 0 else difference) + np.int64(R[c, i])) & 0xFFFFFFFF
    elif op == Op.DP4A:
        for i in range(32):
            total = np.int64(R[c, i])
            for k in range(4):
                x = (np.int64(R[a, i]) >> (8 * k)) & 0xFF
                y = (np.int64(R[b, i]) >> (8 * k)) & 0xFF
                if aux & 1 and x > 127:
                    x -= 256
                if aux & 2 and y > 127:
                    y -= 256
                total += x * y
            R[OUT, i] = total & 0xFFFFFFFF
    return np.int64(0)

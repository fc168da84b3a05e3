"""Comparisons and predicate logic: lane masks of results."""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.bits import f32, f64
from warpbank.program.emulator.lanes.integer import pair, signed
from warpbank.program.emulator.lanes.softfloat import widen
from warpbank.program.isa import BoolOp, Cmp, DType, Op


@jit
def holds(cmp, less, equal, unordered):
    """Whether a comparison with this outcome is true."""
    if unordered:
        return cmp >= Cmp.EQU and cmp != Cmp.NUM
    if cmp == Cmp.NAN:
        return False
    if cmp == Cmp.NUM:
        return True
    base = cmp - Cmp.EQU if cmp >= Cmp.EQU else cmp
    if base == Cmp.EQ:
        return equal
    if base == Cmp.NE:
        return not equal
    if base == Cmp.LT:
        return less
    if base == Cmp.LE:
        return less or equal
    if base == Cmp.GT:
        return not (less or equal)
    return not less


@jit
def compare_float(dtype, cmp, R, a, b):
    """Lanes in which a cmp b."""
    result = np.int64(0)
    for i in range(32):
        if dtype == DType.F32:
            x, y = np.float64(f32(R[a, i])), np.float64(f32(R[b, i]))
        elif dtype == DType.F64:
            x, y = f64(pair(R, a, i)), f64(pair(R, b, i))
        else:
            x, y = widen(np.int64(R[a, i]) & 0xFFFF, dtype), widen(np.int64(R[b, i]) & 0xFFFF, dtype)
        result |= np.int64(holds(cmp, x < y, x == y, x != x or y != y)) << i
    return result


@jit
def compare_integer(is_signed, cmp, R, a, b):
    """Lanes in which a cmp b. A mask each of less and equal lanes, in loops the compiler turns into vector
    instructions."""
    less, equal = np.int64(0), np.int64(0)
    flip = np.uint32(0x80000000) if is_signed else np.uint32(0)
    if cmp != Cmp.EQ and cmp != Cmp.NE:
        for i in range(32):
            less |= np.int64((R[a, i] ^ flip) < (R[b, i] ^ flip)) << i
    if cmp != Cmp.LT and cmp != Cmp.GE:
        for i in range(32):
            equal |= np.int64(R[a, i] == R[b, i]) << i
    if cmp == Cmp.EQ:
        return equal
    if cmp == Cmp.NE:
        return equal ^ 0xFFFFFFFF
    if cmp == Cmp.LT:
        return less
    if cmp == Cmp.LE:
        return less | equal
    if cmp == Cmp.GT:
        return (less | equal) ^ 0xFFFFFFFF
    return less ^ 0xFFFFFFFF


@jit
def compare_high(is_signed, cmp, R, a, b, low):
    """ISETPX: comparison of 64-bit numbers whose low words compared as `low`."""
    result = np.int64(0)
    for i in range(32):
        if is_signed:
            x, y = signed(R[a, i]), signed(R[b, i])
        else:
            x, y = np.int64(R[a, i]), np.int64(R[b, i])
        below = (low >> i) & 1 == 1
        if cmp == Cmp.EQ:
            result |= np.int64(x == y and below) << i
        elif cmp == Cmp.NE:
            result |= np.int64(x != y or below) << i
        elif cmp == Cmp.LT or cmp == Cmp.LE:
            result |= np.int64(x < y or (x == y and below)) << i
        else:
            result |= np.int64(x > y or (x == y and below)) << i
    return result


@jit
def combine(boolop, x, y):
    """Combination of two lane masks into one by AND, OR or XOR."""
    if boolop == BoolOp.AND:
        return x & y
    return x | y if boolop == BoolOp.OR else x ^ y


@jit
def truth_table(table, x, y, z):
    """PLOP: predicate logic by truth table."""
    result = np.int64(0)
    for k in range(8):
        if (table >> k) & 1:
            result |= (x if k & 4 else ~x) & (y if k & 2 else ~y) & (z if k & 1 else ~z)
    return result & 0xFFFFFFFF


@jit
def compare(op, dtype, cmp, boolop, R, a, b, q0, q1):
    """ISETP, ISETPX, FSETP: the two predicate results."""
    is_signed = dtype == DType.S32
    other = q0
    if op == Op.FSETP:
        result = compare_float(dtype, cmp, R, a, b)
    elif op == Op.ISETP:
        result = compare_integer(is_signed, cmp, R, a, b)
    else:
        result = compare_high(is_signed, cmp, R, a, b, q0)
        other = q1
    return combine(boolop, result, other), combine(boolop, result ^ 0xFFFFFFFF, other)

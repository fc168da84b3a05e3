"""Bit operations: shifts, fields, permutations and counts."""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.bits import leading_zeros, popcount, reverse
from warpbank.program.emulator.lanes.integer import signed
from warpbank.program.emulator.layout import OUT
from warpbank.program.isa import (
    SHF_LEFT_CLAMP,
    SHF_LEFT_HI64,
    SHF_LEFT_WRAP,
    SHF_RIGHT_CLAMP,
    SHF_RIGHT_WRAP,
    DType,
    Op,
)


@jit
def funnel(aux, dtype, low, high, amount):
    """SHF: a shift of the 64 bits {high, low}."""
    both = np.uint64(low) | (np.uint64(high) << np.uint64(32))
    clamped = min(amount, np.int64(32))
    if aux in (SHF_LEFT_WRAP, SHF_LEFT_CLAMP):
        n = amount & 31 if aux == SHF_LEFT_WRAP else clamped
        return np.int64((both << np.uint64(n)) >> np.uint64(32))
    if aux in (SHF_RIGHT_WRAP, SHF_RIGHT_CLAMP):
        n = amount & 31 if aux == SHF_RIGHT_WRAP else clamped
        return np.int64((both >> np.uint64(n)) & np.uint64(0xFFFFFFFF))
    if aux == SHF_LEFT_HI64:
        return np.int64((both << np.uint64(amount)) >> np.uint64(32)) if amount < 64 else np.int64(0)
    if dtype == DType.S32:
        return (np.int64(both) >> min(amount, np.int64(63))) & 0xFFFFFFFF
    return np.int64((both >> np.uint64(amount)) & np.uint64(0xFFFFFFFF)) if amount < 64 else np.int64(0)


@jit
def extract(x, position, length, is_signed):
    """BFE. Bits beyond the register repeat its sign, or are zero."""
    if length == 0:
        return np.int64(0)
    field = (signed(x) if is_signed else np.int64(x)) >> min(position, np.int64(63))
    if length < 32:
        field &= (np.int64(1) << length) - 1
        if is_signed and (field >> (length - 1)) & 1:
            field -= np.int64(1) << length
    return field & 0xFFFFFFFF


@jit
def insert(x, into, position, length):
    """BFI."""
    if position > 31 or length == 0:
        return into
    field = (((np.int64(1) << min(length, np.int64(32))) - 1) << position) & 0xFFFFFFFF
    return (into & ~field) | ((x << position) & field)


@jit
def permute(mode, x, y, selector):
    """PRMT: four bytes out of the eight of {y, x}."""
    both = np.uint64(x) | (np.uint64(y) << np.uint64(32))
    result = np.int64(0)
    n = selector & 3
    for k in range(4):
        replicate = np.int64(0)
        if mode == 0:
            pick = (selector >> (4 * k)) & 7
            replicate = (selector >> (4 * k + 3)) & 1
        elif mode == 1:  # forward 4 extract
            pick = n + k
        elif mode == 2:  # backward 4 extract
            pick = (n - k) & 7
        elif mode == 3:  # replicate 8
            pick = n
        elif mode == 4:  # edge clamp left
            pick = max(n, np.int64(k))
        elif mode == 5:  # edge clamp right
            pick = min(n, np.int64(k))
        else:  # replicate 16
            pick = 2 * (n & 1) + (k & 1)
        byte = np.int64(both >> np.uint64(8 * pick)) & 0xFF
        if replicate:
            byte = np.int64(0xFF) if byte & 0x80 else np.int64(0)
        result |= byte << (8 * k)
    return result


@jit
def nth_set(mask, base, offset):
    """FNS: place of the offset-th one of mask, counted from base upwards, or downwards if offset is
    negative."""
    if offset == 0:
        return base if base < 32 and (mask >> base) & 1 else np.int64(0xFFFFFFFF)
    step = np.int64(1) if offset > 0 else np.int64(-1)
    left = offset * step
    at = base
    while 0 <= at < 32:
        if (mask >> at) & 1:
            left -= 1
            if left == 0:
                return at
        at += step
    return np.int64(0xFFFFFFFF)


@jit
def highest(x, is_signed):
    """Place of the highest bit that differs from the sign (signed) or from zero; -1: none."""
    if is_signed and x >> 31:
        x ^= 0xFFFFFFFF
    return 63 - leading_zeros(x)


@jit
def lane(op, dtype, aux, x, y, z, w):
    """Bit operations of one lane that are too long to be done on a row at a time."""
    is_signed = dtype == DType.S32
    if op == Op.SHF:
        return funnel(aux, dtype, x, y, z)
    if op == Op.BFE:
        return extract(x, y & 0xFF, z & 0xFF, is_signed)
    if op == Op.BFI:
        return insert(x, y, z & 0xFF, w & 0xFF)
    if op == Op.PRMT:
        return permute(aux, x, y, z)
    if op == Op.CLZ:
        return leading_zeros(x) - 32
    if op == Op.POPC:
        return popcount(x)
    if op == Op.BREV:
        return reverse(x) >> 32
    if op == Op.BFIND:
        place = highest(x, is_signed)
        return 31 - place if aux and place >= 0 else place
    return nth_set(x, y, signed(z))


@jit
def logic(op, dtype, aux, R, a, b, c, d):
    """AND .. FNS."""
    if op == Op.AND:
        for i in range(32):
            R[OUT, i] = R[a, i] & R[b, i]
    elif op == Op.OR:
        for i in range(32):
            R[OUT, i] = R[a, i] | R[b, i]
    elif op == Op.XOR:
        for i in range(32):
            R[OUT, i] = R[a, i] ^ R[b, i]
    elif op == Op.NOT:
        for i in range(32):
            R[OUT, i] = R[a, i] ^ np.uint32(0xFFFFFFFF)
    elif op == Op.LOP3:
        for i in range(32):
            result = np.uint32(0)
            for k in range(8):
                if (aux >> k) & 1:
                    x = R[a, i] if k & 4 else ~R[a, i]
                    y = R[b, i] if k & 2 else ~R[b, i]
                    z = R[c, i] if k & 1 else ~R[c, i]
                    result |= x & y & z
            R[OUT, i] = result
    elif op == Op.SHL:
        for i in range(32):
            n = np.int64(R[b, i])
            R[OUT, i] = (np.int64(R[a, i]) << n) & 0xFFFFFFFF if n < 32 else 0
    elif op == Op.SHR:
        if dtype == DType.S32:
            for i in range(32):
                R[OUT, i] = (signed(R[a, i]) >> min(np.int64(R[b, i]), np.int64(32))) & 0xFFFFFFFF
        else:
            for i in range(32):
                R[OUT, i] = np.int64(R[a, i]) >> min(np.int64(R[b, i]), np.int64(32))
    else:
        for i in range(32):
            x, y, z = np.int64(R[a, i]), np.int64(R[b, i]), np.int64(R[c, i])
            R[OUT, i] = lane(op, dtype, aux, x, y, z, np.int64(R[d, i])) & 0xFFFFFFFF

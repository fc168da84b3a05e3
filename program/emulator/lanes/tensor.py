"""MMA: one 8 x 8 piece of a matrix product; `warpbank.program.isa.matrix` says which.

Each element is c plus the products in ascending k. Floats add in double precision and round once at the end
to the accumulators' format; products of f16, bf16, tf32 and 8-bit floats are exact in double precision. f64
adds with one FMA a product. Integers are exact and wrap or saturate at the end. Real tensor cores keep fewer
bits of float sums and differ in the last place.
"""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.bits import f32, f64, fma64, i64, u32
from warpbank.program.emulator.lanes.integer import pair, put_pair
from warpbank.program.emulator.lanes.softfloat import NAN32, NAN64, narrow, widen, widen8
from warpbank.program.emulator.layout import OUT
from warpbank.program.isa import DType
from warpbank.program.isa.matrix import A_COLUMN, B_COLUMN, OTHER_SHIFT, PART_SHIFT, SATURATE


@jit
def element(R, row, lane, which, dtype):
    """An element of a register, as a double."""
    bits = np.int64(R[row, lane])
    if dtype == DType.F16 or dtype == DType.BF16:
        return widen((bits >> (16 * which)) & 0xFFFF, dtype)
    if dtype == DType.TF32:
        return np.float64(f32(bits & 0xFFFFE000))
    bits = (bits >> (8 * which)) & 0xFF
    if dtype == DType.U8:
        return np.float64(bits)
    if dtype == DType.S8:
        return np.float64(bits - 256 if bits & 0x80 else bits)
    return widen8(bits, dtype)


@jit
def doubles(part, R, a, b, c):
    """f64: the accumulator of column 2t + part."""
    for lane in range(32):
        row, other = lane >> 2, (2 * (lane & 3) + part) << 2
        total = f64(pair(R, c, lane))
        for k in range(4):
            total = fma64(f64(pair(R, a, (row << 2) + k)), f64(pair(R, b, other + k)), total)
        put_pair(R, lane, i64(total) if total == total else np.int64(NAN64))


@jit
def quads(part, stype, a_column, b_column, R, a, b, c):
    """f16 with k = 4: accumulators 2 * part and 2 * part + 1 of a lane, whose rows and columns depend on
    their type."""
    for lane in range(32):
        base, high = (lane & 15) >> 2 << 2, lane & 16
        word = np.int64(0)
        for which in range(2):
            i = 2 * part + which
            if stype == DType.F16:
                row, column = lane & 3, i
                total = element(R, c, lane, which, DType.F16)
            else:
                row, column = (lane & 1) + (i & 2), (i & 4) + (lane & 2) + (i & 1)
                total = np.float64(f32(R[c + which, lane]))
            half = 16 if column >= 4 else 0
            for k in range(4):
                at, place = (base + high + k, row) if a_column else (base + high + row, k)
                x = element(R, a + (place >> 1), at, place & 1, DType.F16)
                at, place = (base + half + (column & 3), k) if b_column else (base + half + k, column & 3)
                total += x * element(R, b + (place >> 1), at, place & 1, DType.F16)
            if stype == DType.F16:
                word |= narrow(total, DType.F16, 0) << (16 * which)
            else:
                y = np.float32(total)
                R[OUT + which, lane] = u32(y) if y == y else np.uint32(NAN32)
        if stype == DType.F16:
            R[OUT, lane] = word


@jit
def mma(aux, dtype, stype, R, s0, s1, s2, s3, s4):
    """d = A * B + c. A thread holds row lane/4 of A and column lane/4 of B, at k = E * (lane % 4) onwards,
    and in the second registers 4E further."""
    k = aux & 0xFF
    if dtype == DType.F64:
        doubles((aux >> PART_SHIFT) & 15, R, s0, s1, s2)
        return
    if dtype == DType.F16 and k == 4:
        quads((aux >> PART_SHIFT) & 15, stype, aux & A_COLUMN != 0, aux & B_COLUMN != 0, R, s0, s1, s2)
        return
    other_type = ((aux >> OTHER_SHIFT) & 0xFF) - 1
    if other_type < 0:
        other_type = dtype
    count = 4
    if dtype == DType.F16 or dtype == DType.BF16:
        count = 2
    elif dtype == DType.TF32:
        count = 1
    parts = k // (4 * count)
    c = s4 if parts == 2 else s2
    for lane in range(32):
        row, t = lane >> 2, lane & 3
        word = np.int64(0)
        for column in range(2):
            other = (2 * t + column) << 2  # first lane that holds this column of B
            if stype == DType.F16:
                total = element(R, c, lane, column, DType.F16)
            elif stype == DType.S32:
                total = np.float64(np.int32(R[c + column, lane]))
            else:
                total = np.float64(f32(R[c + column, lane]))
            for part in range(parts):
                a = s0 + 0 if part == 0 else s1
                b = (s1 if parts == 1 else s2) if part == 0 else s3
                for lanes in range(4):
                    for which in range(count):
                        total += element(R, a, (row << 2) + lanes, which, dtype) * element(
                            R, b, other + lanes, which, other_type
                        )
            if stype == DType.F16:
                word |= narrow(total, DType.F16, 0) << (16 * column)
            elif stype == DType.S32:
                if aux & SATURATE:
                    total = min(max(total, -2147483648.0), 2147483647.0)
                R[OUT + column, lane] = np.int64(total) & 0xFFFFFFFF
            else:
                x = np.float32(total)
                R[OUT + column, lane] = u32(x) if x == x else np.uint32(NAN32)
        if stype == DType.F16:
            R[OUT, lane] = word

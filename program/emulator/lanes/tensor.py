"""MMA: one 8 x 8 half of mma.sync.

Each element is c plus the products in ascending k, added in double precision and rounded once at the end to
the accumulators' format. Products of f16 and bf16 are exact in double precision. Real tensor cores keep fewer
bits and differ in the last place.
"""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.bits import f32, u32
from warpbank.program.emulator.lanes.softfloat import NAN32, narrow, widen
from warpbank.program.emulator.layout import OUT
from warpbank.program.isa import DType


@jit
def halves(R, row, lane, which, dtype):
    """Lower or upper half of a register, as a double."""
    return widen((np.int64(R[row, lane]) >> (16 * which)) & 0xFFFF, dtype)


@jit
def mma(k, dtype, stype, R, s0, s1, s2, s3, s4):
    """d = A * B + c. A thread holds row lane/4 of A and column lane/4 of B, at k = 2 * (lane % 4) and the
    next, and k + 8."""
    c = s4 if k == 16 else s2
    for lane in range(32):
        row, t = lane >> 2, lane & 3
        word = np.int64(0)
        for column in range(2):
            other = (2 * t + column) << 2  # first lane that holds this column of B
            if stype == DType.F16:
                total = halves(R, c, lane, column, DType.F16)
            else:
                total = np.float64(f32(R[c + column, lane]))
            for part in range(k >> 3):
                a = s0 + 0 if part == 0 else s1
                b = (s1 if k == 8 else s2) if part == 0 else s3
                for pair in range(4):
                    for which in range(2):
                        total += halves(R, a, (row << 2) + pair, which, dtype) * halves(
                            R, b, other + pair, which, dtype
                        )
            if stype == DType.F16:
                word |= narrow(total, DType.F16, 0) << (16 * column)
            else:
                x = np.float32(total)
                R[OUT + column, lane] = u32(x) if x == x else np.uint32(NAN32)
        if stype == DType.F16:
            R[OUT, lane] = word

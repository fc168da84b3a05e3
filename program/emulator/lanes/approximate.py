"""MUFU, the approximate functions of the special function unit.

One definition each: the float64 value of the C library's function on the exact operand, rounded to float32.
Real hardware differs from it by the error bounds that the PTX manual states. The `.approx.ftz.f64` forms of
rcp and rsqrt look at the upper word of the operand only and give the upper word of the float64 result, lower
word zero, subnormals flushed, as the manual prescribes.
"""

from __future__ import annotations

import math

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.bits import f32, f64, i64, sqrt64, u32
from warpbank.program.emulator.lanes.floating import flush
from warpbank.program.emulator.lanes.integer import pair, put_pair
from warpbank.program.emulator.lanes.softfloat import NAN32, NAN64
from warpbank.program.emulator.layout import OUT
from warpbank.program.isa import DType, Mufu


@jit
def function(which, x):
    """The function of a double."""
    if which == Mufu.RCP:
        return 1.0 / x
    if which == Mufu.RSQRT:
        return 1.0 / sqrt64(x)
    if which == Mufu.SQRT:
        return sqrt64(x)
    if which == Mufu.SIN:
        return math.sin(x) if abs(x) < np.inf else np.nan
    if which == Mufu.COS:
        return math.cos(x) if abs(x) < np.inf else np.nan
    if which == Mufu.LG2:
        if x == 0.0:
            return -np.inf
        return math.log2(x) if x > 0.0 else np.nan
    if which == Mufu.EX2:
        return 2.0**x
    return math.tanh(x)


@jit
def mufu(which, dtype, R, a):
    """MUFU in single or double precision."""
    for i in range(32):
        if dtype == DType.F64:
            x = f64(flush(pair(R, a, i) & np.int64(-0x100000000), DType.F64))
            y = function(which, x)
            put_pair(R, i, flush(i64(y) & np.int64(-0x100000000), DType.F64) if y == y else np.int64(NAN64))
        else:
            y = np.float32(function(which, np.float64(f32(R[a, i]))))
            R[OUT, i] = u32(y) if y == y else np.uint32(NAN32)

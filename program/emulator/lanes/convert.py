"""CVT: between numbers of any type, rounded once.

Float to integer saturates; NaN gives 0, or, as the PTX manual says, the highest bit alone if the source is
f64 or the destination 64 bits wide.
"""

from __future__ import annotations

import math

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.bits import f32, f64, i64, u32
from warpbank.program.emulator.lanes.floating import flush, saturate
from warpbank.program.emulator.lanes.integer import pair, put_pair, signed
from warpbank.program.emulator.lanes.softfloat import converted_nan, narrow, pack, widen, widen8
from warpbank.program.emulator.layout import OUT
from warpbank.program.isa import DType, Rnd


@jit
def integral(x, rnd):
    """A double rounded to an integral value."""
    if not abs(x) < 4503599627370496.0:
        return x
    if rnd == Rnd.RZ:
        y = math.trunc(x) * 1.0
    elif rnd == Rnd.RM:
        y = math.floor(x) * 1.0
    elif rnd == Rnd.RP:
        y = math.ceil(x) * 1.0
    else:
        y = math.floor(x) * 1.0
        rest = x - y
        if rest > 0.5 or (
            rest == 0.5 and ((rnd == Rnd.RN and y % 2.0 != 0.0) or (rnd == Rnd.RNA and x > 0.0))
        ):
            y += 1.0
    return math.copysign(y, x)


@jit
def width(dtype):
    """Bits of an integer type."""
    if dtype <= DType.S8:
        return np.int64(8)
    if dtype <= DType.S16:
        return np.int64(16)
    return np.int64(32) if dtype <= DType.S32 else np.int64(64)


@jit
def to_integer(x, dtype, stype, rnd):
    """A double as an integer of type dtype, saturated; 64 bits, extended by its sign."""
    bits = width(dtype)
    is_signed = dtype == DType.S8 or dtype == DType.S16 or dtype == DType.S32 or dtype == DType.S64
    if x != x:
        if stype != DType.F64 and bits != 64:
            return np.int64(0)
        return np.int64(-1) << (bits - 1) if is_signed else np.int64(1) << (bits - 1)
    x = integral(x, rnd)
    if is_signed:
        limit = 2.0 ** (bits - 1)
        if x < -limit:
            return np.int64(-1) << (bits - 1)
        return ~(np.int64(-1) << (bits - 1)) if x >= limit else np.int64(x)
    if x < 0.0:
        return np.int64(0)
    if x >= 2.0**bits:
        return np.int64(-1) if bits == 64 else (np.int64(1) << bits) - 1
    return (
        np.int64(x)
        if x < 9223372036854775808.0
        else np.int64(x - 9223372036854775808.0) ^ np.int64(-0x8000000000000000)
    )


@jit
def from_integer(bits, dtype, stype, rnd):
    """Bits, in float format dtype, of an integer of type stype."""
    n = width(stype)
    if stype == DType.U64:
        return pack(False, np.int64(0), np.uint64(bits), dtype, rnd)
    if n < 64:
        bits &= (np.int64(1) << n) - 1
        if (stype == DType.S8 or stype == DType.S16 or stype == DType.S32) and (bits >> (n - 1)) & 1:
            bits -= np.int64(1) << n
    if bits < 0:
        return pack(True, np.int64(0), np.uint64(-bits), dtype, rnd)
    return pack(False, np.int64(0), np.uint64(bits), dtype, rnd)


@jit
def is_float(dtype):
    """Whether a number type is a floating-point format."""
    return dtype >= DType.F16


@jit
def one(bits, dtype, stype, rnd, sat, ftz, aux):
    """Conversion of one number from type to type. `ftz` flushes single-precision operands and results."""
    if not is_float(stype):
        result = from_integer(bits, dtype, stype, rnd)
        return saturate(result, dtype) if sat else result
    if ftz and stype == DType.F32:
        bits = flush(bits, stype)
    x = widen8(bits, stype) if stype >= DType.E4M3 else widen(bits, stype)
    if not is_float(dtype):
        return to_integer(x, dtype, stype, rnd)
    if aux & 1:
        x = integral(x, rnd)
    if x != x and (dtype == DType.F64 or stype == DType.F64):
        result = converted_nan(bits, dtype, stype, ftz)
    else:
        result = narrow(x, dtype, rnd)
    if ftz and dtype == DType.F32:
        result = flush(result, dtype)
    return saturate(result, dtype) if sat else result


@jit
def convert(dtype, stype, rnd, sat, ftz, aux, R, a):
    """CVT of every lane. The common cases first, in loops the compiler turns into vector instructions."""
    if dtype == DType.F32 and stype == DType.S32 and rnd == Rnd.RN and not sat:
        for i in range(32):
            R[OUT, i] = u32(np.float32(np.int32(R[a, i])))
    elif dtype == DType.F64 and stype == DType.F32 and not (sat or ftz or aux):
        for i in range(32):
            x = np.float64(f32(R[a, i]))
            bits = i64(x) if x == x else converted_nan(np.int64(R[a, i]), dtype, stype, False)
            put_pair(R, i, bits)
    elif dtype == DType.F32 and stype == DType.F64 and rnd == Rnd.RN and not (sat or ftz or aux):
        for i in range(32):
            y = np.float32(f64(pair(R, a, i)))
            bits = np.int64(u32(y)) if y == y else converted_nan(pair(R, a, i), dtype, stype, False)
            R[OUT, i] = bits
    elif dtype == DType.F64 and stype == DType.S32 and not sat:
        for i in range(32):
            put_pair(R, i, i64(np.float64(signed(R[a, i]))))
    else:
        wide_source = stype == DType.F64 or stype == DType.U64 or stype == DType.S64
        wide_result = dtype == DType.F64 or dtype == DType.U64 or dtype == DType.S64
        for i in range(32):
            bits = pair(R, a, i) if wide_source else np.int64(R[a, i])
            result = one(bits, dtype, stype, rnd, sat, ftz, aux)
            R[OUT, i] = result & 0xFFFFFFFF
            if wide_result:
                R[OUT + 1, i] = (result >> 32) & 0xFFFFFFFF

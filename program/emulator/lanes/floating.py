"""Floating-point instructions: IEEE arithmetic, one rounding each, NaN results canonical.

Rounding to nearest in single and double precision is the processor's own; everything else goes through
`softfloat`. Source modifiers and flushing are applied to the sources before, and flushing and saturation to
the result after (`prepare`, `finish`).
"""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.bits import f32, f64, fma32, fma64, i64, sqrt32, sqrt64, u32
from warpbank.program.emulator.lanes.integer import pair, put_pair
from warpbank.program.emulator.lanes.softfloat import (
    NAN32,
    is_nan64,
    nan64,
    narrow,
    odd_result,
    rounded,
    rounded64,
    widen,
)
from warpbank.program.emulator.layout import OUT, SCRATCH
from warpbank.program.isa import DType, Op, Rnd

_NAN = np.uint32(NAN32)


@jit
def single(op, R, a, b, c):
    """FADD .. FSQRT in single precision, to nearest."""
    if op == Op.FFMA:
        for i in range(32):
            x = fma32(f32(R[a, i]), f32(R[b, i]), f32(R[c, i]))
            R[OUT, i] = u32(x) if x == x else _NAN
    elif op == Op.FADD:
        for i in range(32):
            x = f32(R[a, i]) + f32(R[b, i])
            R[OUT, i] = u32(x) if x == x else _NAN
    elif op == Op.FMUL:
        for i in range(32):
            x = f32(R[a, i]) * f32(R[b, i])
            R[OUT, i] = u32(x) if x == x else _NAN
    elif op == Op.FDIV:
        for i in range(32):
            x = f32(R[a, i]) / f32(R[b, i])
            R[OUT, i] = u32(x) if x == x else _NAN
    elif op == Op.FRCP:
        for i in range(32):
            x = np.float32(1.0) / f32(R[a, i])
            R[OUT, i] = u32(x) if x == x else _NAN
    else:
        for i in range(32):
            x = sqrt32(f32(R[a, i]))
            R[OUT, i] = u32(x) if x == x else _NAN


@jit
def double(op, R, a, b, c):
    """FADD .. FSQRT in double precision, to nearest."""
    for i in range(32):
        bits = pair(R, a, i)
        x = f64(bits)
        if op == Op.FFMA:
            x = fma64(x, f64(pair(R, b, i)), f64(pair(R, c, i)))
        elif op == Op.FADD:
            x = x + f64(pair(R, b, i))
        elif op == Op.FMUL:
            x = x * f64(pair(R, b, i))
        elif op == Op.FDIV:
            x = x / f64(pair(R, b, i))
        elif op == Op.FRCP:
            x = 1.0 / x
        else:
            x = sqrt64(x)
        put_pair(R, i, i64(x) if x == x else nan64(op, bits, pair(R, b, i), pair(R, c, i)))


@jit
def directed(op, dtype, rnd, R, a, b, c):
    """FADD .. FSQRT in single and double precision, in any direction."""
    for i in range(32):
        if dtype == DType.F64:
            p, q, r = pair(R, a, i), pair(R, b, i), pair(R, c, i)
            bits = rounded64(op, rnd, f64(p), f64(q), f64(r))
            put_pair(R, i, nan64(op, p, q, r) if is_nan64(bits) else bits)
        else:
            x, y, z = np.float64(f32(R[a, i])), np.float64(f32(R[b, i])), np.float64(f32(R[c, i]))
            R[OUT, i] = rounded(op, dtype, rnd, x, y, z) & 0xFFFFFFFF


@jit
def smaller(x, y, is_min, aux):
    """FMIN, FMAX of doubles that hold the operands: -0 < +0; one NaN loses (aux bit 0: wins); aux bit 1:
    xorsign.abs."""
    sign = np.int64(0)
    if aux & 2:
        sign = (i64(x) ^ i64(y)) & np.int64(-0x8000000000000000)
        x, y = abs(x), abs(y)
    if x != x or y != y:
        if aux & 1 or (x != x and y != y):
            return np.nan
        result = y if x != x else x
    elif x == y:
        x_first = i64(x) < i64(y)  # only zeros of unlike sign are equal with unlike bits
        result = x if x_first == is_min else y
    else:
        result = x if (x < y) == is_min else y
    return f64(i64(result) | sign) if aux & 2 else result


@jit
def half(op, dtype, rnd, aux, R, a, b, c):
    """FADD .. FMAX on f16, bf16 or pairs of them. A single number leaves the upper half of the result
    zero."""
    count = 2 if dtype == DType.F16X2 or dtype == DType.BF16X2 else 1
    for i in range(32):
        word = np.int64(0)
        for k in range(count):
            x = widen((np.int64(R[a, i]) >> (16 * k)) & 0xFFFF, dtype)
            y = widen((np.int64(R[b, i]) >> (16 * k)) & 0xFFFF, dtype)
            if op == Op.FMIN or op == Op.FMAX:
                bits = narrow(smaller(x, y, op == Op.FMIN, aux), dtype, rnd)
            else:
                z = widen((np.int64(R[c, i]) >> (16 * k)) & 0xFFFF, dtype)
                bits = rounded(op, dtype, rnd, x, y, z)
            word |= (bits & 0xFFFF) << (16 * k)
        R[OUT, i] = word


@jit
def extremum(op, dtype, aux, R, a, b):
    """FMIN, FMAX in single and double precision."""
    for i in range(32):
        if dtype == DType.F64:
            p, q = pair(R, a, i), pair(R, b, i)
            x = smaller(f64(p), f64(q), op == Op.FMIN, aux)
            put_pair(R, i, i64(x) if x == x else nan64(op, p, q, q))
        else:
            x = smaller(np.float64(f32(R[a, i])), np.float64(f32(R[b, i])), op == Op.FMIN, aux)
            R[OUT, i] = u32(np.float32(x)) if x == x else _NAN


@jit
def flush(bits, dtype):
    """Flush of subnormals to a zero of their sign; f16 pairs in one word."""
    if dtype == DType.F32:
        return bits & 0x80000000 if bits & 0x7F800000 == 0 else bits
    if dtype == DType.F64:
        return bits & np.int64(-0x8000000000000000) if (bits >> 52) & 0x7FF == 0 else bits
    exponent = np.int64(0x7C00) if dtype == DType.F16 or dtype == DType.F16X2 else np.int64(0x7F80)
    if bits & exponent == 0:
        bits &= ~np.int64(0x7FFF)
    if (dtype == DType.F16X2 or dtype == DType.BF16X2) and bits & (exponent << 16) == 0:
        bits &= ~np.int64(0x7FFF0000)
    return bits


@jit
def prepare(R, source, slot, dtype, negate, absolute, ftz):
    """Copy a source to its scratch rows with modifiers applied. Returns the scratch row."""
    at = SCRATCH + 2 * slot
    if dtype == DType.F32:
        sign = np.int64(0x80000000)
    elif dtype == DType.F64:
        sign = np.int64(-0x8000000000000000)
    elif dtype == DType.F16X2 or dtype == DType.BF16X2:
        sign = np.int64(0x80008000)
    else:
        sign = np.int64(0x8000)
    for i in range(32):
        bits = pair(R, source, i) if dtype == DType.F64 else np.int64(R[source, i])
        if absolute:
            bits &= ~sign
        if negate:
            bits ^= sign
        if ftz:
            bits = flush(bits, dtype)
        R[at, i] = bits & 0xFFFFFFFF
        if dtype == DType.F64:
            R[at + 1, i] = (bits >> 32) & 0xFFFFFFFF
    return at


@jit
def saturate(bits, dtype):
    """Clamp one number to [0, 1]; NaN becomes +0."""
    x = widen(bits, dtype)
    if not x > 0.0:
        return np.int64(0)
    return narrow(1.0, dtype, 0) if x > 1.0 else bits


@jit
def is_tiny(result, rnd, smallest, half_place):
    """Tininess of a product that became the smallest normal number of its format: whether it stays below it
    when it is rounded as if exponents had no end. `result` is exact, or rounded to odd; `half_place` is half
    of a place just below the smallest normal number, over that number."""
    if rnd == Rnd.RN:
        return abs(result) < smallest * (1.0 - half_place)
    return abs(result) <= smallest * (1.0 - 2.0 * half_place)


@jit
def tiny(op, dtype, rnd, R, a, b, c):
    """Flush of tiny products under .ftz: those become zeros that only the end of the exponents rounds up to
    the smallest normal number. A GPU looks at the exponent before it denormalises, which IEEE 754 calls
    tininess after rounding."""
    for i in range(32):
        if dtype == DType.F32:
            if R[OUT, i] & 0x7FFFFFFF == 0x00800000:
                x, y, z = np.float64(f32(R[a, i])), np.float64(f32(R[b, i])), np.float64(f32(R[c, i]))
                if is_tiny(odd_result(op, x, y, z), rnd, 2.0**-126, 2.0**-25):
                    R[OUT, i] &= np.uint32(0x80000000)
            continue
        for k in range(2 if dtype == DType.F16X2 else 1):
            if (R[OUT, i] >> (16 * k)) & 0x7FFF == 0x0400:
                x = widen((np.int64(R[a, i]) >> (16 * k)) & 0xFFFF, dtype)
                y = widen((np.int64(R[b, i]) >> (16 * k)) & 0xFFFF, dtype)
                z = widen((np.int64(R[c, i]) >> (16 * k)) & 0xFFFF, dtype)
                if is_tiny(odd_result(op, x, y, z), rnd, 2.0**-14, 2.0**-12):
                    R[OUT, i] &= np.uint32(0xFFFFFFFF ^ (0x7FFF << (16 * k)))


@jit
def finish(R, dtype, ftz, sat):
    """Flush and saturate the result."""
    for i in range(32):
        bits = pair(R, OUT, i) if dtype == DType.F64 else np.int64(R[OUT, i])
        if ftz:
            bits = flush(bits, dtype)
        if sat:
            if dtype == DType.F16X2 or dtype == DType.BF16X2:
                bits = saturate(bits & 0xFFFF, dtype) | (saturate((bits >> 16) & 0xFFFF, dtype) << 16)
            else:
                bits = saturate(bits, dtype)
        R[OUT, i] = bits & 0xFFFFFFFF
        if dtype == DType.F64:
            R[OUT + 1, i] = (bits >> 32) & 0xFFFFFFFF

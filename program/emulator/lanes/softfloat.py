"""Software floating point: exact rounding of any value to any of the four formats in any direction.

A value under way is (negative, exponent, mantissa): mantissa * 2**exponent with a 64-bit mantissa whose
lowest bit is sticky: it is 1 if anything was cut off below it. `pack` rounds such a value once. Arithmetic on
f16, bf16 and f32 that the processor lacks is done in double precision *rounded to odd*: rounding that once
more to a format with at least two bits less gives the correctly rounded result (Boldo and Melquiond,
"Emulation of FMA and correctly rounded sums", 2008). Double precision itself is done with 128-bit integers.
"""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator.jit import jit
from warpbank.program.emulator.lanes.bits import f32, f64, fma64, i64, leading_zeros, sqrt64, u32
from warpbank.program.isa import DType, Op, Rnd

NAN32 = 0x7FFFFFFF
NAN64 = -0x0008000000000000  # as a signed word
NAN16 = 0x7FFF
_SIGN64 = np.int64(-0x8000000000000000)
_MANTISSA64 = (1 << 52) - 1


@jit
def jam(mantissa, n):
    """Shift a 64-bit mantissa right by n; the lowest bit keeps what is lost."""
    if n <= 0:
        return mantissa
    if n > 63:
        return np.uint64(1) if mantissa != np.uint64(0) else np.uint64(0)
    kept = mantissa >> np.uint64(n)
    return kept | np.uint64(1) if (kept << np.uint64(n)) != mantissa else kept


@jit
def shape(dtype):
    """Mantissa bits with the hidden one, and the largest exponent, of a format."""
    if dtype == DType.F64:
        return np.int64(53), np.int64(1023)
    if dtype == DType.F32:
        return np.int64(24), np.int64(127)
    if dtype == DType.BF16 or dtype == DType.BF16X2:
        return np.int64(8), np.int64(127)
    return np.int64(11), np.int64(15)


@jit
def pack(negative, exponent, mantissa, dtype, rnd):
    """Bits, in format dtype, of (-1)**negative * mantissa * 2**exponent rounded once."""
    precision, bias = shape(dtype)
    fraction = precision - 1
    sign = np.int64(negative)
    if dtype == DType.F64:
        sign_bits = sign << 63
    elif dtype == DType.F32:
        sign_bits = sign << 31
    else:
        sign_bits = sign << 15
    if mantissa == np.uint64(0):
        return sign_bits
    zeros = leading_zeros(np.int64(mantissa))
    mantissa <<= np.uint64(zeros)
    exponent += 63 - zeros  # the value is 1.xxx * 2**exponent
    drop = 64 - precision
    if exponent < 1 - bias:  # subnormal: fewer bits are left
        drop += 1 - bias - exponent
    tail_bits = min(drop, np.int64(63))
    if drop > 63:
        mantissa = jam(mantissa, drop - 62)  # the same rounding with a drop of 62
        tail_bits = np.int64(62)
    kept = np.int64(mantissa >> np.uint64(tail_bits))
    tail = mantissa & ((np.uint64(1) << np.uint64(tail_bits)) - np.uint64(1))
    half = np.uint64(1) << np.uint64(tail_bits - 1)
    up = False
    if rnd == Rnd.RN:
        up = tail > half or (tail == half and (kept & 1) == 1)
    elif rnd == Rnd.RNA:
        up = tail >= half
    elif rnd == Rnd.RM:
        up = sign == 1 and tail != np.uint64(0)
    elif rnd == Rnd.RP:
        up = sign == 0 and tail != np.uint64(0)
    if up:
        kept += 1
    if exponent < 1 - bias:
        return sign_bits | kept  # a carry into the hidden bit makes the smallest normal number, as it should
    biased = exponent + bias
    if kept >> precision:
        kept >>= 1
        biased += 1
    if biased > 2 * bias:
        infinite = (
            rnd == Rnd.RN or rnd == Rnd.RNA or (rnd == Rnd.RM and sign == 1) or (rnd == Rnd.RP and sign == 0)
        )
        infinity = (2 * bias + 1) << fraction
        return sign_bits | (infinity if infinite else infinity - 1)
    return sign_bits | (biased << fraction) | (kept & ((np.int64(1) << fraction) - 1))


@jit
def unpack(bits):
    """(negative, exponent, mantissa) of a finite double."""
    e = (bits >> 52) & 0x7FF
    m = bits & _MANTISSA64
    if e == 0:
        return bits < 0, np.int64(-1074), np.uint64(m)
    return bits < 0, e - 1075, np.uint64(m | (1 << 52))


@jit
def nan_of(dtype):
    """The canonical NaN."""
    if dtype == DType.F64:
        return np.int64(NAN64)
    return np.int64(NAN32) if dtype == DType.F32 else np.int64(NAN16)


@jit
def is_nan64(bits):
    """Whether a double is no number."""
    return bits & np.int64(0x7FFFFFFFFFFFFFFF) > np.int64(0x7FF0000000000000)


@jit
def nan64(op, x, y, z):
    """Bits of a double that is no number, from those of the operands: the first that is none, in the order in
    which an H100 looks at them, made quiet; without one the canonical NaN."""
    if op == Op.FFMA:
        first, second, third = y, z, x
    elif op == Op.FDIV:
        first, second, third = x, y, y
    elif op == Op.FRCP or op == Op.FSQRT:
        first, second, third = x, x, x
    else:
        first, second, third = y, x, x
    found = first if is_nan64(first) else second if is_nan64(second) else third
    return found | np.int64(0x0008000000000000) if is_nan64(found) else np.int64(NAN64)


@jit
def converted_nan(bits, dtype, stype, ftz):
    """Bits of a NaN of format stype in format dtype. To and from double a GPU keeps sign and highest bits,
    and makes it quiet; between the others, and of an f32 with .ftz, it takes the canonical NaN."""
    if dtype != DType.F64 and stype != DType.F64:
        return nan_of(dtype)
    if ftz and stype == DType.F32:
        bits = np.int64(NAN32)
    wide = bits
    if stype != DType.F64:
        width, fraction = (31, 23) if stype == DType.F32 else (15, 10) if stype == DType.F16 else (15, 7)
        payload = bits & ((np.int64(1) << fraction) - 1)
        wide = ((bits >> width) & 1) << 63 | np.int64(0x7FF) << 52 | payload << (52 - fraction)
    wide |= np.int64(0x0008000000000000)
    if dtype == DType.F64:
        return wide
    width, fraction = (31, 23) if dtype == DType.F32 else (15, 10) if dtype == DType.F16 else (15, 7)
    exponent = (np.int64(1) << width) - (np.int64(1) << fraction)
    payload = (wide >> (52 - fraction)) & ((np.int64(1) << fraction) - 1)
    return ((wide >> 63) & 1) << width | exponent | payload


@jit
def narrow8(x, dtype):
    """Bits of a double rounded to nearest even to an 8-bit float; numbers beyond the largest become it."""
    if x != x:
        return np.int64(0x7F)
    fraction, bias, largest, code = np.int64(2), np.int64(15), 57344.0, np.int64(0x7B)
    if dtype == DType.E4M3:
        fraction, bias, largest, code = np.int64(3), np.int64(7), 448.0, np.int64(0x7E)
    bits = i64(x)
    sign = np.int64(0x80 if bits < 0 else 0)
    x = abs(x)
    if x >= largest:
        return sign | code
    exponent = max(((bits >> 52) & 0x7FF) - 1023, 1 - bias)
    scaled = x * 2.0 ** (fraction - exponent)
    whole = np.floor(scaled)
    kept = np.int64(whole)
    rest = scaled - whole
    if rest > 0.5 or (rest == 0.5 and kept & 1):
        kept += 1
    return sign | (kept + ((exponent + bias - 1) << fraction))


@jit
def widen8(bits, dtype):
    """The double equal to an 8-bit float."""
    if dtype == DType.E5M2:
        return widen((bits & 0xFF) << 8, DType.F16)
    e, m = (bits >> 3) & 15, bits & 7
    if e == 15 and m == 7:
        return np.nan
    x = np.float64(m) * 2.0**-9 if e == 0 else np.float64(m + 8) * 2.0 ** (e - 10)
    return -x if bits & 0x80 else x


@jit
def narrow_tf32(x, rnd):
    """Bits of a double that holds a single, rounded to tf32: the low 13 bits are zero."""
    if x != x:
        return np.int64(NAN32)
    bits = np.int64(u32(np.float32(x)))
    if rnd == Rnd.RNA:
        bits += 0x1000
    elif rnd == Rnd.RN:
        bits += 0xFFF + ((bits >> 13) & 1)
    return bits & 0xFFFFE000


@jit
def narrow(x, dtype, rnd):
    """Bits of a double rounded to format dtype."""
    if dtype >= DType.E4M3:
        return narrow_tf32(x, rnd) if dtype == DType.TF32 else narrow8(x, dtype)
    bits = i64(x)
    if x != x:
        return nan_of(dtype)
    if dtype == DType.F64:
        return bits
    if dtype == DType.F32 and rnd == Rnd.RN:
        return np.int64(u32(np.float32(x)))
    if (bits >> 52) & 0x7FF == 0x7FF:
        precision, bias = shape(dtype)
        sign = np.int64(1 if bits < 0 else 0) << (31 if dtype == DType.F32 else 15)
        return sign | ((2 * bias + 1) << (precision - 1))
    negative, exponent, mantissa = unpack(bits)
    return pack(negative, exponent, mantissa, dtype, rnd)


@jit
def widen(bits, dtype):
    """The double equal to a number of format dtype."""
    if dtype == DType.F64:
        return f64(bits)
    if dtype == DType.F32:
        return np.float64(f32(bits & 0xFFFFFFFF))
    if dtype == DType.BF16 or dtype == DType.BF16X2:
        return np.float64(f32((bits & 0xFFFF) << 16))
    negative = (bits >> 15) & 1
    e, m = (bits >> 10) & 31, bits & 0x3FF
    if e == 31:
        wide = (np.int64(0x7FF) << 52) | (m << 42)
    elif e == 0:
        x = np.float64(m) * 2.0**-24
        return -x if negative else x
    else:
        wide = ((e + 1008) << 52) | (m << 42)
    return f64(wide | (negative << 63))


@jit
def odd(s, error):
    """Sum s + error rounded to odd, where s is that sum rounded to nearest and finite."""
    bits = i64(s)
    if error != 0.0 and bits & 1 == 0:
        return f64(bits + 1 if (error > 0.0) == (s > 0.0) else bits - 1)
    return s


@jit
def odd_result(op, x, y, z):
    """Result of an operation on numbers of at most 24 bits, in double precision rounded to odd."""
    if op == Op.FADD:
        product, z = x, y
    elif op == Op.FMUL:
        return x * y  # exact
    elif op == Op.FFMA:
        product = x * y  # exact
    elif op == Op.FSQRT:
        s = sqrt64(x)
        return odd(s, fma64(-s, s, x)) if 0.0 < x < np.inf else s
    else:
        if op == Op.FRCP:
            x, y = 1.0, x
        s = x / y
        if s == 0.0 or not abs(s) < np.inf or not abs(y) < np.inf:
            return s
        rest = fma64(-s, y, x)
        return odd(s, rest if y > 0.0 else -rest)
    s = product + z
    if not abs(s) < np.inf:
        return s
    back = s - product
    return odd(s, (product - (s - back)) + (z - back))


@jit
def zero_sign(x, y, rnd):
    """Sign of a zero result of x + -x, or of a sum of zeros."""
    if np.int64(i64(x) < 0) == np.int64(i64(y) < 0):
        return x
    return -0.0 if rnd == Rnd.RM else 0.0


@jit
def rounded(op, dtype, rnd, x, y, z):
    """Bits of FADD, FMUL, FFMA, FDIV, FRCP, FSQRT on doubles that hold numbers of format dtype (not F64),
    rounded once."""
    result = odd_result(op, x, y, z)
    if result == 0.0 and rnd == Rnd.RM:
        if op == Op.FADD:
            result = zero_sign(x, y, rnd)
        elif op == Op.FFMA:
            result = zero_sign(x * y, z, rnd)
    return narrow(result, dtype, rnd)


@jit
def product128(x, y):
    """High and low word of the product of two 64-bit numbers."""
    mask, word = np.uint64(0xFFFFFFFF), np.uint64(32)
    low = (x & mask) * (y & mask)
    middle = (x >> word) * (y & mask) + (low >> word)
    other = (x & mask) * (y >> word) + (middle & mask)
    return (x >> word) * (y >> word) + (middle >> word) + (other >> word), (other << word) | (low & mask)


@jit
def jam128(high, low, n):
    """Shift 128 bits right by n; the lowest bit keeps what is lost."""
    if n == 0:
        return high, low
    if n >= 128:
        return np.uint64(0), np.uint64(1) if (high | low) != np.uint64(0) else np.uint64(0)
    if n >= 64:
        lost = low != np.uint64(0)
        low, high = jam(high, n - 64), np.uint64(0)
        return high, low | np.uint64(1) if lost else low
    right, left = np.uint64(n), np.uint64(64 - n)
    shifted = (high << left) | (low >> right)
    if (low << left) != np.uint64(0):
        shifted |= np.uint64(1)
    return high >> right, shifted


@jit
def fma_directed(x, y, z, rnd):
    """Bits of x * y + z of doubles, rounded once."""
    nearest = fma64(x, y, z)
    if not (abs(x) < np.inf and abs(y) < np.inf and abs(z) < np.inf):
        return i64(nearest) if nearest == nearest else np.int64(NAN64)
    xn, xe, xm = unpack(i64(x))
    yn, ye, ym = unpack(i64(y))
    zn, ze, zm = unpack(i64(z))
    pn = xn != yn
    if xm == np.uint64(0) or ym == np.uint64(0) or zm == np.uint64(0):
        if zm != np.uint64(0):
            return i64(z)
        if xm == np.uint64(0) or ym == np.uint64(0):
            return i64(zero_sign(-0.0 if pn else 0.0, z, rnd))
    # Both values with their highest one at bit 125 of 128, so that a sum cannot overflow and, where they may
    # cancel (exponents at most one apart), nothing is shifted out.
    zeros = leading_zeros(np.int64(xm))
    xm, xe = xm << np.uint64(zeros), xe - zeros
    zeros = leading_zeros(np.int64(ym))
    ym, ye = ym << np.uint64(zeros), ye - zeros
    ph, pl = product128(xm, ym)
    pe = xe + ye
    if ph >> np.uint64(63):
        ph, pl, pe = ph >> np.uint64(1), (pl >> np.uint64(1)) | (ph << np.uint64(63)), pe + 1
    ph, pl, pe = ph >> np.uint64(1), (pl >> np.uint64(1)) | (ph << np.uint64(63)), pe + 1
    zh, zl = np.uint64(0), np.uint64(0)
    if zm != np.uint64(0):
        zeros = leading_zeros(np.int64(zm)) - 2
        zh, ze = zm << np.uint64(zeros), ze - zeros - 64
        if pe >= ze:
            zh, zl = jam128(zh, zl, pe - ze)
        else:
            ph, pl = jam128(ph, pl, ze - pe)
            pe = ze
    if pn == zn or zm == np.uint64(0):
        low = pl + zl
        high = ph + zh + (np.uint64(1) if low < pl else np.uint64(0))
    else:
        if ph < zh or (ph == zh and pl < zl):
            ph, pl, zh, zl, pn = zh, zl, ph, pl, zn
        low = pl - zl
        high = ph - zh - (np.uint64(1) if pl < zl else np.uint64(0))
        if (high | low) == np.uint64(0):
            return i64(-0.0 if rnd == Rnd.RM else 0.0)
    if high == np.uint64(0):
        return pack(pn, pe, low, DType.F64, rnd)
    zeros = leading_zeros(np.int64(high))
    if zeros > 0:
        high = (high << np.uint64(zeros)) | (low >> np.uint64(64 - zeros))
        low <<= np.uint64(zeros)
    if low != np.uint64(0):
        high |= np.uint64(1)
    return pack(pn, pe - zeros + 64, high, DType.F64, rnd)


@jit
def divide_directed(x, y, rnd):
    """Bits of x / y of doubles, rounded once: the mantissas are divided to nearest; the remainder's sign is
    the sticky bit."""
    nearest = x / y
    if not (abs(x) < np.inf and abs(y) < np.inf) or x == 0.0 or y == 0.0:
        return i64(nearest) if nearest == nearest else np.int64(NAN64)
    xn, xe, xm = unpack(i64(x))
    yn, ye, ym = unpack(i64(y))
    zeros = leading_zeros(np.int64(xm)) - 11
    xm, xe = xm << np.uint64(zeros), xe - zeros
    zeros = leading_zeros(np.int64(ym)) - 11
    ym, ye = ym << np.uint64(zeros), ye - zeros
    p, q = np.float64(np.int64(xm)), np.float64(np.int64(ym))
    s = p / q
    rest = fma64(-s, q, p)
    _, e, m = unpack(i64(s))
    m <<= np.uint64(8)
    if rest > 0.0:
        m |= np.uint64(1)
    elif rest < 0.0:
        m -= np.uint64(1)
    return pack(xn != yn, e + xe - ye - 8, m, DType.F64, rnd)


@jit
def sqrt_directed(x, rnd):
    """Bits of the square root of a double, rounded once."""
    s = sqrt64(x)
    if not 0.0 < x < np.inf:
        return i64(s) if s == s else np.int64(NAN64)
    _, e, m = unpack(i64(x))
    zeros = leading_zeros(np.int64(m)) - 11
    m, e = m << np.uint64(zeros), e - zeros
    if e & 1:
        m, e = m << np.uint64(1), e - 1
    p = np.float64(np.int64(m))
    s = sqrt64(p)
    rest = fma64(-s, s, p)
    _, e2, m = unpack(i64(s))
    m <<= np.uint64(8)
    if rest > 0.0:
        m |= np.uint64(1)
    elif rest < 0.0:
        m -= np.uint64(1)
    return pack(False, e2 + (e >> 1) - 8, m, DType.F64, rnd)


@jit
def rounded64(op, rnd, x, y, z):
    """Bits of FADD .. FSQRT on doubles, rounded once in any direction."""
    if op == Op.FADD:
        return fma_directed(x, 1.0, y, rnd)
    if op == Op.FMUL:
        # A zero added must not change the sign of a zero product.
        return fma_directed(x, y, -0.0 if (i64(x) < 0) != (i64(y) < 0) else 0.0, rnd)
    if op == Op.FFMA:
        return fma_directed(x, y, z, rnd)
    if op == Op.FDIV:
        return divide_directed(x, y, rnd)
    if op == Op.FRCP:
        return divide_directed(1.0, x, rnd)
    return sqrt_directed(x, rnd)

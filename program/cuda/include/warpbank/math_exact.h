// Mathematics that is exact or correctly rounded, for f32 and f64: roots, roundings to integers, remainders, and the parts of a
// floating-point number. Each is an instruction, a few of them, or arithmetic on the number's bits.
#pragma once
#include "arithmetic.h"

#define WARPBANK_INF __builtin_inf()
#define WARPBANK_NAN __builtin_nan("")

// A polynomial in x with coefficients from the constant upwards, by Horner's rule with fused multiply-adds.
WARPBANK_DEVICE float warpbank_fma(float x, float y, float z) { return __nvvm_fma_rn_f(x, y, z); }
WARPBANK_DEVICE double warpbank_fma(double x, double y, double z) { return __nvvm_fma_rn_d(x, y, z); }
template <class T> WARPBANK_DEVICE T warpbank_polynomial(T, T constant) { return constant; }
template <class T, class... Ts> WARPBANK_DEVICE T warpbank_polynomial(T x, T constant, T next, Ts... rest)
{
    return warpbank_fma(warpbank_polynomial<T>(x, next, rest...), x, constant);
}

WARPBANK_DEVICE float fmaf(float x, float y, float z) { return __nvvm_fma_rn_f(x, y, z); }
WARPBANK_DEVICE double fma(double x, double y, double z) { return __nvvm_fma_rn_d(x, y, z); }
WARPBANK_DEVICE float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
WARPBANK_DEVICE double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }

#define WARPBANK_BUILTIN(name)                                                        \
    WARPBANK_DEVICE float name##f(float x) { return __builtin_##name##f(x); }         \
    WARPBANK_DEVICE double name(double x) { return __builtin_##name(x); }
WARPBANK_BUILTIN(fabs)
WARPBANK_BUILTIN(floor)
WARPBANK_BUILTIN(ceil)
WARPBANK_BUILTIN(trunc)
WARPBANK_BUILTIN(rint)
WARPBANK_BUILTIN(nearbyint)
#undef WARPBANK_BUILTIN
WARPBANK_DEVICE float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
WARPBANK_DEVICE double copysign(double x, double y) { return __builtin_copysign(x, y); }
WARPBANK_DEVICE float fminf(float x, float y) { return __builtin_fminf(x, y); }
WARPBANK_DEVICE double fmin(double x, double y) { return __builtin_fmin(x, y); }
WARPBANK_DEVICE float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
WARPBANK_DEVICE double fmax(double x, double y) { return __builtin_fmax(x, y); }

// The layout of a floating-point type.
template <class T> struct warpbank_format;
template <> struct warpbank_format<float> {
    typedef int word;
    typedef unsigned int bits;
    static constexpr int fraction = 23, bias = 127;
    static __device__ __forceinline__ word of(float x) { return __float_as_int(x); }
    static __device__ __forceinline__ float to(word x) { return __int_as_float(x); }
};
template <> struct warpbank_format<double> {
    typedef long long word;
    typedef unsigned long long bits;
    static constexpr int fraction = 52, bias = 1023;
    static __device__ __forceinline__ word of(double x) { return __double_as_longlong(x); }
    static __device__ __forceinline__ double to(word x) { return __longlong_as_double(x); }
};
template <class T> WARPBANK_DEVICE T warpbank_abs(T x)
{
    typedef warpbank_format<T> F;
    return F::to((typename F::word)((typename F::bits)F::of(x) << 1 >> 1));
}
template <class T> WARPBANK_DEVICE T warpbank_sign(T magnitude, T sign)
{
    typedef warpbank_format<T> F;
    constexpr typename F::bits top = (typename F::bits)1 << (8 * sizeof(T) - 1);
    return F::to((typename F::word)(((typename F::bits)F::of(magnitude) & ~top) | ((typename F::bits)F::of(sign) & top)));
}
template <class T> WARPBANK_DEVICE bool warpbank_finite(T x) { return warpbank_abs(x) < (T)WARPBANK_INF; }
// Two to the power n, for exponents of normal numbers.
template <class T> WARPBANK_DEVICE T warpbank_power(int n)
{
    typedef warpbank_format<T> F;
    return F::to((typename F::word)(n + F::bias) << F::fraction);
}
// x times two to the power n, rounded once even if the result is subnormal.
template <class T> WARPBANK_DEVICE T warpbank_scale(T x, int n)
{
    typedef warpbank_format<T> F;
    constexpr int top = F::bias, bottom = 1 - F::bias + F::fraction + 1;
    for (int i = 0; i < 2; i++) {
        if (n > top) {
            x *= warpbank_power<T>(top);
            n -= top;
        }
        if (n < bottom) {
            x *= warpbank_power<T>(bottom);
            n -= bottom;
        }
    }
    n = n > top ? top : n < 1 - F::bias ? 1 - F::bias : n;
    return x * warpbank_power<T>(n);
}
// The exponent of a finite number other than zero, subnormals included.
template <class T> WARPBANK_DEVICE int warpbank_exponent(T x)
{
    typedef warpbank_format<T> F;
    int e = (int)(F::of(warpbank_abs(x)) >> F::fraction);
    if (e) return e - F::bias;
    return (int)(F::of(x * warpbank_power<T>(F::fraction + 1)) << 1 >> (F::fraction + 1) & (2 * F::bias + 1)) - F::bias - F::fraction - 1;
}
template <class T> WARPBANK_DEVICE T warpbank_frexp(T x, int *n)
{
    if (!warpbank_finite(x) || x == 0) {
        *n = 0;
        return x;
    }
    *n = warpbank_exponent(x) + 1;
    return warpbank_scale(x, -*n);
}
template <class T> WARPBANK_DEVICE T warpbank_modf(T x, T *whole)
{
    T y = sizeof(T) == 4 ? (T)truncf((float)x) : (T)trunc((double)x);
    *whole = y;
    return warpbank_sign(warpbank_finite(x) ? x - y : x == x ? (T)0 : x, x);
}
template <class T> WARPBANK_DEVICE int warpbank_ilogb(T x)
{
    if (x == 0 || x != x) return -2147483647 - 1;
    return warpbank_finite(x) ? warpbank_exponent(x) : 2147483647;
}
template <class T> WARPBANK_DEVICE T warpbank_logb(T x)
{
    if (!warpbank_finite(x)) return x * x;
    return x == 0 ? (T)-WARPBANK_INF : (T)warpbank_exponent(x);
}
template <class T> WARPBANK_DEVICE T warpbank_nextafter(T x, T y)
{
    typedef warpbank_format<T> F;
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == 0) return warpbank_sign(F::to(1), y);
    return F::to(F::of(x) + ((x < y) == (x > 0) ? 1 : -1));
}
// Half away from zero.
template <class T> WARPBANK_DEVICE T warpbank_round(T x)
{
    T a = warpbank_abs(x), whole;
    T part = warpbank_modf(a, &whole);
    return warpbank_finite(x) ? warpbank_sign(part >= (T)0.5 ? whole + 1 : whole, x) : x;
}
// Long division: the remainder x - q y of a q that is rounded towards zero, and q's low bits. Every subtraction is exact.
template <class T> WARPBANK_DEVICE T warpbank_divide(T x, T y, unsigned int *quotient)
{
    T a = warpbank_abs(x), b = warpbank_abs(y);
    unsigned int q = 0;
    if (x != x || y != y || !warpbank_finite(x) || b == 0) {
        *quotient = 0;
        return (T)WARPBANK_NAN;
    }
    if (warpbank_finite(y)) {
        while (a >= b) {
            int n = warpbank_exponent(a) - warpbank_exponent(b);
            if (warpbank_scale(a, -n) < b) n--;
            a -= warpbank_scale(b, n);
            if (n < 32) q += 1u << n;
        }
    }
    *quotient = q;
    return a;
}
template <class T> WARPBANK_DEVICE T warpbank_fmod(T x, T y)
{
    unsigned int quotient;
    return warpbank_sign(warpbank_divide(x, y, &quotient), x);
}
template <class T> WARPBANK_DEVICE T warpbank_remquo(T x, T y, int *quotient)
{
    unsigned int q;
    T a = warpbank_divide(x, y, &q), b = warpbank_abs(y);
    if (a != a) {
        *quotient = 0;
        return a;
    }
    T rest = b - a;
    if (warpbank_finite(y) && (a > rest || (a == rest && (q & 1)))) {
        a = -rest;
        q++;
    }
    q &= 0x7fffffff;
    *quotient = (x < 0) != (y < 0) ? -(int)q : (int)q;
    return x < 0 || (x == 0 && 1 / x < 0) ? -a : a;
}

#define WARPBANK_EXACT(T, f)                                                                                            \
    WARPBANK_DEVICE T ldexp##f(T x, int n) { return warpbank_scale(x, n); }                                             \
    WARPBANK_DEVICE T scalbn##f(T x, int n) { return warpbank_scale(x, n); }                                            \
    WARPBANK_DEVICE T scalbln##f(T x, long n) { return warpbank_scale(x, (int)(n > 9999 ? 9999 : n < -9999 ? -9999 : n)); } \
    WARPBANK_DEVICE T frexp##f(T x, int *n) { return warpbank_frexp(x, n); }                                            \
    WARPBANK_DEVICE T modf##f(T x, T *whole) { return warpbank_modf(x, whole); }                                        \
    WARPBANK_DEVICE int ilogb##f(T x) { return warpbank_ilogb(x); }                                                     \
    WARPBANK_DEVICE T logb##f(T x) { return warpbank_logb(x); }                                                         \
    WARPBANK_DEVICE T nextafter##f(T x, T y) { return warpbank_nextafter(x, y); }                                       \
    WARPBANK_DEVICE T round##f(T x) { return warpbank_round(x); }                                                       \
    WARPBANK_DEVICE long lround##f(T x) { return (long)warpbank_round(x); }                                             \
    WARPBANK_DEVICE long long llround##f(T x) { return (long long)warpbank_round(x); }                                  \
    WARPBANK_DEVICE long lrint##f(T x) { return (long)rint##f(x); }                                                     \
    WARPBANK_DEVICE long long llrint##f(T x) { return (long long)rint##f(x); }                                          \
    WARPBANK_DEVICE T fmod##f(T x, T y) { return warpbank_fmod(x, y); }                                                 \
    WARPBANK_DEVICE T remquo##f(T x, T y, int *quotient) { return warpbank_remquo(x, y, quotient); }                    \
    WARPBANK_DEVICE T remainder##f(T x, T y)                                                                            \
    {                                                                                                                   \
        int quotient;                                                                                                   \
        return warpbank_remquo(x, y, &quotient);                                                                        \
    }                                                                                                                   \
    WARPBANK_DEVICE T fdim##f(T x, T y) { return x != x || y != y ? x + y : x > y ? x - y : (T)0; }
WARPBANK_EXACT(float, f)
WARPBANK_EXACT(double, )
#undef WARPBANK_EXACT

WARPBANK_DEVICE bool isnan(float x) { return x != x; }
WARPBANK_DEVICE bool isnan(double x) { return x != x; }
WARPBANK_DEVICE bool isinf(float x) { return warpbank_abs(x) == (float)WARPBANK_INF; }
WARPBANK_DEVICE bool isinf(double x) { return warpbank_abs(x) == WARPBANK_INF; }
WARPBANK_DEVICE bool isfinite(float x) { return warpbank_finite(x); }
WARPBANK_DEVICE bool isfinite(double x) { return warpbank_finite(x); }
WARPBANK_DEVICE bool signbit(float x) { return __float_as_int(x) < 0; }
WARPBANK_DEVICE bool signbit(double x) { return __double_as_longlong(x) < 0; }
WARPBANK_DEVICE int __finitef(float x) { return warpbank_finite(x); }
WARPBANK_DEVICE int __isnanf(float x) { return x != x; }
WARPBANK_DEVICE int __isinff(float x) { return isinf(x); }

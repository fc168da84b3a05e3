// What half and bfloat16 have in common: operators, arithmetic, comparisons and mathematics of a number and of a pair. A type
// converts itself to f32 and from it, rounding to the nearest even; sums, products and quotients of f32 rounded so are the
// correctly rounded ones of the short type.
#pragma once
#include "atomics.h"
#include "math_names.h"
#include "warp.h"

#define WARPBANK_SMALL_OPERATOR(T, op)                                                              \
    WARPBANK_BOTH T operator op(T x, T y) { return T((float)x op (float)y); }                       \
    WARPBANK_BOTH T &operator op##=(T &x, T y) { return x = x op y; }
#define WARPBANK_SMALL_COMPARISON(T, op, name)                                                      \
    WARPBANK_BOTH bool operator op(T x, T y) { return (float)x op(float) y; }                       \
    WARPBANK_BOTH bool name(T x, T y) { return x op y; }
#define WARPBANK_SMALL_UNARY(T, name, function) \
    WARPBANK_DEVICE T name(T x) { return T(function((float)x)); }
#define WARPBANK_SMALL_SHUFFLE(T, name, second)                                                     \
    WARPBANK_DEVICE T name(unsigned int mask, T x, second n, int width = 32)                        \
    {                                                                                               \
        unsigned short bits = (unsigned short)name(mask, (int)__builtin_bit_cast(unsigned short, x), n, width); \
        return __builtin_bit_cast(T, bits);                                                         \
    }

#define WARPBANK_SMALL(T)                                                                           \
    WARPBANK_SMALL_OPERATOR(T, +)                                                                   \
    WARPBANK_SMALL_OPERATOR(T, -)                                                                   \
    WARPBANK_SMALL_OPERATOR(T, *)                                                                   \
    WARPBANK_SMALL_OPERATOR(T, /)                                                                   \
    WARPBANK_BOTH T operator-(T x) { return T(-(float)x); }                                         \
    WARPBANK_BOTH T operator+(T x) { return x; }                                                    \
    WARPBANK_BOTH T &operator++(T &x) { return x = T((float)x + 1.0f); }                            \
    WARPBANK_BOTH T &operator--(T &x) { return x = T((float)x - 1.0f); }                            \
    WARPBANK_SMALL_COMPARISON(T, ==, __heq)                                                         \
    WARPBANK_SMALL_COMPARISON(T, !=, __hne)                                                         \
    WARPBANK_SMALL_COMPARISON(T, <, __hlt)                                                          \
    WARPBANK_SMALL_COMPARISON(T, <=, __hle)                                                         \
    WARPBANK_SMALL_COMPARISON(T, >, __hgt)                                                          \
    WARPBANK_SMALL_COMPARISON(T, >=, __hge)                                                         \
    WARPBANK_BOTH T __hadd(T x, T y) { return x + y; }                                              \
    WARPBANK_BOTH T __hsub(T x, T y) { return x - y; }                                              \
    WARPBANK_BOTH T __hmul(T x, T y) { return x * y; }                                              \
    WARPBANK_BOTH T __hdiv(T x, T y) { return x / y; }                                              \
    WARPBANK_BOTH T __hneg(T x) { return -x; }                                                      \
    WARPBANK_BOTH T __habs(T x) { return T(__builtin_fabsf((float)x)); }                            \
    WARPBANK_BOTH T __hmin(T x, T y) { return T(__builtin_fminf((float)x, (float)y)); }             \
    WARPBANK_BOTH T __hmax(T x, T y) { return T(__builtin_fmaxf((float)x, (float)y)); }             \
    WARPBANK_BOTH bool __hisnan(T x) { return (float)x != (float)x; }                               \
    WARPBANK_BOTH int __hisinf(T x)                                                                 \
    {                                                                                               \
        float y = (float)x;                                                                         \
        return y == __builtin_inff() ? 1 : y == -__builtin_inff() ? -1 : 0;                         \
    }                                                                                               \
    WARPBANK_DEVICE T __hadd_sat(T x, T y) { return T(__saturatef((float)x + (float)y)); }          \
    WARPBANK_DEVICE T __hsub_sat(T x, T y) { return T(__saturatef((float)x - (float)y)); }          \
    WARPBANK_DEVICE T __hmul_sat(T x, T y) { return T(__saturatef((float)x * (float)y)); }          \
    WARPBANK_SMALL_UNARY(T, hsqrt, sqrtf)                                                           \
    WARPBANK_SMALL_UNARY(T, hrsqrt, rsqrtf)                                                         \
    WARPBANK_SMALL_UNARY(T, hrcp, 1.0f /)                                                           \
    WARPBANK_SMALL_UNARY(T, hexp, expf)                                                             \
    WARPBANK_SMALL_UNARY(T, hexp2, exp2f)                                                           \
    WARPBANK_SMALL_UNARY(T, hexp10, exp10f)                                                         \
    WARPBANK_SMALL_UNARY(T, hlog, logf)                                                             \
    WARPBANK_SMALL_UNARY(T, hlog2, log2f)                                                           \
    WARPBANK_SMALL_UNARY(T, hlog10, log10f)                                                         \
    WARPBANK_SMALL_UNARY(T, hsin, sinf)                                                             \
    WARPBANK_SMALL_UNARY(T, hcos, cosf)                                                             \
    WARPBANK_SMALL_UNARY(T, htanh, tanhf)                                                           \
    WARPBANK_SMALL_UNARY(T, hfloor, floorf)                                                         \
    WARPBANK_SMALL_UNARY(T, hceil, ceilf)                                                           \
    WARPBANK_SMALL_UNARY(T, htrunc, truncf)                                                         \
    WARPBANK_SMALL_UNARY(T, hrint, rintf)                                                           \
    WARPBANK_SMALL_SHUFFLE(T, __shfl_sync, int)                                                     \
    WARPBANK_SMALL_SHUFFLE(T, __shfl_up_sync, unsigned int)                                         \
    WARPBANK_SMALL_SHUFFLE(T, __shfl_down_sync, unsigned int)                                       \
    WARPBANK_SMALL_SHUFFLE(T, __shfl_xor_sync, int)

// Functions of a pair do what those of a number do, element by element.
#define WARPBANK_PAIR_BINARY(T2, name, op)                                                          \
    WARPBANK_BOTH T2 operator op(T2 x, T2 y) { return T2(x.x op y.x, x.y op y.y); }                 \
    WARPBANK_BOTH T2 &operator op##=(T2 &x, T2 y) { return x = x op y; }                            \
    WARPBANK_BOTH T2 name(T2 x, T2 y) { return x op y; }
#define WARPBANK_PAIR_COMPARISON(T, T2, name, all, op)                                              \
    WARPBANK_BOTH T2 name(T2 x, T2 y) { return T2(T(x.x op y.x ? 1.0f : 0.0f), T(x.y op y.y ? 1.0f : 0.0f)); } \
    WARPBANK_BOTH bool all(T2 x, T2 y) { return x.x op y.x && x.y op y.y; }
#define WARPBANK_PAIR_UNARY(T2, name, function) \
    WARPBANK_DEVICE T2 name(T2 x) { return T2(function(x.x), function(x.y)); }

#define WARPBANK_PAIR(T, T2)                                                                        \
    WARPBANK_PAIR_BINARY(T2, __hadd2, +)                                                            \
    WARPBANK_PAIR_BINARY(T2, __hsub2, -)                                                            \
    WARPBANK_PAIR_BINARY(T2, __hmul2, *)                                                            \
    WARPBANK_PAIR_BINARY(T2, __h2div, /)                                                            \
    WARPBANK_PAIR_COMPARISON(T, T2, __heq2, __hbeq2, ==)                                            \
    WARPBANK_PAIR_COMPARISON(T, T2, __hne2, __hbne2, !=)                                            \
    WARPBANK_PAIR_COMPARISON(T, T2, __hlt2, __hblt2, <)                                             \
    WARPBANK_PAIR_COMPARISON(T, T2, __hle2, __hble2, <=)                                            \
    WARPBANK_PAIR_COMPARISON(T, T2, __hgt2, __hbgt2, >)                                             \
    WARPBANK_PAIR_COMPARISON(T, T2, __hge2, __hbge2, >=)                                            \
    WARPBANK_BOTH T2 operator-(T2 x) { return T2(-x.x, -x.y); }                                     \
    WARPBANK_BOTH T2 __hneg2(T2 x) { return -x; }                                                   \
    WARPBANK_BOTH T2 __habs2(T2 x) { return T2(__habs(x.x), __habs(x.y)); }                         \
    WARPBANK_BOTH T2 __hmin2(T2 x, T2 y) { return T2(__hmin(x.x, y.x), __hmin(x.y, y.y)); }         \
    WARPBANK_BOTH T2 __hmax2(T2 x, T2 y) { return T2(__hmax(x.x, y.x), __hmax(x.y, y.y)); }         \
    WARPBANK_BOTH T2 __hfma2(T2 x, T2 y, T2 z) { return T2(__hfma(x.x, y.x, z.x), __hfma(x.y, y.y, z.y)); } \
    WARPBANK_PAIR_UNARY(T2, h2sqrt, hsqrt)                                                          \
    WARPBANK_PAIR_UNARY(T2, h2rsqrt, hrsqrt)                                                        \
    WARPBANK_PAIR_UNARY(T2, h2rcp, hrcp)                                                            \
    WARPBANK_PAIR_UNARY(T2, h2exp, hexp)                                                            \
    WARPBANK_PAIR_UNARY(T2, h2log, hlog)                                                            \
    WARPBANK_PAIR_UNARY(T2, h2sin, hsin)                                                            \
    WARPBANK_PAIR_UNARY(T2, h2cos, hcos)                                                            \
    WARPBANK_DEVICE T2 warpbank_atomic_pair(T2 *p, T2 x)                                            \
    {                                                                                               \
        unsigned int *word = (unsigned int *)p, found = *word, expected;                            \
        do {                                                                                        \
            expected = found;                                                                       \
            T2 sum = __builtin_bit_cast(T2, expected) + x;                                          \
            found = atomicCAS(word, expected, __builtin_bit_cast(unsigned int, sum));               \
        } while (found != expected);                                                                \
        return __builtin_bit_cast(T2, found);                                                       \
    }                                                                                               \
    WARPBANK_DEVICE T2 atomicAdd(T2 *p, T2 x) { return warpbank_atomic_pair(p, x); }                \
    WARPBANK_DEVICE T atomicAdd(T *p, T x)                                                          \
    {                                                                                               \
        unsigned int *word = (unsigned int *)((unsigned long long)p & ~3ull), found = *word, expected; \
        int shift = (unsigned long long)p & 2 ? 16 : 0;                                             \
        do {                                                                                        \
            expected = found;                                                                       \
            T sum = __builtin_bit_cast(T, (unsigned short)(expected >> shift)) + x;                 \
            unsigned int bits = __builtin_bit_cast(unsigned short, sum);                            \
            found = atomicCAS(word, expected, (expected & ~(0xffffu << shift)) | bits << shift);    \
        } while (found != expected);                                                                \
        return __builtin_bit_cast(T, (unsigned short)(found >> shift));                             \
    }

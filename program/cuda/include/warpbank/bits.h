// Bits of an integer or of a floating-point number: counts, reversals, funnel shifts, byte permutations and bit casts.
#pragma once
#include "language.h"

WARPBANK_BOTH int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
WARPBANK_BOTH unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
WARPBANK_BOTH float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
WARPBANK_BOTH float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
WARPBANK_BOTH long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
WARPBANK_BOTH double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
WARPBANK_BOTH int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
WARPBANK_BOTH int __double2loint(double x) { return (int)__double_as_longlong(x); }
WARPBANK_BOTH double __hiloint2double(int high, int low)
{
    return __longlong_as_double((long long)((unsigned long long)(unsigned int)high << 32 | (unsigned int)low));
}

WARPBANK_DEVICE int __popc(unsigned int x) { return __builtin_popcount(x); }
WARPBANK_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
WARPBANK_DEVICE int __clz(int x) { return x ? __builtin_clz((unsigned int)x) : 32; }
WARPBANK_DEVICE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
WARPBANK_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
WARPBANK_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
WARPBANK_DEVICE unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
WARPBANK_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
WARPBANK_DEVICE unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector)
{
    return __nvvm_prmt(x, y, selector & 0x7777u);
}
WARPBANK_DEVICE unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int n)
{
    return (unsigned int)(((unsigned long long)high << 32 | low) << (n & 31) >> 32);
}
WARPBANK_DEVICE unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int n)
{
    return (unsigned int)(((unsigned long long)high << 32 | low) >> (n & 31));
}
WARPBANK_DEVICE unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int n)
{
    return n >= 32 ? low : __funnelshift_l(low, high, n);
}
WARPBANK_DEVICE unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int n)
{
    return n >= 32 ? high : __funnelshift_r(low, high, n);
}

// Half precision: `__half` and `__half2` with their conversions and functions.
#pragma once
#include "small_floats.h"

struct __align__(2) __half {
    _Float16 value;
    __half() = default;
    WARPBANK_MEMBER __half(float x) : value((_Float16)x) {}
    WARPBANK_MEMBER __half(double x) : value((_Float16)x) {}
    WARPBANK_MEMBER __half(int x) : value((_Float16)(float)x) {}
    WARPBANK_MEMBER __half(unsigned int x) : value((_Float16)(float)x) {}
    WARPBANK_MEMBER __half(long long x) : value((_Float16)(float)x) {}
    WARPBANK_MEMBER __half(unsigned long long x) : value((_Float16)(float)x) {}
    WARPBANK_MEMBER operator float() const { return (float)value; }
};
struct __align__(4) __half2 {
    __half x, y;
    __half2() = default;
    WARPBANK_MEMBER __half2(__half x, __half y) : x(x), y(y) {}
};
typedef __half half;
typedef __half2 half2;
struct __half_raw { unsigned short x; };

WARPBANK_BOTH __half __hfma(__half x, __half y, __half z)
{
#ifdef __CUDA_ARCH__
    __half result;
    result.value = __builtin_fmaf16(x.value, y.value, z.value);
    return result;
#else
    // f64 holds product and sum exactly, or the smaller of the two is too small to matter.
    return __half((double)(float)x * (double)(float)y + (double)(float)z);
#endif
}
WARPBANK_SMALL(__half)
WARPBANK_PAIR(__half, __half2)

WARPBANK_BOTH float __half2float(__half x) { return (float)x; }
WARPBANK_BOTH __half __float2half(float x) { return __half(x); }
WARPBANK_BOTH __half __float2half_rn(float x) { return __half(x); }
WARPBANK_BOTH __half __double2half(double x) { return __half(x); }
WARPBANK_BOTH __half __ushort_as_half(unsigned short x) { return __builtin_bit_cast(__half, x); }
WARPBANK_BOTH __half __short_as_half(short x) { return __builtin_bit_cast(__half, x); }
WARPBANK_BOTH unsigned short __half_as_ushort(__half x) { return __builtin_bit_cast(unsigned short, x); }
WARPBANK_BOTH short __half_as_short(__half x) { return __builtin_bit_cast(short, x); }
// Rounded away from or towards zero: the nearest, or its neighbour in magnitude.
WARPBANK_BOTH __half warpbank_half_towards_zero(float x)
{
    __half y(x);
    return __builtin_fabsf((float)y) > __builtin_fabsf(x) ? __ushort_as_half(__half_as_ushort(y) - 1) : y;
}
WARPBANK_BOTH __half warpbank_half_from_zero(float x)
{
    __half y(x);
    return __builtin_fabsf((float)y) < __builtin_fabsf(x) ? __ushort_as_half(__half_as_ushort(y) + 1) : y;
}
WARPBANK_BOTH __half __float2half_rz(float x) { return warpbank_half_towards_zero(x); }
WARPBANK_BOTH __half __float2half_rd(float x) { return x < 0 ? warpbank_half_from_zero(x) : warpbank_half_towards_zero(x); }
WARPBANK_BOTH __half __float2half_ru(float x) { return x < 0 ? warpbank_half_towards_zero(x) : warpbank_half_from_zero(x); }
WARPBANK_BOTH __half __int2half_rn(int x) { return __half((double)x); }
WARPBANK_BOTH __half __uint2half_rn(unsigned int x) { return __half((double)x); }
WARPBANK_BOTH __half __short2half_rn(short x) { return __half((float)x); }
WARPBANK_BOTH __half __ushort2half_rn(unsigned short x) { return __half((float)x); }
WARPBANK_DEVICE int __half2int_rn(__half x) { return __float2int_rn((float)x); }
WARPBANK_DEVICE int __half2int_rz(__half x) { return __float2int_rz((float)x); }
WARPBANK_DEVICE int __half2int_rd(__half x) { return __float2int_rd((float)x); }
WARPBANK_DEVICE int __half2int_ru(__half x) { return __float2int_ru((float)x); }
WARPBANK_DEVICE unsigned int __half2uint_rn(__half x) { return __float2uint_rn((float)x); }
WARPBANK_DEVICE unsigned int __half2uint_rz(__half x) { return __float2uint_rz((float)x); }

WARPBANK_BOTH __half2 make_half2(__half x, __half y) { return __half2(x, y); }
WARPBANK_BOTH __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
WARPBANK_BOTH __half2 __half2half2(__half x) { return __half2(x, x); }
WARPBANK_BOTH __half2 __float2half2_rn(float x) { return __half2(__half(x), __half(x)); }
WARPBANK_BOTH __half2 __floats2half2_rn(float x, float y) { return __half2(__half(x), __half(y)); }
WARPBANK_BOTH __half2 __float22half2_rn(float2 x) { return __half2(__half(x.x), __half(x.y)); }
WARPBANK_BOTH float2 __half22float2(__half2 x) { return float2{(float)x.x, (float)x.y}; }
WARPBANK_BOTH __half __low2half(__half2 x) { return x.x; }
WARPBANK_BOTH __half __high2half(__half2 x) { return x.y; }
WARPBANK_BOTH float __low2float(__half2 x) { return (float)x.x; }
WARPBANK_BOTH float __high2float(__half2 x) { return (float)x.y; }
WARPBANK_BOTH __half2 __low2half2(__half2 x) { return __half2(x.x, x.x); }
WARPBANK_BOTH __half2 __high2half2(__half2 x) { return __half2(x.y, x.y); }
WARPBANK_BOTH __half2 __lowhigh2highlow(__half2 x) { return __half2(x.y, x.x); }

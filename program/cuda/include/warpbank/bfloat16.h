// bfloat16: `__nv_bfloat16` and `__nv_bfloat162` with their conversions and functions. They compute in f32.
#pragma once
#include "small_floats.h"

struct __align__(2) __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    WARPBANK_MEMBER __nv_bfloat16(float x)
    {
        unsigned int word = __builtin_bit_cast(unsigned int, x);
        bits = x != x ? 0x7fff : (unsigned short)((word + 0x7fff + (word >> 16 & 1)) >> 16);
    }
    WARPBANK_MEMBER __nv_bfloat16(double x) : __nv_bfloat16(odd(x)) {}
    WARPBANK_MEMBER __nv_bfloat16(int x) : __nv_bfloat16((double)x) {}
    WARPBANK_MEMBER __nv_bfloat16(unsigned int x) : __nv_bfloat16((double)x) {}
    WARPBANK_MEMBER operator float() const { return __builtin_bit_cast(float, (unsigned int)bits << 16); }

  private:
    // f64 to f32 rounded to odd, so that the rounding to bfloat16 is the only one.
    static __host__ __device__ __forceinline__ float odd(double x)
    {
        float y = (float)x;
        unsigned int word = __builtin_bit_cast(unsigned int, y);
        if ((double)y == x || y != y || (word & 1)) return y;
        return __builtin_bit_cast(float, __builtin_fabs((double)y) > __builtin_fabs(x) ? word - 1 : word + 1);
    }
};
struct __align__(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
    __nv_bfloat162() = default;
    WARPBANK_MEMBER __nv_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) : x(x), y(y) {}
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

WARPBANK_BOTH __nv_bfloat16 __hfma(__nv_bfloat16 x, __nv_bfloat16 y, __nv_bfloat16 z)
{
    return __nv_bfloat16((double)(float)x * (double)(float)y + (double)(float)z);
}
WARPBANK_SMALL(__nv_bfloat16)
WARPBANK_PAIR(__nv_bfloat16, __nv_bfloat162)

WARPBANK_BOTH float __bfloat162float(__nv_bfloat16 x) { return (float)x; }
WARPBANK_BOTH __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
WARPBANK_BOTH __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
WARPBANK_BOTH __nv_bfloat16 __float2bfloat16_rz(float x)
{
    return __builtin_bit_cast(__nv_bfloat16, (unsigned short)(x != x ? 0x7fff : __builtin_bit_cast(unsigned int, x) >> 16));
}
WARPBANK_BOTH __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
WARPBANK_BOTH __nv_bfloat16 __int2bfloat16_rn(int x) { return __nv_bfloat16(x); }
WARPBANK_DEVICE int __bfloat162int_rz(__nv_bfloat16 x) { return __float2int_rz((float)x); }
WARPBANK_BOTH __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __builtin_bit_cast(__nv_bfloat16, x); }
WARPBANK_BOTH unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return __builtin_bit_cast(unsigned short, x); }
WARPBANK_BOTH __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
WARPBANK_BOTH __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
WARPBANK_BOTH __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return __nv_bfloat162(x, x); }
WARPBANK_BOTH __nv_bfloat162 __float2bfloat162_rn(float x) { return __nv_bfloat162(__nv_bfloat16(x), __nv_bfloat16(x)); }
WARPBANK_BOTH __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return __nv_bfloat162(__nv_bfloat16(x), __nv_bfloat16(y)); }
WARPBANK_BOTH float2 __bfloat1622float2(__nv_bfloat162 x) { return float2{(float)x.x, (float)x.y}; }
WARPBANK_BOTH __nv_bfloat16 __low2bfloat16(__nv_bfloat162 x) { return x.x; }
WARPBANK_BOTH __nv_bfloat16 __high2bfloat16(__nv_bfloat162 x) { return x.y; }
WARPBANK_BOTH float __low2float(__nv_bfloat162 x) { return (float)x.x; }
WARPBANK_BOTH float __high2float(__nv_bfloat162 x) { return (float)x.y; }

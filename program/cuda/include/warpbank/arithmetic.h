// Arithmetic intrinsics: operations with an explicit rounding, approximate divisions, products' high halves, absolute
// differences, and loads with a cache hint (`__ldg` and its kin, which are plain loads here).
#pragma once
#include "conversions.h"
#include "vectors.h"

WARPBANK_DEVICE float __fadd_rn(float x, float y) { return __nvvm_add_rn_f(x, y); }
WARPBANK_DEVICE float __fsub_rn(float x, float y) { return __nvvm_add_rn_f(x, -y); }
WARPBANK_DEVICE float __fmul_rn(float x, float y) { return __nvvm_mul_rn_f(x, y); }
WARPBANK_DEVICE float __fdiv_rn(float x, float y) { return __nvvm_div_rn_f(x, y); }
WARPBANK_DEVICE float __frcp_rn(float x) { return __nvvm_rcp_rn_f(x); }
WARPBANK_DEVICE float __fsqrt_rn(float x) { return __nvvm_sqrt_rn_f(x); }
WARPBANK_DEVICE float __fmaf_rn(float x, float y, float z) { return __nvvm_fma_rn_f(x, y, z); }
WARPBANK_DEVICE double __dadd_rn(double x, double y) { return __nvvm_add_rn_d(x, y); }
WARPBANK_DEVICE double __dsub_rn(double x, double y) { return __nvvm_add_rn_d(x, -y); }
WARPBANK_DEVICE double __dmul_rn(double x, double y) { return __nvvm_mul_rn_d(x, y); }
WARPBANK_DEVICE double __ddiv_rn(double x, double y) { return __nvvm_div_rn_d(x, y); }
WARPBANK_DEVICE double __drcp_rn(double x) { return __nvvm_rcp_rn_d(x); }
WARPBANK_DEVICE double __dsqrt_rn(double x) { return __nvvm_sqrt_rn_d(x); }
WARPBANK_DEVICE double __fma_rn(double x, double y, double z) { return __nvvm_fma_rn_d(x, y, z); }
WARPBANK_DEVICE float __fadd_rz(float x, float y) { return __nvvm_add_rz_f(x, y); }
WARPBANK_DEVICE float __fsub_rz(float x, float y) { return __nvvm_add_rz_f(x, -y); }
WARPBANK_DEVICE float __fmul_rz(float x, float y) { return __nvvm_mul_rz_f(x, y); }
WARPBANK_DEVICE float __fdiv_rz(float x, float y) { return __nvvm_div_rz_f(x, y); }
WARPBANK_DEVICE float __frcp_rz(float x) { return __nvvm_rcp_rz_f(x); }
WARPBANK_DEVICE float __fsqrt_rz(float x) { return __nvvm_sqrt_rz_f(x); }
WARPBANK_DEVICE float __fmaf_rz(float x, float y, float z) { return __nvvm_fma_rz_f(x, y, z); }
WARPBANK_DEVICE double __dadd_rz(double x, double y) { return __nvvm_add_rz_d(x, y); }
WARPBANK_DEVICE double __dsub_rz(double x, double y) { return __nvvm_add_rz_d(x, -y); }
WARPBANK_DEVICE double __dmul_rz(double x, double y) { return __nvvm_mul_rz_d(x, y); }
WARPBANK_DEVICE double __ddiv_rz(double x, double y) { return __nvvm_div_rz_d(x, y); }
WARPBANK_DEVICE double __drcp_rz(double x) { return __nvvm_rcp_rz_d(x); }
WARPBANK_DEVICE double __dsqrt_rz(double x) { return __nvvm_sqrt_rz_d(x); }
WARPBANK_DEVICE double __fma_rz(double x, double y, double z) { return __nvvm_fma_rz_d(x, y, z); }
WARPBANK_DEVICE float __fadd_rd(float x, float y) { return __nvvm_add_rm_f(x, y); }
WARPBANK_DEVICE float __fsub_rd(float x, float y) { return __nvvm_add_rm_f(x, -y); }
WARPBANK_DEVICE float __fmul_rd(float x, float y) { return __nvvm_mul_rm_f(x, y); }
WARPBANK_DEVICE float __fdiv_rd(float x, float y) { return __nvvm_div_rm_f(x, y); }
WARPBANK_DEVICE float __frcp_rd(float x) { return __nvvm_rcp_rm_f(x); }
WARPBANK_DEVICE float __fsqrt_rd(float x) { return __nvvm_sqrt_rm_f(x); }
WARPBANK_DEVICE float __fmaf_rd(float x, float y, float z) { return __nvvm_fma_rm_f(x, y, z); }
WARPBANK_DEVICE double __dadd_rd(double x, double y) { return __nvvm_add_rm_d(x, y); }
WARPBANK_DEVICE double __dsub_rd(double x, double y) { return __nvvm_add_rm_d(x, -y); }
WARPBANK_DEVICE double __dmul_rd(double x, double y) { return __nvvm_mul_rm_d(x, y); }
WARPBANK_DEVICE double __ddiv_rd(double x, double y) { return __nvvm_div_rm_d(x, y); }
WARPBANK_DEVICE double __drcp_rd(double x) { return __nvvm_rcp_rm_d(x); }
WARPBANK_DEVICE double __dsqrt_rd(double x) { return __nvvm_sqrt_rm_d(x); }
WARPBANK_DEVICE double __fma_rd(double x, double y, double z) { return __nvvm_fma_rm_d(x, y, z); }
WARPBANK_DEVICE float __fadd_ru(float x, float y) { return __nvvm_add_rp_f(x, y); }
WARPBANK_DEVICE float __fsub_ru(float x, float y) { return __nvvm_add_rp_f(x, -y); }
WARPBANK_DEVICE float __fmul_ru(float x, float y) { return __nvvm_mul_rp_f(x, y); }
WARPBANK_DEVICE float __fdiv_ru(float x, float y) { return __nvvm_div_rp_f(x, y); }
WARPBANK_DEVICE float __frcp_ru(float x) { return __nvvm_rcp_rp_f(x); }
WARPBANK_DEVICE float __fsqrt_ru(float x) { return __nvvm_sqrt_rp_f(x); }
WARPBANK_DEVICE float __fmaf_ru(float x, float y, float z) { return __nvvm_fma_rp_f(x, y, z); }
WARPBANK_DEVICE double __dadd_ru(double x, double y) { return __nvvm_add_rp_d(x, y); }
WARPBANK_DEVICE double __dsub_ru(double x, double y) { return __nvvm_add_rp_d(x, -y); }
WARPBANK_DEVICE double __dmul_ru(double x, double y) { return __nvvm_mul_rp_d(x, y); }
WARPBANK_DEVICE double __ddiv_ru(double x, double y) { return __nvvm_div_rp_d(x, y); }
WARPBANK_DEVICE double __drcp_ru(double x) { return __nvvm_rcp_rp_d(x); }
WARPBANK_DEVICE double __dsqrt_ru(double x) { return __nvvm_sqrt_rp_d(x); }
WARPBANK_DEVICE double __fma_ru(double x, double y, double z) { return __nvvm_fma_rp_d(x, y, z); }

WARPBANK_DEVICE float __fdividef(float x, float y) { return __nvvm_div_approx_f(x, y); }
WARPBANK_DEVICE float __frsqrt_rn(float x) { return (float)(1.0 / __nvvm_sqrt_rn_d((double)x)); }
WARPBANK_DEVICE float __saturatef(float x) { return __nvvm_saturate_f(x); }

WARPBANK_DEVICE int __mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }
WARPBANK_DEVICE unsigned int __umul24(unsigned int x, unsigned int y) { return (x & 0xffffff) * (y & 0xffffff); }
WARPBANK_DEVICE int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
WARPBANK_DEVICE unsigned int __umulhi(unsigned int x, unsigned int y)
{
    return (unsigned int)((unsigned long long)x * y >> 32);
}
WARPBANK_DEVICE long long __mul64hi(long long x, long long y) { return __nvvm_mulhi_ll(x, y); }
WARPBANK_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) { return __nvvm_mulhi_ull(x, y); }
WARPBANK_DEVICE unsigned int __sad(int x, int y, unsigned int z)
{
    return z + (x > y ? (unsigned int)x - (unsigned int)y : (unsigned int)y - (unsigned int)x);
}
WARPBANK_DEVICE unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) { return z + (x > y ? x - y : y - x); }
WARPBANK_DEVICE int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
WARPBANK_DEVICE int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }
WARPBANK_DEVICE unsigned int __uhadd(unsigned int x, unsigned int y) { return (unsigned int)(((unsigned long long)x + y) >> 1); }
WARPBANK_DEVICE unsigned int __urhadd(unsigned int x, unsigned int y)
{
    return (unsigned int)(((unsigned long long)x + y + 1) >> 1);
}

// Dot products of four bytes.
WARPBANK_DEVICE int __dp4a(int x, int y, int z)
{
    int sum = z;
    for (int i = 0; i < 32; i += 8) sum += (signed char)(x >> i) * (signed char)(y >> i);
    return sum;
}
WARPBANK_DEVICE unsigned int __dp4a(unsigned int x, unsigned int y, unsigned int z)
{
    unsigned int sum = z;
    for (int i = 0; i < 32; i += 8) sum += (x >> i & 255) * (y >> i & 255);
    return sum;
}

template <class T> WARPBANK_DEVICE T __ldg(const T *p) { return *p; }
template <class T> WARPBANK_DEVICE T __ldca(const T *p) { return *p; }
template <class T> WARPBANK_DEVICE T __ldcg(const T *p) { return *p; }
template <class T> WARPBANK_DEVICE T __ldcs(const T *p) { return *p; }
template <class T> WARPBANK_DEVICE T __ldcv(const T *p) { return *(const volatile T *)p; }
template <class T> WARPBANK_DEVICE void __stwb(T *p, T x) { *p = x; }
template <class T> WARPBANK_DEVICE void __stcg(T *p, T x) { *p = x; }
template <class T> WARPBANK_DEVICE void __stcs(T *p, T x) { *p = x; }
template <class T> WARPBANK_DEVICE void __stwt(T *p, T x) { *p = x; }


// Conversions between numbers with an explicit rounding, each as its one `cvt` instruction: to the nearest even (`rn`), towards
// zero (`rz`), down (`rd`) and up (`ru`).
#pragma once
#include "bits.h"

WARPBANK_DEVICE int __float2int_rn(float x) { return (int)__nvvm_f2i_rn(x); }
WARPBANK_DEVICE int __double2int_rn(double x) { return (int)__nvvm_d2i_rn(x); }
WARPBANK_DEVICE float __int2float_rn(int x) { return __nvvm_i2f_rn(x); }
WARPBANK_DEVICE unsigned int __float2uint_rn(float x) { return (unsigned int)__nvvm_f2ui_rn(x); }
WARPBANK_DEVICE unsigned int __double2uint_rn(double x) { return (unsigned int)__nvvm_d2ui_rn(x); }
WARPBANK_DEVICE float __uint2float_rn(unsigned int x) { return __nvvm_ui2f_rn(x); }
WARPBANK_DEVICE long long __float2ll_rn(float x) { return (long long)__nvvm_f2ll_rn(x); }
WARPBANK_DEVICE long long __double2ll_rn(double x) { return (long long)__nvvm_d2ll_rn(x); }
WARPBANK_DEVICE float __ll2float_rn(long long x) { return __nvvm_ll2f_rn(x); }
WARPBANK_DEVICE double __ll2double_rn(long long x) { return __nvvm_ll2d_rn(x); }
WARPBANK_DEVICE unsigned long long __float2ull_rn(float x) { return (unsigned long long)__nvvm_f2ull_rn(x); }
WARPBANK_DEVICE unsigned long long __double2ull_rn(double x) { return (unsigned long long)__nvvm_d2ull_rn(x); }
WARPBANK_DEVICE float __ull2float_rn(unsigned long long x) { return __nvvm_ull2f_rn(x); }
WARPBANK_DEVICE double __ull2double_rn(unsigned long long x) { return __nvvm_ull2d_rn(x); }
WARPBANK_DEVICE float __double2float_rn(double x) { return __nvvm_d2f_rn(x); }
WARPBANK_DEVICE int __float2int_rz(float x) { return (int)__nvvm_f2i_rz(x); }
WARPBANK_DEVICE int __double2int_rz(double x) { return (int)__nvvm_d2i_rz(x); }
WARPBANK_DEVICE float __int2float_rz(int x) { return __nvvm_i2f_rz(x); }
WARPBANK_DEVICE unsigned int __float2uint_rz(float x) { return (unsigned int)__nvvm_f2ui_rz(x); }
WARPBANK_DEVICE unsigned int __double2uint_rz(double x) { return (unsigned int)__nvvm_d2ui_rz(x); }
WARPBANK_DEVICE float __uint2float_rz(unsigned int x) { return __nvvm_ui2f_rz(x); }
WARPBANK_DEVICE long long __float2ll_rz(float x) { return (long long)__nvvm_f2ll_rz(x); }
WARPBANK_DEVICE long long __double2ll_rz(double x) { return (long long)__nvvm_d2ll_rz(x); }
WARPBANK_DEVICE float __ll2float_rz(long long x) { return __nvvm_ll2f_rz(x); }
WARPBANK_DEVICE double __ll2double_rz(long long x) { return __nvvm_ll2d_rz(x); }
WARPBANK_DEVICE unsigned long long __float2ull_rz(float x) { return (unsigned long long)__nvvm_f2ull_rz(x); }
WARPBANK_DEVICE unsigned long long __double2ull_rz(double x) { return (unsigned long long)__nvvm_d2ull_rz(x); }
WARPBANK_DEVICE float __ull2float_rz(unsigned long long x) { return __nvvm_ull2f_rz(x); }
WARPBANK_DEVICE double __ull2double_rz(unsigned long long x) { return __nvvm_ull2d_rz(x); }
WARPBANK_DEVICE float __double2float_rz(double x) { return __nvvm_d2f_rz(x); }
WARPBANK_DEVICE int __float2int_rd(float x) { return (int)__nvvm_f2i_rm(x); }
WARPBANK_DEVICE int __double2int_rd(double x) { return (int)__nvvm_d2i_rm(x); }
WARPBANK_DEVICE float __int2float_rd(int x) { return __nvvm_i2f_rm(x); }
WARPBANK_DEVICE unsigned int __float2uint_rd(float x) { return (unsigned int)__nvvm_f2ui_rm(x); }
WARPBANK_DEVICE unsigned int __double2uint_rd(double x) { return (unsigned int)__nvvm_d2ui_rm(x); }
WARPBANK_DEVICE float __uint2float_rd(unsigned int x) { return __nvvm_ui2f_rm(x); }
WARPBANK_DEVICE long long __float2ll_rd(float x) { return (long long)__nvvm_f2ll_rm(x); }
WARPBANK_DEVICE long long __double2ll_rd(double x) { return (long long)__nvvm_d2ll_rm(x); }
WARPBANK_DEVICE float __ll2float_rd(long long x) { return __nvvm_ll2f_rm(x); }
WARPBANK_DEVICE double __ll2double_rd(long long x) { return __nvvm_ll2d_rm(x); }
WARPBANK_DEVICE unsigned long long __float2ull_rd(float x) { return (unsigned long long)__nvvm_f2ull_rm(x); }
WARPBANK_DEVICE unsigned long long __double2ull_rd(double x) { return (unsigned long long)__nvvm_d2ull_rm(x); }
WARPBANK_DEVICE float __ull2float_rd(unsigned long long x) { return __nvvm_ull2f_rm(x); }
WARPBANK_DEVICE double __ull2double_rd(unsigned long long x) { return __nvvm_ull2d_rm(x); }
WARPBANK_DEVICE float __double2float_rd(double x) { return __nvvm_d2f_rm(x); }
WARPBANK_DEVICE int __float2int_ru(float x) { return (int)__nvvm_f2i_rp(x); }
WARPBANK_DEVICE int __double2int_ru(double x) { return (int)__nvvm_d2i_rp(x); }
WARPBANK_DEVICE float __int2float_ru(int x) { return __nvvm_i2f_rp(x); }
WARPBANK_DEVICE unsigned int __float2uint_ru(float x) { return (unsigned int)__nvvm_f2ui_rp(x); }
WARPBANK_DEVICE unsigned int __double2uint_ru(double x) { return (unsigned int)__nvvm_d2ui_rp(x); }
WARPBANK_DEVICE float __uint2float_ru(unsigned int x) { return __nvvm_ui2f_rp(x); }
WARPBANK_DEVICE long long __float2ll_ru(float x) { return (long long)__nvvm_f2ll_rp(x); }
WARPBANK_DEVICE long long __double2ll_ru(double x) { return (long long)__nvvm_d2ll_rp(x); }
WARPBANK_DEVICE float __ll2float_ru(long long x) { return __nvvm_ll2f_rp(x); }
WARPBANK_DEVICE double __ll2double_ru(long long x) { return __nvvm_ll2d_rp(x); }
WARPBANK_DEVICE unsigned long long __float2ull_ru(float x) { return (unsigned long long)__nvvm_f2ull_rp(x); }
WARPBANK_DEVICE unsigned long long __double2ull_ru(double x) { return (unsigned long long)__nvvm_d2ull_rp(x); }
WARPBANK_DEVICE float __ull2float_ru(unsigned long long x) { return __nvvm_ull2f_rp(x); }
WARPBANK_DEVICE double __ull2double_ru(unsigned long long x) { return __nvvm_ull2d_rp(x); }
WARPBANK_DEVICE float __double2float_ru(double x) { return __nvvm_d2f_rp(x); }
WARPBANK_DEVICE double __int2double_rn(int x) { return (double)x; }
WARPBANK_DEVICE double __uint2double_rn(unsigned int x) { return (double)x; }

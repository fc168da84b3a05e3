// Atomic functions on global or shared memory, each as its one instruction, for all types and widths that CUDA has. The suffixes
// `_block` and `_system` narrow and widen the scope; here every atomic is of the device.
#pragma once
#include "bits.h"

#define WARPBANK_ATOMIC(name, operation, type, suffix, carrier)                      \
    WARPBANK_DEVICE type name(type *p, type x)                                       \
    {                                                                                \
        return (type)__nvvm_atom_##operation##_gen_##suffix((carrier *)p, (carrier)x); \
    }
#define WARPBANK_ATOMIC_ALL(name, operation)                            \
    WARPBANK_ATOMIC(name, operation, int, i, int)                       \
    WARPBANK_ATOMIC(name, operation, unsigned int, i, int)              \
    WARPBANK_ATOMIC(name, operation, long, ll, long long)               \
    WARPBANK_ATOMIC(name, operation, unsigned long, ll, long long)      \
    WARPBANK_ATOMIC(name, operation, long long, ll, long long)          \
    WARPBANK_ATOMIC(name, operation, unsigned long long, ll, long long)
#define WARPBANK_ATOMIC_SIGNED(name, operation)                            \
    WARPBANK_ATOMIC(name, operation, int, i, int)                          \
    WARPBANK_ATOMIC(name, operation, unsigned int, ui, unsigned int)       \
    WARPBANK_ATOMIC(name, operation, long, ll, long long)                  \
    WARPBANK_ATOMIC(name, operation, unsigned long, ull, unsigned long long) \
    WARPBANK_ATOMIC(name, operation, long long, ll, long long)             \
    WARPBANK_ATOMIC(name, operation, unsigned long long, ull, unsigned long long)
WARPBANK_ATOMIC_ALL(atomicAdd, add)
WARPBANK_ATOMIC_ALL(atomicExch, xchg)
WARPBANK_ATOMIC_ALL(atomicAnd, and)
WARPBANK_ATOMIC_ALL(atomicOr, or)
WARPBANK_ATOMIC_ALL(atomicXor, xor)
WARPBANK_ATOMIC_SIGNED(atomicMin, min)
WARPBANK_ATOMIC_SIGNED(atomicMax, max)
WARPBANK_ATOMIC(atomicInc, inc, unsigned int, ui, unsigned int)
WARPBANK_ATOMIC(atomicDec, dec, unsigned int, ui, unsigned int)
#undef WARPBANK_ATOMIC
#undef WARPBANK_ATOMIC_ALL
#undef WARPBANK_ATOMIC_SIGNED

WARPBANK_DEVICE float atomicAdd(float *p, float x) { return __nvvm_atom_add_gen_f(p, x); }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
WARPBANK_DEVICE double atomicAdd(double *p, double x) { return __nvvm_atom_add_gen_d(p, x); }
#endif
WARPBANK_DEVICE float atomicExch(float *p, float x)
{
    return __int_as_float(atomicExch((int *)p, __float_as_int(x)));
}
WARPBANK_DEVICE double atomicExch(double *p, double x)
{
    return __longlong_as_double(atomicExch((long long *)p, __double_as_longlong(x)));
}

// Subtractions are additions of the two's complement.
#define WARPBANK_ATOMIC_SUB(type, modulo) \
    WARPBANK_DEVICE type atomicSub(type *p, type x) { return atomicAdd(p, (type)(0 - (modulo)x)); }
WARPBANK_ATOMIC_SUB(int, unsigned int)
WARPBANK_ATOMIC_SUB(unsigned int, unsigned int)
WARPBANK_ATOMIC_SUB(long, unsigned long)
WARPBANK_ATOMIC_SUB(unsigned long, unsigned long)
WARPBANK_ATOMIC_SUB(long long, unsigned long long)
WARPBANK_ATOMIC_SUB(unsigned long long, unsigned long long)
#undef WARPBANK_ATOMIC_SUB

#define WARPBANK_ATOMIC_CAS(type, suffix, carrier)                                                 \
    WARPBANK_DEVICE type atomicCAS(type *p, type compare, type x)                                  \
    {                                                                                              \
        return (type)__nvvm_atom_cas_gen_##suffix((carrier *)p, (carrier)compare, (carrier)x);     \
    }
WARPBANK_ATOMIC_CAS(int, i, int)
WARPBANK_ATOMIC_CAS(unsigned int, i, int)
WARPBANK_ATOMIC_CAS(long, ll, long long)
WARPBANK_ATOMIC_CAS(unsigned long, ll, long long)
WARPBANK_ATOMIC_CAS(long long, ll, long long)
WARPBANK_ATOMIC_CAS(unsigned long long, ll, long long)
#undef WARPBANK_ATOMIC_CAS
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
WARPBANK_DEVICE unsigned short atomicCAS(unsigned short *p, unsigned short compare, unsigned short x)
{
    return __nvvm_atom_cas_gen_us(p, compare, x);
}
#endif

#define WARPBANK_ATOMIC_SCOPES(name)                                                                        \
    template <class T, class... X> WARPBANK_DEVICE T name##_block(T *p, X... x) { return name(p, (T)x...); } \
    template <class T, class... X> WARPBANK_DEVICE T name##_system(T *p, X... x) { return name(p, (T)x...); }
WARPBANK_ATOMIC_SCOPES(atomicAdd)
WARPBANK_ATOMIC_SCOPES(atomicSub)
WARPBANK_ATOMIC_SCOPES(atomicExch)
WARPBANK_ATOMIC_SCOPES(atomicMin)
WARPBANK_ATOMIC_SCOPES(atomicMax)
WARPBANK_ATOMIC_SCOPES(atomicInc)
WARPBANK_ATOMIC_SCOPES(atomicDec)
WARPBANK_ATOMIC_SCOPES(atomicAnd)
WARPBANK_ATOMIC_SCOPES(atomicOr)
WARPBANK_ATOMIC_SCOPES(atomicXor)
WARPBANK_ATOMIC_SCOPES(atomicCAS)
#undef WARPBANK_ATOMIC_SCOPES

// Output of a kernel. `printf` in device code does nothing, since there is no console to write to, and the compiler notes where;
// its arguments are evaluated. `assert` is in assert.h: a false one ends the kernel with a trap.
#pragma once
#include "barriers.h"

template <class... T>
static __device__ __forceinline__ int printf(const char *, T...)
    __attribute__((diagnose_if(true, "printf in device code does nothing", "warning")));
template <class... T> static __device__ __forceinline__ int printf(const char *, T...) { return 0; }

WARPBANK_DEVICE void warpbank_assert_failed() { __trap(); }

// Barriers of a block or a warp, memory fences, and clocks. `__syncthreads()` is a builtin of the compiler.
#pragma once
#include "language.h"

WARPBANK_DEVICE int __syncthreads_count(int predicate) { return __nvvm_bar0_popc(predicate); }
WARPBANK_DEVICE int __syncthreads_and(int predicate) { return __nvvm_bar0_and(predicate); }
WARPBANK_DEVICE int __syncthreads_or(int predicate) { return __nvvm_bar0_or(predicate); }
WARPBANK_DEVICE void __syncwarp(unsigned int mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }

WARPBANK_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
WARPBANK_DEVICE void __threadfence() { __nvvm_membar_gl(); }
WARPBANK_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }

WARPBANK_DEVICE void __trap() { asm volatile("trap;"); }
WARPBANK_DEVICE void __brkpt() { asm volatile("trap;"); }
WARPBANK_DEVICE long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
WARPBANK_DEVICE int clock() { return __nvvm_read_ptx_sreg_clock(); }
WARPBANK_DEVICE void __nanosleep(unsigned int) {}

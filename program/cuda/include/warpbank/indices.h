// Indices of the thread: threadIdx, blockIdx, blockDim, gridDim and warpSize. Reading `threadIdx.x` reads `%tid.x`.
#pragma once
#include "vectors.h"

#define WARPBANK_INDEX(type, vector, sreg)                                                                 \
    struct type {                                                                                          \
        __declspec(property(get = get_x)) unsigned int x;                                                  \
        __declspec(property(get = get_y)) unsigned int y;                                                  \
        __declspec(property(get = get_z)) unsigned int z;                                                  \
        static __device__ __forceinline__ unsigned int get_x() { return __nvvm_read_ptx_sreg_##sreg##_x(); } \
        static __device__ __forceinline__ unsigned int get_y() { return __nvvm_read_ptx_sreg_##sreg##_y(); } \
        static __device__ __forceinline__ unsigned int get_z() { return __nvvm_read_ptx_sreg_##sreg##_z(); } \
        __device__ __forceinline__ operator dim3() const { return dim3(get_x(), get_y(), get_z()); }        \
        __device__ __forceinline__ operator uint3() const { return uint3{get_x(), get_y(), get_z()}; }      \
        type(const type &) = delete;                                                                       \
        void operator=(const type &) const = delete;                                                       \
    }

WARPBANK_INDEX(warpbank_thread_index, uint3, tid);
WARPBANK_INDEX(warpbank_block_index, uint3, ctaid);
WARPBANK_INDEX(warpbank_block_size, dim3, ntid);
WARPBANK_INDEX(warpbank_grid_size, dim3, nctaid);
#undef WARPBANK_INDEX

extern const __device__ warpbank_thread_index threadIdx;
extern const __device__ warpbank_block_index blockIdx;
extern const __device__ warpbank_block_size blockDim;
extern const __device__ warpbank_grid_size gridDim;

static constexpr int warpSize = 32;

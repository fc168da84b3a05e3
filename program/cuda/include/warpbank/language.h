// Words of the CUDA language that are attributes to the compiler, and the way in which these headers define functions.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device))
#define __grid_constant__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__ inline
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#ifndef __restrict__
#define __restrict__ __restrict
#endif
#define CUDARTAPI
#define CUDART_CB
#define CUDART_VERSION 12000
#define CUDA_VERSION 12000
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0

// A function of these headers: for device code, or for both sides.
#define WARPBANK_DEVICE static __device__ __forceinline__
#define WARPBANK_BOTH static __host__ __device__ __forceinline__
#define WARPBANK_MEMBER __host__ __device__ __forceinline__

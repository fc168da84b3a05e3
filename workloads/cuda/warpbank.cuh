// The part of <cuda_runtime.h> that our kernels use, over clang's NVPTX builtins: no CUDA toolkit is needed to make PTX.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict

typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned long long ull;

struct wb_dim { uint x, y, z; };
struct __attribute__((aligned(8))) float2 { float x, y; };
struct __attribute__((aligned(16))) float4 { float x, y, z, w; };
struct __attribute__((aligned(8))) int2 { int x, y; };
struct __attribute__((aligned(16))) int4 { int x, y, z, w; };

#define WB_DIM(sreg) (wb_dim{(uint)__nvvm_read_ptx_sreg_##sreg##_x(), (uint)__nvvm_read_ptx_sreg_##sreg##_y(), (uint)__nvvm_read_ptx_sreg_##sreg##_z()})
#define threadIdx WB_DIM(tid)
#define blockIdx WB_DIM(ctaid)
#define blockDim WB_DIM(ntid)
#define gridDim WB_DIM(nctaid)

// __syncthreads() is a builtin of this clang.

// Arithmetic with IEEE rounding.
__device__ __forceinline__ float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
__device__ __forceinline__ float fabsf(float x) { return __builtin_fabsf(x); }
__device__ __forceinline__ float fminf(float x, float y) { return __builtin_fminf(x, y); }
__device__ __forceinline__ float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
__device__ __forceinline__ float fmaf(float x, float y, float z) { return __nvvm_fma_rn_f(x, y, z); }
__device__ __forceinline__ int min(int x, int y) { return x < y ? x : y; }
__device__ __forceinline__ int max(int x, int y) { return x > y ? x : y; }
__device__ __forceinline__ int abs(int x) { return x < 0 ? -x : x; }

// Approximate functions of the special function unit, under the names CUDA gives its intrinsics.
__device__ __forceinline__ float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
__device__ __forceinline__ float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950408889634f); }
__device__ __forceinline__ float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471805599453f; }
__device__ __forceinline__ float __sinf(float x) { return __nvvm_sin_approx_f(x); }
__device__ __forceinline__ float __cosf(float x) { return __nvvm_cos_approx_f(x); }
__device__ __forceinline__ float __fdividef(float x, float y) { return __nvvm_div_approx_f(x, y); }

// Warp shuffles. The last operand is CUDA's clamp-and-segment word for a full warp: 31 for down and xor, 0 for up.
__device__ __forceinline__ int __shfl_down_sync(uint mask, int x, int d) { return __nvvm_shfl_sync_down_i32(mask, x, d, 31); }
__device__ __forceinline__ int __shfl_up_sync(uint mask, int x, int d) { return __nvvm_shfl_sync_up_i32(mask, x, d, 0); }
__device__ __forceinline__ float __shfl_down_sync(uint mask, float x, int d) { return __nvvm_shfl_sync_down_f32(mask, x, d, 31); }
__device__ __forceinline__ float __shfl_up_sync(uint mask, float x, int d) { return __nvvm_shfl_sync_up_f32(mask, x, d, 0); }
__device__ __forceinline__ float __shfl_xor_sync(uint mask, float x, int d) { return __nvvm_shfl_sync_bfly_f32(mask, x, d, 31); }

// Atomics on global or shared memory.
__device__ __forceinline__ int atomicAdd(int *p, int x) { return __nvvm_atom_add_gen_i(p, x); }
__device__ __forceinline__ float atomicAdd(float *p, float x) { return __nvvm_atom_add_gen_f(p, x); }
__device__ __forceinline__ int atomicMin(int *p, int x) { return __nvvm_atom_min_gen_i(p, x); }
__device__ __forceinline__ int atomicMax(int *p, int x) { return __nvvm_atom_max_gen_i(p, x); }

// A float4 moved as one 128-bit access, whatever the optimizer makes of the structure around it.
typedef float wb_vector4 __attribute__((ext_vector_type(4)));
__device__ __forceinline__ float4 load4(const float *p)
{
    wb_vector4 v = *(const wb_vector4 *)p;
    return float4{v.x, v.y, v.z, v.w};
}
__device__ __forceinline__ void store4(float *p, float4 v) { *(wb_vector4 *)p = wb_vector4{v.x, v.y, v.z, v.w}; }

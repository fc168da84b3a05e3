// What our kernels share beyond the device header, which `warpbank compile` includes by itself.
#pragma once

typedef unsigned long long ull;

// A vector of indices read as a whole: the PTX of our kernels was made so, and what is committed stays.
#define WB_DIM(sreg) (uint3{(uint)__nvvm_read_ptx_sreg_##sreg##_x(), (uint)__nvvm_read_ptx_sreg_##sreg##_y(), (uint)__nvvm_read_ptx_sreg_##sreg##_z()})
#define threadIdx WB_DIM(tid)
#define blockIdx WB_DIM(ctaid)
#define blockDim WB_DIM(ntid)
#define gridDim WB_DIM(nctaid)

// A float4 moved as one 128-bit access, whatever the optimizer makes of the structure around it.
typedef float wb_vector4 __attribute__((ext_vector_type(4)));
__device__ __forceinline__ float4 load4(const float *p)
{
    wb_vector4 v = *(const wb_vector4 *)p;
    return float4{v.x, v.y, v.z, v.w};
}
__device__ __forceinline__ void store4(float *p, float4 v) { *(wb_vector4 *)p = wb_vector4{v.x, v.y, v.z, v.w}; }

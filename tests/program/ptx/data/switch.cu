// Dense switches, 64-bit and 16-bit arithmetic, predicated code, votes and shuffles, vector loads, launch bounds.
#include "warpbank.cuh"

extern "C" __global__ void __launch_bounds__(256, 2) opcodes(const float4 *in, float4 *out, unsigned long long *wide, short *narrow, int mode) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    float4 v = in[i];
    switch (mode) {
    case 0: v.x += v.y; break;
    case 1: v.y *= v.z; break;
    case 2: v.z = __nvvm_sqrt_rn_f(v.w); break;
    case 3: v.w = __nvvm_ex2_approx_f(v.x); break;
    case 4: v.x = v.y / v.z; break;
    case 5: v.x = __nvvm_shfl_sync_bfly_f32(0xffffffff, v.x, 1, 31); break;
    case 6: v.y = __nvvm_vote_ballot_sync(0xffffffff, v.x > 0.0f) ? 1.0f : -0.1f; break;
    default: v.w = -1.0e-3f;
    }
    out[i] = v;
    wide[i] = wide[i] * 0x9e3779b97f4a7c15ull + (wide[i] >> 7);
    narrow[i] = narrow[i] * 3 - 32000;
    __nvvm_atom_add_gen_i((int *)wide, -5);
}

extern "C" __global__ void doubles(double *x, int n) {
    for (int i = threadIdx.x; i < n; i += 32) {
        if (x[i] < 0.0) return;
        x[i] = x[i] * 1.5 + 0.1;
    }
}

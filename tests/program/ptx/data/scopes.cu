// Everything the parser has to survive in one file: compiled at -O0 it has .local depots, call sequences in nested scopes, inline
// assembly that declares its own registers, module variables with initial values, and two kinds of shared memory.
#include "warpbank.cuh"

struct Pair { int first; float second; };

__constant__ float weights[4] = {1.0f, 0.5f, -0.25f, 3.0f};
__device__ int counter = 7;
__device__ const char greeting[] = "warp";
__device__ int table[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ int *cursor = &table[1][0];
__device__ Pair origin = {3, 2.5f};
extern __shared__ float dynamic[];

__device__ __noinline__ int twice(int x) { return x + x; }

__device__ __noinline__ Pair make_pair(int a, float b) {
    Pair p;
    p.first = twice(a);
    p.second = b;
    return p;
}

__device__ __noinline__ void note(int *where, long long value) { *where = (int)value; }

__device__ int apply(int (*f)(int), int x) { return f(x); }

__device__ __forceinline__ unsigned lane() {
    unsigned id;
    asm("{ .reg .u32 t; mov.u32 t, %%laneid; add.u32 %0, t, 0; }" : "=r"(id));
    return id;
}

extern "C" __global__ void scopes(int *out, const float *in, Pair by_value, double scale, int n) {
    __shared__ float tile[64];
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int local[4];
    for (int k = 0; k < 4; ++k) local[k] = i * k;
    tile[threadIdx.x & 63] = in[i] * weights[i & 3];
    dynamic[threadIdx.x] = (float)scale;
    __syncthreads();
    Pair p = make_pair(local[i & 3], tile[(i + 1) & 63]);
    note(out + 1, (long long)n * lane());
    int (*f)(int) = twice;
    if (i < n) out[i] = p.first + (int)p.second + by_value.first + apply(f, i) + counter + *cursor + greeting[i & 3] + origin.first;
    else if (i > 2 * n) __nvvm_bar0_popc(i);
}

// Sum of an array. Each CTA sums a grid-stride share of it: every thread serially, then a tree in shared memory down to one warp,
// then shuffles. The sums of the CTAs are reduced by a second launch of the same kernel with one CTA.
#include "warpbank.cuh"

#define MAX_THREADS 256

extern "C" __global__ void reduction(const float *__restrict__ in, float *__restrict__ out, int n)
{
    __shared__ float partial[MAX_THREADS];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    partial[t] = sum;
    __syncthreads();

    // blockDim.x is a power of two, at least 64. Whole warps fall idle as the tree narrows.
    for (int half = blockDim.x / 2; half >= 32; half /= 2) {
        if (t < half)
            partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t < 32) {
        sum = partial[t];
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, distance);
        if (t == 0)
            out[blockIdx.x] = sum;
    }
}

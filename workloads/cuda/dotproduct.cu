// Partial dot products: a thread loads 40 numbers of each vector before it adds, so that many accesses are under way at a time.
#include "warpbank.cuh"

#define UNROLL 40

extern "C" __global__ void __launch_bounds__(128) dotproduct(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ partial, int threads)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads)
        return;
    float x[UNROLL], y[UNROLL], sum[4] = {};
#pragma unroll
    for (int j = 0; j < UNROLL; j++) {
        x[j] = a[j * threads + t];
        y[j] = b[j * threads + t];
    }
#pragma unroll
    for (int j = 0; j < UNROLL; j++)
        sum[j % 4] += x[j] * y[j];
    partial[t] = sum[0] + sum[1] + (sum[2] + sum[3]);
}

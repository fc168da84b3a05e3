// Records of 64 numbers are scaled to length one, a record per thread: it is kept in registers from the loads to the stores, since its
// length is known only behind the last load. Number j of record t is at j * n + t.
#include "warpbank.cuh"

#define LENGTH 64

extern "C" __global__ void __launch_bounds__(128) normalize(const float *__restrict__ records, float *__restrict__ out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    float x[LENGTH], part[4] = {};
#pragma unroll
    for (int j = 0; j < LENGTH; j++)
        x[j] = records[j * n + t];
#pragma unroll
    for (int j = 0; j < LENGTH; j++)
        part[j % 4] += x[j] * x[j];
    float scale = rsqrtf(part[0] + part[1] + part[2] + part[3]);
#pragma unroll
    for (int j = 0; j < LENGTH; j++)
        out[j * n + t] = x[j] * scale;
}

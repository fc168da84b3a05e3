// c = a + b, one element per thread; the last warp is partial.
#include "warpbank.cuh"

extern "C" __global__ void vectoradd(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

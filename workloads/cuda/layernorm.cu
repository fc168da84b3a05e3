// Layer norm: every row is brought to mean 0 and variance 1, then scaled and shifted column by column. A warp makes a row, in two passes: mean
// and variance by shuffles, then the results.
#include "warpbank.cuh"

#define WARPS 4

__device__ __forceinline__ float over_warp(float sum)
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    return sum;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) layernorm(
    const float *__restrict__ x, const float *__restrict__ scale, const float *__restrict__ shift, float *__restrict__ out,
    int rows, int columns, float epsilon)
{
    int row = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const float *in = x + row * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int i = lane; i < columns; i += 32)
        sum += in[i];
    float mean = __fdividef(over_warp(sum), (float)columns);
    for (int i = lane; i < columns; i += 32) {
        float distance = in[i] - mean;
        squares += distance * distance;
    }
    float factor = rsqrtf(__fdividef(over_warp(squares), (float)columns) + epsilon);
    for (int i = lane; i < columns; i += 32)
        out[row * columns + i] = (in[i] - mean) * factor * scale[i] + shift[i];
}

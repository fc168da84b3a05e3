// Column pass of a separable convolution: a thread makes 16 points of a column of the image from 40 that it keeps in registers. The
// image has a rim of 12 rows above and below.
#include "warpbank.cuh"

#define RADIUS 12
#define POINTS 16

__constant__ float taps[2 * RADIUS + 1];

extern "C" __global__ void __launch_bounds__(128) convolution(const float *__restrict__ image, float *__restrict__ out, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y0 = blockIdx.y * POINTS;
    if (x >= width)
        return;
    float value[POINTS + 2 * RADIUS], sum[POINTS] = {};
#pragma unroll
    for (int y = 0; y < POINTS + 2 * RADIUS; y++)
        value[y] = image[(y0 + y) * width + x];
#pragma unroll
    for (int r = 0; r <= 2 * RADIUS; r++)
#pragma unroll
        for (int y = 0; y < POINTS; y++)
            sum[y] += taps[r] * value[y + r];
#pragma unroll
    for (int y = 0; y < POINTS; y++)
        out[(y0 + y) * width + x] = sum[y];
}

// C = A B for a tall A (column-major, m x k) and a narrow B (k x 32): a thread makes a row of C, 32 sums in registers. The warp
// reads a column of A in one access, and all threads read the same row of B as 128-bit words.
#include "warpbank.cuh"

#define COLUMNS 32

extern "C" __global__ void __launch_bounds__(128) tallgemm(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m, int k)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m)
        return;
    float sum[COLUMNS] = {};
    for (int i = 0; i < k; i++) {
        float value = a[i * m + row];
        float4 line[COLUMNS / 4];
#pragma unroll
        for (int j = 0; j < COLUMNS / 4; j++)
            line[j] = load4(&b[i * COLUMNS + 4 * j]);
#pragma unroll
        for (int j = 0; j < COLUMNS / 4; j++) {
            sum[4 * j + 0] += value * line[j].x;
            sum[4 * j + 1] += value * line[j].y;
            sum[4 * j + 2] += value * line[j].z;
            sum[4 * j + 3] += value * line[j].w;
        }
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
        c[j * m + row] = sum[j];
}

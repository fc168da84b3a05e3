// C = max(0, A B^T + bias): a fully connected layer whose inputs A and weights B both lie with their k numbers side by side. A CTA of 128
// threads makes a 16 x 32 tile of C, a thread 2 x 2 sums, through 16-deep tiles in shared memory.
#include "warpbank.cuh"

#define ROWS 16
#define COLUMNS 32
#define DEPTH 16

extern "C" __global__ void __launch_bounds__(128) gemm_nt(
    const float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ bias, float *__restrict__ c,
    int m, int n, int k)
{
    __shared__ float tile_a[ROWS][DEPTH + 1], tile_b[COLUMNS][DEPTH + 1];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    int row0 = blockIdx.y * ROWS, col0 = blockIdx.x * COLUMNS;
    float sum[2][2] = {};
    for (int k0 = 0; k0 < k; k0 += DEPTH) {
        int kk = t % DEPTH, line = t / DEPTH;
        bool inside = k0 + kk < k;
#pragma unroll
        for (int part = 0; part < ROWS; part += 8)
            tile_a[line + part][kk] = inside && row0 + line + part < m ? a[(row0 + line + part) * k + k0 + kk] : 0.0f;
#pragma unroll
        for (int part = 0; part < COLUMNS; part += 8)
            tile_b[line + part][kk] = inside && col0 + line + part < n ? b[(col0 + line + part) * k + k0 + kk] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++)
#pragma unroll
            for (int y = 0; y < 2; y++)
#pragma unroll
                for (int x = 0; x < 2; x++)
                    sum[y][x] += tile_a[ty + 8 * y][i] * tile_b[tx + 16 * x][i];
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < 2; y++)
#pragma unroll
        for (int x = 0; x < 2; x++) {
            int row = row0 + ty + 8 * y, col = col0 + tx + 16 * x;
            if (row < m && col < n)
                c[row * n + col] = fmaxf(sum[y][x] + bias[col], 0.0f);
        }
}

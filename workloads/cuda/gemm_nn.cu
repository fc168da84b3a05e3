// C = A B, row-major: the product of a layer with its weights. A CTA of 64 threads makes a 32 x 32 tile of C, a thread 4 x 4 sums; tiles of A
// and B pass through shared memory. m, n, k need not be multiples of anything.
#include "warpbank.cuh"

#define TILE 32
#define DEPTH 8

extern "C" __global__ void __launch_bounds__(64) gemm_nn(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m, int n, int k)
{
    __shared__ float tile_a[DEPTH][TILE + 1], tile_b[DEPTH][TILE];
    int t = threadIdx.x, tx = t % 8, ty = t / 8;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < k; k0 += DEPTH) {
#pragma unroll
        for (int part = 0; part < 4; part++) {
            int item = t + 64 * part;
            int ra = item / DEPTH, ka = item % DEPTH, kb = item / TILE, cb = item % TILE;
            tile_a[ka][ra] = row0 + ra < m && k0 + ka < k ? a[(row0 + ra) * k + k0 + ka] : 0.0f;
            tile_b[kb][cb] = col0 + cb < n && k0 + kb < k ? b[(k0 + kb) * n + col0 + cb] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++)
#pragma unroll
            for (int y = 0; y < 4; y++)
#pragma unroll
                for (int x = 0; x < 4; x++)
                    sum[y][x] += tile_a[i][ty + 8 * y] * tile_b[i][tx + 8 * x];
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < 4; y++)
#pragma unroll
        for (int x = 0; x < 4; x++) {
            int row = row0 + ty + 8 * y, col = col0 + tx + 8 * x;
            if (row < m && col < n)
                c[row * n + col] = sum[y][x];
        }
}

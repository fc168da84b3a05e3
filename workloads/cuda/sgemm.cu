// C = alpha * A * B + beta * C, row-major. A CTA of 64 threads makes a 64 x 64 tile of C; a thread keeps 8 x 8 sums in
// registers and reads 16 values from shared memory for every 64 multiply-adds. k and n must be multiples of 4 (float4 loads);
// m and n need not be multiples of 64.
#include "warpbank.cuh"

#define TILE 64   // rows and columns of C per CTA
#define DEPTH 8   // columns of A, rows of B, staged at a time

// A thread's 8 rows (and 8 columns) are two groups of 4, half a tile apart: neighbouring threads then read neighbouring
// float4s of shared memory, without bank conflicts.
extern "C" __global__ void __launch_bounds__(64) sgemm(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
    int m, int n, int k, float alpha, float beta)
{
    __shared__ __attribute__((aligned(16))) float tile_a[DEPTH][TILE];  // transposed: a thread reads 4 rows as one float4
    __shared__ __attribute__((aligned(16))) float tile_b[DEPTH][TILE];
    int t = threadIdx.x;
    int tx = t % 8, ty = t / 8;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float sum[8][8] = {};
    const float4 zero = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int k0 = 0; k0 < k; k0 += DEPTH) {
        // Each operand tile is 128 float4s: two per thread.
#pragma unroll
        for (int part = 0; part < 2; part++) {
            int item = t + 64 * part;
            int ra = item / 2, ka = item % 2 * 4;
            float4 va = row0 + ra < m && k0 + ka < k ? load4(&a[(row0 + ra) * k + k0 + ka]) : zero;
            tile_a[ka + 0][ra] = va.x;
            tile_a[ka + 1][ra] = va.y;
            tile_a[ka + 2][ra] = va.z;
            tile_a[ka + 3][ra] = va.w;

            int kb = item / 16, cb = item % 16 * 4;
            store4(&tile_b[kb][cb], col0 + cb < n && k0 + kb < k ? load4(&b[(k0 + kb) * n + col0 + cb]) : zero);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            float4 a0 = load4(&tile_a[i][4 * ty]), a1 = load4(&tile_a[i][4 * ty + 32]);
            float4 b0 = load4(&tile_b[i][4 * tx]), b1 = load4(&tile_b[i][4 * tx + 32]);
            float av[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            float bv[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
            for (int y = 0; y < 8; y++)
#pragma unroll
                for (int x = 0; x < 8; x++)
                    sum[y][x] += av[y] * bv[x];
        }
        __syncthreads();
    }

#pragma unroll
    for (int y = 0; y < 8; y++) {
        int row = row0 + 4 * ty + y % 4 + y / 4 * 32;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int col = col0 + 4 * tx + 32 * half;
            if (row < m && col < n) {
                float *p = &c[row * n + col];
                float4 old = load4(p);
                old.x = alpha * sum[y][4 * half + 0] + beta * old.x;
                old.y = alpha * sum[y][4 * half + 1] + beta * old.y;
                old.z = alpha * sum[y][4 * half + 2] + beta * old.z;
                old.w = alpha * sum[y][4 * half + 3] + beta * old.w;
                store4(p, old);
            }
        }
    }
}

// C = A * B, row-major, one element of C per thread. Both operands pass through 16 x 16 tiles in shared memory, so that each
// element is read from global memory once per tile instead of once per product. Tiles that hang over an edge are filled with 0.
#include "warpbank.cuh"

#define TILE 16

extern "C" __global__ void matrixmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                     int m, int n, int k)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;

    for (int k0 = 0; k0 < k; k0 += TILE) {
        tile_a[ty][tx] = row < m && k0 + tx < k ? a[row * k + k0 + tx] : 0.0f;
        tile_b[ty][tx] = col < n && k0 + ty < k ? b[(k0 + ty) * n + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            sum += tile_a[ty][i] * tile_b[i][tx];
        __syncthreads();  // the next tile overwrites this one
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}

// arch: sm_80
// C = A * B on the tensor unit: half-precision operands, single-precision sums. A is m x k row-major, B is given transposed
// (n x k row-major), as mma's .col operand wants it; k is a multiple of 16, m and n are even but otherwise free.
// A CTA of 4 warps makes a 64 x 32 tile of C; each warp makes 32 x 16 of it, as 2 x 2 tiles of 16 x 8.
#include "warpbank.cuh"

#define TILE_M 64
#define TILE_N 32
#define DEPTH 16
#define PITCH 10  // 32-bit words per row of a staged tile: 8 of data, 2 of padding against bank conflicts

// One mma instruction. Registers hold two halves each. With g = lane / 4 and t = lane % 4, A's registers are rows g and g + 8 of
// columns 2t, 2t+1 (then again 8 columns on), B's are rows 2t, 2t+1 of column g, C's are (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1).
__device__ __forceinline__ void mma_k16(float (&c)[4], uint a0, uint a1, uint a2, uint a3, uint b0, uint b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void mma_k8(float (&c)[4], uint a0, uint a1, uint b0)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(b0));
}

// `a` and `b` are arrays of half pairs, so a row has k / 2 words. K is the depth of the instruction to use: 16, or twice 8.
template <int K>
static __device__ __forceinline__ void gemm(const uint *__restrict__ a, const uint *__restrict__ b, float *__restrict__ c,
                                     int m, int n, int k)
{
    __shared__ uint tile_a[TILE_M][PITCH];
    __shared__ uint tile_b[TILE_N][PITCH];
    int thread = threadIdx.x;
    int lane = thread % 32, warp = thread / 32;
    int g = lane / 4, t = lane % 4;
    int row0 = blockIdx.y * TILE_M, col0 = blockIdx.x * TILE_N;
    int warp_row = warp / 2 * 32, warp_col = warp % 2 * 16;
    int words = k / 2;
    float sum[2][2][4] = {};

    for (int k0 = 0; k0 < words; k0 += DEPTH / 2) {
        // Thread i stages word i % 8 of row i / 8: 16 rows at a time.
        int word = thread % 8;
#pragma unroll
        for (int r = thread / 8, part = 0; part < TILE_M / 16; part++, r += 16)
            tile_a[r][word] = row0 + r < m ? a[(row0 + r) * words + k0 + word] : 0;
#pragma unroll
        for (int r = thread / 8, part = 0; part < TILE_N / 16; part++, r += 16)
            tile_b[r][word] = col0 + r < n ? b[(col0 + r) * words + k0 + word] : 0;
        __syncthreads();
#pragma unroll
        for (int y = 0; y < 2; y++) {
            uint *upper = tile_a[warp_row + 16 * y + g], *lower = tile_a[warp_row + 16 * y + g + 8];
#pragma unroll
            for (int x = 0; x < 2; x++) {
                uint *right = tile_b[warp_col + 8 * x + g];
                if (K == 16) {
                    mma_k16(sum[y][x], upper[t], lower[t], upper[t + 4], lower[t + 4], right[t], right[t + 4]);
                } else {
                    mma_k8(sum[y][x], upper[t], lower[t], right[t]);
                    mma_k8(sum[y][x], upper[t + 4], lower[t + 4], right[t + 4]);
                }
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (int y = 0; y < 2; y++)
#pragma unroll
        for (int x = 0; x < 2; x++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int row = row0 + warp_row + 16 * y + g + 8 * half;
                int col = col0 + warp_col + 8 * x + 2 * t;
                if (row < m && col < n)
                    *(float2 *)&c[row * n + col] = float2{sum[y][x][2 * half], sum[y][x][2 * half + 1]};
            }
}

extern "C" __global__ void mma_gemm_k16(const uint *__restrict__ a, const uint *__restrict__ b, float *__restrict__ c,
                                        int m, int n, int k)
{
    gemm<16>(a, b, c, m, n, k);
}

extern "C" __global__ void mma_gemm_k8(const uint *__restrict__ a, const uint *__restrict__ b, float *__restrict__ c,
                                       int m, int n, int k)
{
    gemm<8>(a, b, c, m, n, k);
}

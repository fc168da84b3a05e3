// Sums of absolute differences for H.264 motion estimation. For every 16 x 16 macroblock of the current frame, and every
// displacement of at most `range` pixels, `sad_4x4` compares each of its sixteen 4 x 4 blocks with the reference frame;
// `sad_larger` adds those up to 8 x 8 and 16 x 16. Outside the reference frame its border pixels are repeated.
//
// blockIdx: x, y the macroblock, z the 4 x 4 block in it (in raster order). Threads stride over the displacements.
#include "warpbank.cuh"

extern "C" __global__ void sad_4x4(const uchar *__restrict__ current, const uchar *__restrict__ reference,
                                   ushort *__restrict__ sad, int width, int height, int range)
{
    __shared__ uchar block[16];
    int part = blockIdx.z;
    int x0 = blockIdx.x * 16 + part % 4 * 4, y0 = blockIdx.y * 16 + part / 4 * 4;
    int t = threadIdx.x;
    if (t < 16)
        block[t] = current[(y0 + t / 4) * width + x0 + t % 4];
    __syncthreads();

    int side = 2 * range + 1, displacements = side * side;
    int macroblock = blockIdx.y * gridDim.x + blockIdx.x;
    for (int d = t; d < displacements; d += blockDim.x) {
        int dx = d % side - range, dy = d / side - range;
        int sum = 0;
#pragma unroll
        for (int y = 0; y < 4; y++) {
            int row = min(max(y0 + y + dy, 0), height - 1) * width;
#pragma unroll
            for (int x = 0; x < 4; x++) {
                int col = min(max(x0 + x + dx, 0), width - 1);
                sum += abs(block[4 * y + x] - reference[row + col]);
            }
        }
        sad[(macroblock * 16 + part) * displacements + d] = sum;
    }
}

extern "C" __global__ void sad_larger(const ushort *__restrict__ sad, ushort *__restrict__ sad_8x8,
                                      ushort *__restrict__ sad_16x16, int displacements)
{
    int macroblock = blockIdx.x;
    for (int d = threadIdx.x; d < displacements; d += blockDim.x) {
        int whole = 0;
#pragma unroll
        for (int quarter = 0; quarter < 4; quarter++) {
            int corner = quarter / 2 * 8 + quarter % 2 * 2;  // its upper left 4 x 4 block
            const ushort *p = &sad[(macroblock * 16 + corner) * displacements + d];
            int sum = p[0] + p[displacements] + p[4 * displacements] + p[5 * displacements];
            sad_8x8[(macroblock * 4 + quarter) * displacements + d] = sum;
            whole += sum;
        }
        sad_16x16[macroblock * displacements + d] = whole;
    }
}

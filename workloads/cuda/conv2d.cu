// Convolution of images with 3 x 3 filters as one matrix product: rows are filters, columns are pixels of all images, and the depth is
// channel x 9. The matrix of pixels is never stored: a thread computes where in the images its entry lies, zero at the rim. A CTA of 64
// threads makes 16 filters at 32 pixels, a thread 4 x 2 sums. Images are stored image by image, channel by channel.
#include "warpbank.cuh"

#define FILTERS 16
#define PIXELS 32
#define DEPTH 8

extern "C" __global__ void __launch_bounds__(64) conv2d(
    const float *__restrict__ images, const float *__restrict__ filters, float *__restrict__ out,
    int count, int channels, int height, int width, int features)
{
    __shared__ float tile_f[DEPTH][FILTERS + 1], tile_p[DEPTH][PIXELS];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    int row0 = blockIdx.y * FILTERS, col0 = blockIdx.x * PIXELS;
    int area = height * width, pixels = count * area, depth = channels * 9;
    int column = col0 + t % PIXELS;  // the pixel whose entries this thread loads
    int image = column / area, y = column % area / width, x = column % width;
    float sum[4][2] = {};
    for (int k0 = 0; k0 < depth; k0 += DEPTH) {
#pragma unroll
        for (int part = 0; part < 2; part++) {
            int item = t + 64 * part, f = item / DEPTH, k = k0 + item % DEPTH;
            tile_f[item % DEPTH][f] = row0 + f < features && k < depth ? filters[(row0 + f) * depth + k] : 0.0f;
        }
#pragma unroll
        for (int part = 0; part < DEPTH; part += 2) {
            int k = k0 + t / PIXELS + part;
            int channel = k / 9, dy = k % 9 / 3 - 1, dx = k % 3 - 1;
            bool inside = k < depth && column < pixels && y + dy >= 0 && y + dy < height && x + dx >= 0 && x + dx < width;
            tile_p[t / PIXELS + part][t % PIXELS] =
                inside ? images[((image * channels + channel) * height + y + dy) * width + x + dx] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++)
#pragma unroll
            for (int f = 0; f < 4; f++)
#pragma unroll
                for (int p = 0; p < 2; p++)
                    sum[f][p] += tile_f[i][ty + 4 * f] * tile_p[i][tx + 16 * p];
        __syncthreads();
    }
#pragma unroll
    for (int p = 0; p < 2; p++) {
        int pixel = col0 + tx + 16 * p;
#pragma unroll
        for (int f = 0; f < 4; f++) {
            int feature = row0 + ty + 4 * f;
            if (feature < features && pixel < pixels)
                out[(pixel / area * features + feature) * area + pixel % area] = sum[f][p];
        }
    }
}

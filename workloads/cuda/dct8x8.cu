// 8 x 8 discrete cosine transform of an image and its inverse, as in JPEG. One thread per pixel, two 8 x 8 blocks per CTA
// (threadIdx.z). The 8 x 8 matrix of the transform is in constant memory, filled by the host. Blocks that hang over the
// image's edge repeat its last row and column, so the array of coefficients is `pitch` = 8 * ceil(width / 8) wide.
#include "warpbank.cuh"

__constant__ float basis[8][8];  // basis[u][x]: an orthogonal matrix

extern "C" __global__ void dct_forward(const float *__restrict__ image, float *__restrict__ coefficients,
                                       int width, int height, int pitch)
{
    __shared__ float pixels[2][8][8], half_done[2][8][8];
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    int col = (2 * blockIdx.x + z) * 8 + x, row = blockIdx.y * 8 + y;
    pixels[z][y][x] = image[min(row, height - 1) * width + min(col, width - 1)] - 128.0f;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += basis[y][i] * pixels[z][i][x];
    half_done[z][y][x] = sum;
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += half_done[z][y][i] * basis[x][i];
    if (col < pitch)  // the last CTA of a row may have only one block
        coefficients[row * pitch + col] = sum;
}

extern "C" __global__ void dct_inverse(const float *__restrict__ coefficients, float *__restrict__ image,
                                       int width, int height, int pitch)
{
    __shared__ float values[2][8][8], half_done[2][8][8];
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    int col = (2 * blockIdx.x + z) * 8 + x, row = blockIdx.y * 8 + y;
    values[z][y][x] = col < pitch ? coefficients[row * pitch + col] : 0.0f;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += basis[i][y] * values[z][i][x];
    half_done[z][y][x] = sum;
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += half_done[z][y][i] * basis[i][x];
    if (row < height && col < width)
        image[row * width + col] = sum + 128.0f;
}

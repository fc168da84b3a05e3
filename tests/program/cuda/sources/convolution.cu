// Convolution of an image with a filter in constant memory, tile and halo in shared memory.
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RADIUS 2
#define WIDTH (2 * RADIUS + 1)
#define TILE 16

static __constant__ float filter[WIDTH][WIDTH];
__constant__ int edge_mode = 1;

__host__ __device__ inline int clamp(int x, int low, int high) { return x < low ? low : (x > high ? high : x); }

__global__ void convolve(const unsigned char *image, float *out, int width, int height)
{
    __shared__ float tile[TILE + 2 * RADIUS][TILE + 2 * RADIUS];
    const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int dy = threadIdx.y; dy < TILE + 2 * RADIUS; dy += TILE)
        for (int dx = threadIdx.x; dx < TILE + 2 * RADIUS; dx += TILE) {
            int sx = (int)(blockIdx.x * TILE) + dx - RADIUS, sy = (int)(blockIdx.y * TILE) + dy - RADIUS;
            bool inside = sx >= 0 && sx < width && sy >= 0 && sy < height;
            int cx = clamp(sx, 0, width - 1), cy = clamp(sy, 0, height - 1);
            tile[dy][dx] = inside || edge_mode ? image[cy * width + cx] / 255.0f : 0.0f;
        }
    __syncthreads();
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < WIDTH; j++) sum += filter[i][j] * tile[threadIdx.y + i][threadIdx.x + j];
    out[y * width + x] = sum;
}

int main()
{
    const int width = 45, height = 37;
    unsigned char *image = (unsigned char *)malloc(width * height);
    float *out = (float *)malloc(width * height * sizeof(float)), h_filter[WIDTH][WIDTH], total = 0;
    for (int i = 0; i < width * height; i++) image[i] = (unsigned char)(i * 37 + i / 5);
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < WIDTH; j++) {
            h_filter[i][j] = expf(-0.3f * ((i - RADIUS) * (i - RADIUS) + (j - RADIUS) * (j - RADIUS)));
            total += h_filter[i][j];
        }
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < WIDTH; j++) h_filter[i][j] /= total;
    unsigned char *d_image;
    float *d_out;
    cudaMalloc(&d_image, width * height);
    cudaMalloc(&d_out, width * height * sizeof(float));
    cudaMemcpy(d_image, image, width * height, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(filter, h_filter, sizeof(h_filter));
    int wrong = 0;
    for (int mode = 1; mode >= 0; mode--) {
        cudaMemcpyToSymbol(edge_mode, &mode, sizeof(int));
        dim3 threads(TILE, TILE), blocks((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
        convolve<<<blocks, threads>>>(d_image, d_out, width, height);
        cudaMemcpy(out, d_out, width * height * sizeof(float), cudaMemcpyDeviceToHost);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                double sum = 0;
                for (int i = -RADIUS; i <= RADIUS; i++)
                    for (int j = -RADIUS; j <= RADIUS; j++) {
                        bool inside = x + j >= 0 && x + j < width && y + i >= 0 && y + i < height;
                        int at = clamp(y + i, 0, height - 1) * width + clamp(x + j, 0, width - 1);
                        if (inside || mode) sum += h_filter[i + RADIUS][j + RADIUS] * (image[at] / 255.0);
                    }
                if (fabs(sum - out[y * width + x]) > 1e-5) wrong++;
            }
    }
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}

// Histogram of bytes: one in shared memory for each block, merged by atomics on unsigned integers.
#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BINS 64

__global__ void histogram(const uint8_t *data, unsigned int *bins, size_t n)
{
    __shared__ unsigned int local[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)blockDim.x * gridDim.x)
        atomicAdd(&local[data[i] >> 2], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        if (local[i]) atomicAdd(&bins[i], local[i]);
}

__global__ void extremes(const unsigned int *bins, unsigned int *most, unsigned int *least, unsigned int *set)
{
    atomicMax(most, bins[threadIdx.x]);
    atomicMin(least, bins[threadIdx.x]);
    if (bins[threadIdx.x] & 1) atomicOr(&set[threadIdx.x / 32], 1u << (threadIdx.x % 32));
    atomicXor(&set[2], bins[threadIdx.x]);
    atomicInc(&set[3], 49);
}

int main(int argc, char **argv)
{
    (void)argc, (void)argv;
    static uint8_t data[10000];
    unsigned int expected[BINS] = {0}, found[BINS], state = 12345;
    for (size_t i = 0; i < sizeof data; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (uint8_t)(state >> 24) & (uint8_t)(state >> 16);
        expected[data[i] >> 2]++;
    }
    uint8_t *d_data;
    unsigned int *d_bins, *d_extra;
    cudaMalloc((void **)&d_data, sizeof data);
    cudaMalloc((void **)&d_bins, sizeof found);
    cudaMalloc((void **)&d_extra, 6 * sizeof(unsigned int));
    cudaMemcpy(d_data, data, sizeof data, cudaMemcpyHostToDevice);
    cudaMemset(d_bins, 0, sizeof found);
    histogram<<<4, 128>>>(d_data, d_bins, sizeof data);
    cudaMemcpy(found, d_bins, sizeof found, cudaMemcpyDeviceToHost);

    unsigned int extra[6] = {0, 0xffffffffu, 0, 0, 0, 0}, want[6] = {0, 0xffffffffu, 0, 0, 0, BINS % 50};
    for (int i = 0; i < BINS; i++) {
        want[0] = expected[i] > want[0] ? expected[i] : want[0];
        want[1] = expected[i] < want[1] ? expected[i] : want[1];
        if (expected[i] & 1) want[2 + i / 32] |= 1u << (i % 32);
        want[4] ^= expected[i];
    }
    cudaMemcpy(d_extra, extra, sizeof extra, cudaMemcpyHostToDevice);
    extremes<<<1, BINS>>>(d_bins, d_extra, d_extra + 1, d_extra + 2);
    cudaMemcpy(extra, d_extra, sizeof extra, cudaMemcpyDeviceToHost);
    int same = !memcmp(expected, found, sizeof found) && !memcmp(extra, want, sizeof want);
    printf("%s\n", same ? "PASSED" : "FAILED");
    cudaDeviceReset();
    return same ? 0 : 1;
}

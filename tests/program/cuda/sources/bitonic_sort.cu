// Bitonic sort of keys with values, in shared memory and across blocks.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned int uint;

#define SHARED 256

__device__ inline void compare(uint &keyA, uint &valA, uint &keyB, uint &valB, uint ascending)
{
    if ((keyA > keyB) == ascending) {
        uint t = keyA;
        keyA = keyB;
        keyB = t;
        t = valA;
        valA = valB;
        valB = t;
    }
}

__global__ void sort_shared(uint *keys, uint *values)
{
    __shared__ uint k[SHARED], v[SHARED];
    uint base = blockIdx.x * SHARED, t = threadIdx.x;
    k[t] = keys[base + t];
    v[t] = values[base + t];
    k[t + SHARED / 2] = keys[base + t + SHARED / 2];
    v[t + SHARED / 2] = values[base + t + SHARED / 2];
    for (uint size = 2; size <= SHARED; size <<= 1) {
        uint direction = size == SHARED ? !(blockIdx.x & 1) : (t & (size / 2)) == 0;
        for (uint stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            uint at = 2 * t - (t & (stride - 1));
            compare(k[at], v[at], k[at + stride], v[at + stride], direction);
        }
    }
    __syncthreads();
    keys[base + t] = k[t];
    values[base + t] = v[t];
    keys[base + t + SHARED / 2] = k[t + SHARED / 2];
    values[base + t + SHARED / 2] = v[t + SHARED / 2];
}

__global__ void merge(uint *keys, uint *values, uint size, uint stride)
{
    uint t = blockIdx.x * blockDim.x + threadIdx.x;
    uint at = 2 * t - (t & (stride - 1));
    uint direction = (t & (size / 2)) == 0;
    compare(keys[at], values[at], keys[at + stride], values[at + stride], direction);
}

static int ascending(const void *a, const void *b)
{
    uint x = *(const uint *)a, y = *(const uint *)b;
    return x < y ? -1 : x > y;
}

int main()
{
    const uint n = 1024;
    uint keys[n], values[n], sorted[n], original[n];
    srand(3);
    for (uint i = 0; i < n; i++) {
        keys[i] = original[i] = sorted[i] = (uint)rand() % 5000;
        values[i] = i;
    }
    uint *d_keys, *d_values;
    cudaMalloc((void **)&d_keys, sizeof keys);
    cudaMalloc((void **)&d_values, sizeof values);
    cudaMemcpy(d_keys, keys, sizeof keys, cudaMemcpyHostToDevice);
    cudaMemcpy(d_values, values, sizeof values, cudaMemcpyHostToDevice);
    sort_shared<<<n / SHARED, SHARED / 2>>>(d_keys, d_values);
    for (uint size = 2 * SHARED; size <= n; size <<= 1)
        for (uint stride = size / 2; stride > 0; stride >>= 1) merge<<<n / 256, 128>>>(d_keys, d_values, size, stride);
    cudaMemcpy(keys, d_keys, sizeof keys, cudaMemcpyDeviceToHost);
    cudaMemcpy(values, d_values, sizeof values, cudaMemcpyDeviceToHost);
    qsort(sorted, n, sizeof(uint), ascending);
    int wrong = 0;
    for (uint i = 0; i < n; i++) {
        if (keys[i] != sorted[i] || original[values[i]] != keys[i]) wrong++;
    }
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}

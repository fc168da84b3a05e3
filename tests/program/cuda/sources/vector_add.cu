// Element-wise sum of two vectors, with the error checks and the timing that such a first program has.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));        \
            exit(EXIT_FAILURE);                                                                  \
        }                                                                                        \
    } while (0)

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main(void)
{
    const int n = 1000;
    size_t size = n * sizeof(float);
    float *h_a = (float *)malloc(size), *h_b = (float *)malloc(size), *h_c = (float *)malloc(size);
    for (int i = 0; i < n; ++i) {
        h_a[i] = i * 0.5f;
        h_b[i] = sinf((float)i);
    }
    float *d_a = NULL, *d_b = NULL, *d_c = NULL;
    CHECK(cudaMalloc(&d_a, size));
    CHECK(cudaMalloc((void **)&d_b, size));
    CHECK(cudaMalloc(&d_c, size));
    CHECK(cudaMemcpy(d_a, h_a, size, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, h_b, size, cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    int threads = 256, blocks = (n + threads - 1) / threads;
    vector_add<<<blocks, threads>>>(d_a, d_b, d_c, n);
    CHECK(cudaGetLastError());
    cudaEventRecord(stop);
    CHECK(cudaDeviceSynchronize());
    float ms;
    cudaEventElapsedTime(&ms, start, stop);
    CHECK(cudaMemcpy(h_c, d_c, size, cudaMemcpyDeviceToHost));

    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        if (fabs(h_a[i] + h_b[i] - h_c[i]) > 1e-6) wrong++;
    }
    printf("%d of %d wrong, %.3f ms\n", wrong, n, ms);
    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
    free(h_a);
    free(h_b);
    free(h_c);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

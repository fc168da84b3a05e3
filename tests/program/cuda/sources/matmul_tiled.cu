// Matrix product through tiles in shared memory, for any sizes.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <vector>

template <int TILE>
__global__ void matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int M, int N, int K)
{
    __shared__ float sA[TILE][TILE];
    __shared__ float sB[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        sA[ty][tx] = row < M && t * TILE + tx < K ? A[row * K + t * TILE + tx] : 0.0f;
        sB[ty][tx] = col < N && t * TILE + ty < K ? B[(t * TILE + ty) * N + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) sum += sA[ty][k] * sB[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

template <int TILE> static int test(int M, int N, int K)
{
    std::vector<float> a(M * K), b(K * N), c(M * N);
    for (int i = 0; i < M * K; ++i) a[i] = (i % 13) * 0.25f - 1.0f;
    for (int i = 0; i < K * N; ++i) b[i] = (i % 7) * 0.5f - 1.5f;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, a.size() * sizeof(float));
    cudaMalloc(&dB, b.size() * sizeof(float));
    cudaMalloc(&dC, c.size() * sizeof(float));
    cudaMemcpy(dA, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);
    dim3 blockDim(TILE, TILE);
    dim3 gridDim((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul<TILE><<<gridDim, blockDim>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(c.data(), dC, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            double expected = 0;
            for (int k = 0; k < K; ++k) expected += (double)a[i * K + k] * b[k * N + j];
            if (std::fabs(c[i * N + j] - expected) > 1e-3) wrong++;
        }
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return wrong;
}

int main()
{
    int wrong = test<16>(37, 29, 45) + test<8>(16, 24, 8);
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}

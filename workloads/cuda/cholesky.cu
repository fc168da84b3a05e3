// Symmetric systems of eight equations, one per thread: factors L D L^T and solution all in registers, between 44 loads and eight
// stores. Entry e of system t is at e * n + t.
#include "warpbank.cuh"

#define ORDER 8

extern "C" __global__ void __launch_bounds__(128) cholesky(
    const float *__restrict__ matrix, const float *__restrict__ right, float *__restrict__ solution, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    float a[ORDER][ORDER], x[ORDER];
    int entry = 0;
#pragma unroll
    for (int i = 0; i < ORDER; i++)
#pragma unroll
        for (int j = 0; j <= i; j++)
            a[i][j] = matrix[entry++ * n + t];
#pragma unroll
    for (int i = 0; i < ORDER; i++)
        x[i] = right[i * n + t];
#pragma unroll
    for (int k = 0; k < ORDER; k++) {
        float inverse = __fdividef(1.0f, a[k][k]);
#pragma unroll
        for (int i = k + 1; i < ORDER; i++) {
            float factor = a[i][k] * inverse;
#pragma unroll
            for (int j = k + 1; j <= i; j++)
                a[i][j] -= factor * a[j][k];
            x[i] -= factor * x[k];
        }
        a[k][k] = inverse;
    }
#pragma unroll
    for (int i = ORDER - 1; i >= 0; i--) {
#pragma unroll
        for (int j = i + 1; j < ORDER; j++)
            x[i] -= a[j][i] * x[j];
        x[i] *= a[i][i];
        solution[i * n + t] = x[i];
    }
}

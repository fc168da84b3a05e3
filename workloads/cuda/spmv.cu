// y = A x for a sparse matrix in compressed rows (CSR), one row per thread: rows of different lengths make the lanes of a warp
// leave the loop at different times.
#include "warpbank.cuh"

extern "C" __global__ void spmv(const int *__restrict__ row_start, const int *__restrict__ column,
                                const float *__restrict__ value, const float *__restrict__ x, float *__restrict__ y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    int end = row_start[row + 1];
#pragma unroll 1
    for (int i = row_start[row]; i < end; i++)
        sum += value[i] * x[column[i]];
    y[row] = sum;
}

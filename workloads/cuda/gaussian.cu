// Forward elimination of the system a x = b without pivoting: two launches for each column t.
#include "warpbank.cuh"

// Multipliers of column t: factor[row][t] = a[row][t] / a[t][t] for every row below t.
extern "C" __global__ void gaussian_factors(float *factor, const float *a, int n, int t)
{
    int row = t + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n)
        factor[row * n + t] = a[row * n + t] / a[t * n + t];
}

// Subtracts the multiple of row t from the rows below it, from column t on, and from the right side b.
extern "C" __global__ void gaussian_eliminate(const float *factor, float *a, float *b, int n, int t)
{
    int column = t + blockIdx.x * blockDim.x + threadIdx.x;
    int row = t + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n)
        return;
    a[row * n + column] -= factor[row * n + t] * a[t * n + column];
    if (column == t)
        b[row] -= factor[row * n + t] * b[t];
}

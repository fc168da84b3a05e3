// LU decomposition in place, in T x T tiles: L below the diagonal (its own diagonal of ones is not stored), U on and above it.
//
// Per step three launches: the tile on the diagonal; the tiles right of it and below it (the perimeter); all tiles right and
// below of those. The matrix need not be a multiple of T: rows and columns beyond its edge are those of the identity, and not
// stored.
#include "warpbank.cuh"

// A single CTA of T threads, less than a warp. Thread t owns row t of L and column t of U.
template <int T> __device__ __forceinline__ void diagonal(float *a, int n, int offset)
{
    __shared__ float tile[T][T];
    int t = threadIdx.x;

    for (int i = 0; i < T; i++)
        tile[i][t] = offset + i < n && offset + t < n ? a[(offset + i) * n + offset + t] : (i == t ? 1.0f : 0.0f);
    __syncthreads();

#pragma unroll 1
    for (int i = 0; i < T - 1; i++) {
        if (t > i) {
            for (int j = 0; j < i; j++)
                tile[t][i] -= tile[t][j] * tile[j][i];
            tile[t][i] /= tile[i][i];
        }
        __syncthreads();
        if (t > i)
            for (int j = 0; j <= i; j++)
                tile[i + 1][t] -= tile[i + 1][j] * tile[j][t];
        __syncthreads();
    }

    for (int i = 0; i < T; i++)
        if (offset + i < n && offset + t < n)
            a[(offset + i) * n + offset + t] = tile[i][t];
}

// CTA b does the b-th tile right of the diagonal (its first T threads, one column each: solves L x = a) and the b-th tile below
// it (the other T threads, one row each: solves x U = a).
template <int T> __device__ __forceinline__ void perimeter(float *a, int n, int offset)
{
    __shared__ float pivot[T][T];
    __shared__ float right[T][T];
    __shared__ float below[T][T];
    int t = threadIdx.x % T;
    int far = offset + (blockIdx.x + 1) * T;

    if (threadIdx.x < T) {
        for (int i = 0; i < T; i++) {
            pivot[i][t] = a[(offset + i) * n + offset + t];
            right[i][t] = far + t < n ? a[(offset + i) * n + far + t] : 0.0f;
        }
    } else {
        for (int i = 0; i < T; i++)
            below[i][t] = far + i < n ? a[(far + i) * n + offset + t] : 0.0f;
    }
    __syncthreads();

    if (threadIdx.x < T) {
#pragma unroll 1
        for (int i = 1; i < T; i++)
            for (int j = 0; j < i; j++)
                right[i][t] -= pivot[i][j] * right[j][t];
    } else {
#pragma unroll 1
        for (int i = 0; i < T; i++) {
            for (int j = 0; j < i; j++)
                below[t][i] -= below[t][j] * pivot[j][i];
            below[t][i] /= pivot[i][i];
        }
    }
    __syncthreads();

    if (threadIdx.x < T) {
        for (int i = 1; i < T; i++)
            if (far + t < n)
                a[(offset + i) * n + far + t] = right[i][t];
    } else {
        for (int i = 0; i < T; i++)
            if (far + i < n)
                a[(far + i) * n + offset + t] = below[i][t];
    }
}

// CTA (x, y) of T x T threads subtracts the product of the x-th tile right of the diagonal and the y-th tile below it.
template <int T> __device__ __forceinline__ void internal(float *a, int n, int offset)
{
    __shared__ float right[T][T];
    __shared__ float below[T][T];
    int x = threadIdx.x, y = threadIdx.y;
    int column = offset + (blockIdx.x + 1) * T + x;
    int row = offset + (blockIdx.y + 1) * T + y;

    right[y][x] = column < n ? a[(offset + y) * n + column] : 0.0f;
    below[y][x] = row < n ? a[row * n + offset + x] : 0.0f;
    __syncthreads();

    float sum = 0.0f;
    for (int i = 0; i < T; i++)
        sum += below[y][i] * right[i][x];
    if (row < n && column < n)
        a[row * n + column] -= sum;
}

#define LUD_KERNELS(T)                                                                                                \
    extern "C" __global__ void lud_diagonal_##T(float *a, int n, int offset) { diagonal<T>(a, n, offset); }           \
    extern "C" __global__ void lud_perimeter_##T(float *a, int n, int offset) { perimeter<T>(a, n, offset); }         \
    extern "C" __global__ void lud_internal_##T(float *a, int n, int offset) { internal<T>(a, n, offset); }

LUD_KERNELS(8)
LUD_KERNELS(16)

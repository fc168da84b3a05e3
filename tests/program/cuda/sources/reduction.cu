// Sum and maximum of an array: shuffles in a warp, shared memory in a block, an atomic in the grid.
#include <cuda_runtime.h>
#include <algorithm>
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <vector>

template <typename T> struct Sum {
    __host__ __device__ T operator()(T a, T b) const { return a + b; }
};
template <typename T> struct Max {
    __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

template <typename T, typename Op> __device__ T warp_reduce(T x, Op op)
{
    for (int offset = warpSize / 2; offset > 0; offset >>= 1) x = op(x, __shfl_down_sync(0xffffffff, x, offset));
    return x;
}

template <typename T, typename Op> __global__ void block_reduce(const T *in, T *out, int n, T identity, Op op)
{
    extern __shared__ unsigned char raw[];
    T *partial = reinterpret_cast<T *>(raw);
    T x = identity;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x = op(x, in[i]);
    x = warp_reduce(x, op);
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    if (lane == 0) partial[warp] = x;
    __syncthreads();
    if (warp == 0) {
        x = lane < (int)(blockDim.x / warpSize) ? partial[lane] : identity;
        x = warp_reduce(x, op);
        if (lane == 0) out[blockIdx.x] = x;
    }
}

__global__ void atomic_sum(const int *in, int *total, unsigned long long *squares, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(total, in[i]);
        atomicAdd(squares, (unsigned long long)in[i] * in[i]);
    }
}

int main()
{
    const int n = 5000, blocks = 6, threads = 128;
    std::vector<double> h(n), part(blocks);
    std::vector<int> v(n);
    srand(7);
    for (int i = 0; i < n; i++) {
        h[i] = (rand() % 2000 - 1000) / 8.0;
        v[i] = rand() % 100;
    }
    double *d_in, *d_out;
    cudaMalloc(&d_in, n * sizeof(double));
    cudaMalloc(&d_out, blocks * sizeof(double));
    cudaMemcpy(d_in, h.data(), n * sizeof(double), cudaMemcpyHostToDevice);

    double sum = 0, largest = -DBL_MAX, found_sum = 0, found_largest = -DBL_MAX;
    for (double x : h) {
        sum += x;
        largest = std::max(largest, x);
    }
    block_reduce<<<blocks, threads, threads / 32 * sizeof(double)>>>(d_in, d_out, n, 0.0, Sum<double>());
    cudaMemcpy(part.data(), d_out, blocks * sizeof(double), cudaMemcpyDeviceToHost);
    for (double x : part) found_sum += x;
    block_reduce<<<blocks, threads, threads / 32 * sizeof(double)>>>(d_in, d_out, n, -DBL_MAX, Max<double>());
    cudaMemcpy(part.data(), d_out, blocks * sizeof(double), cudaMemcpyDeviceToHost);
    for (double x : part) found_largest = std::max(found_largest, x);

    int *d_v, *d_total, total = 0, expected = 0;
    unsigned long long *d_squares, squares = 0, expected_squares = 0;
    cudaMalloc(&d_v, n * sizeof(int));
    cudaMalloc(&d_total, sizeof(int));
    cudaMalloc(&d_squares, sizeof(unsigned long long));
    cudaMemcpy(d_v, v.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(d_total, 0, sizeof(int));
    cudaMemset(d_squares, 0, sizeof(unsigned long long));
    atomic_sum<<<(n + 255) / 256, 256>>>(d_v, d_total, d_squares, n);
    cudaMemcpy(&total, d_total, sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(&squares, d_squares, sizeof squares, cudaMemcpyDeviceToHost);
    for (int x : v) {
        expected += x;
        expected_squares += (unsigned long long)x * x;
    }
    printf("sum %g of %g, maximum %g of %g, total %d of %d\n", found_sum, sum, found_largest, largest, total, expected);
    return !(found_sum == sum && found_largest == largest && total == expected && squares == expected_squares);
}

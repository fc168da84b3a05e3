// Half precision: axpy on pairs, a dot product that adds up in f32, and bfloat16 beside it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>

#define N 512

__global__ void axpy(const __half2 *x, __half2 *y, __half a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half2 a2 = __half2half2(a);
    if (i < n) y[i] = __hfma2(a2, x[i], y[i]);
}

__global__ void dot(const half *x, const half *y, float *result, half *largest)
{
    __shared__ float sum;
    __shared__ half top;
    if (threadIdx.x == 0) {
        sum = 0;
        top = __float2half(-60000.0f);
    }
    __syncthreads();
    float mine = 0;
    half best = __float2half(-60000.0f);
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        mine += __half2float(x[i]) * __half2float(y[i]);
        if (__hgt(y[i], best)) best = y[i];
    }
    for (int offset = 16; offset; offset /= 2) {
        mine += __shfl_down_sync(0xffffffffu, mine, offset);
        best = __hmax(best, __shfl_down_sync(0xffffffffu, best, offset));
    }
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, mine);
    for (unsigned int w = 0; w < blockDim.x / 32; w++) {
        if (threadIdx.x == 32 * w) top = __hmax(top, best);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *result = sum;
        *largest = top;
    }
}

__global__ void scale(const __nv_bfloat16 *x, __nv_bfloat16 *y, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = __float2bfloat16(factor) * x[i] + __float2bfloat16(1.0f);
}

int main()
{
    static half x[N], y[N], z[N];
    static __nv_bfloat16 b[N], c[N];
    for (int i = 0; i < N; i++) {
        x[i] = __float2half(sinf(0.1f * i));
        y[i] = __float2half(cosf(0.3f * i) * 4);
        b[i] = __float2bfloat16(0.01f * i - 2);
    }
    half *d_x, *d_y, *d_top, top;
    __nv_bfloat16 *d_b, *d_c;
    float *d_dot, found;
    cudaMalloc(&d_x, sizeof x);
    cudaMalloc(&d_y, sizeof y);
    cudaMalloc(&d_b, sizeof b);
    cudaMalloc(&d_c, sizeof c);
    cudaMalloc(&d_dot, sizeof(float));
    cudaMalloc(&d_top, sizeof(half));
    cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
    cudaMemcpy(d_y, y, sizeof y, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b, sizeof b, cudaMemcpyHostToDevice);
    half a = __float2half(1.7f);
    axpy<<<2, 128>>>((const __half2 *)d_x, (__half2 *)d_y, a, N / 2);
    dot<<<1, 128>>>(d_x, d_y, d_dot, d_top);
    scale<<<N / 64, 64>>>(d_b, d_c, 3.0f);
    cudaMemcpy(z, d_y, sizeof z, cudaMemcpyDeviceToHost);
    cudaMemcpy(c, d_c, sizeof c, cudaMemcpyDeviceToHost);
    cudaMemcpy(&found, d_dot, sizeof found, cudaMemcpyDeviceToHost);
    cudaMemcpy(&top, d_top, sizeof top, cudaMemcpyDeviceToHost);
    int wrong = 0;
    double expected = 0;
    float largest = -60000;
    for (int i = 0; i < N; i++) {
        half each = __hfma(a, x[i], y[i]);
        if (__half_as_ushort(each) != __half_as_ushort(z[i])) wrong++;
        expected += (double)__half2float(x[i]) * __half2float(each);
        largest = fmaxf(largest, __half2float(each));
        __nv_bfloat16 other = __float2bfloat16(3.0f) * b[i] + __float2bfloat16(1.0f);
        if (__bfloat16_as_ushort(other) != __bfloat16_as_ushort(c[i])) wrong++;
    }
    if (fabs(found - expected) > 1e-2) wrong++;
    if (__half2float(top) != largest) wrong++;
    printf("%d wrong, dot %g of %g, largest %g of %g\n", wrong, found, expected, (float)top, largest);
    return wrong > 0;
}

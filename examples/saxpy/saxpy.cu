// y = a * x + y, written as a user would, with a stride so that any grid will do.
//
//     warpbank compile saxpy.cu
//     warpbank run saxpy.ptx

#include <cuda_runtime.h>

extern "C" __global__ void saxpy(const float *x, float *y, float a, int n) {
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = gridDim.x * blockDim.x;
    for (int i = first; i < n; i += stride) y[i] = a * x[i] + y[i];
}

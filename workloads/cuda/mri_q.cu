// The matrix Q of non-Cartesian MRI reconstruction: for every voxel, a sum over the samples of k-space of
// |phi|^2 * exp(2 pi i k.x). The trajectory is in constant memory: all threads of a warp read the same sample.
#include "warpbank.cuh"

#define MAX_SAMPLES 512

__constant__ float4 trajectory[MAX_SAMPLES];  // kx, ky, kz; filled by the host

extern "C" __global__ void mri_magnitude(const float *__restrict__ phi_r, const float *__restrict__ phi_i,
                                         float *__restrict__ magnitude, int samples)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < samples)
        magnitude[i] = phi_r[i] * phi_r[i] + phi_i[i] * phi_i[i];
}

extern "C" __global__ void mri_q(const float *__restrict__ x, const float *__restrict__ y, const float *__restrict__ z,
                                 const float *__restrict__ magnitude, float *__restrict__ q_r, float *__restrict__ q_i,
                                 int voxels, int samples)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels)
        return;
    float px = x[i], py = y[i], pz = z[i];
    float sum_r = 0.0f, sum_i = 0.0f;
    for (int s = 0; s < samples; s++) {
        float4 k = trajectory[s];
        float turns = k.x * px + k.y * py + k.z * pz;
        turns -= __builtin_rintf(turns);  // whole turns do not matter, and the approximate functions like small angles
        float angle = 6.2831853071795865f * turns;
        sum_r += magnitude[s] * __cosf(angle);
        sum_i += magnitude[s] * __sinf(angle);
    }
    q_r[i] = sum_r;
    q_i[i] = sum_i;
}

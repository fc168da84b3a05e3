// One step of a gravitational n-body simulation, all pairs. Bodies are float4: position and mass. A CTA walks over all bodies in
// tiles that it stages in shared memory; each thread sums the acceleration of one body.
#include "warpbank.cuh"

#define MAX_THREADS 128

extern "C" __global__ void nbody_accelerate(const float4 *__restrict__ bodies, float4 *__restrict__ acceleration,
                                            int n, float softening)
{
    __shared__ float4 tile[MAX_THREADS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 nothing = {0.0f, 0.0f, 0.0f, 0.0f};  // past the end: no mass, so no force
    float4 me = i < n ? load4(&bodies[i].x) : nothing;
    float ax = 0.0f, ay = 0.0f, az = 0.0f;

    for (int first = 0; first < n; first += blockDim.x) {
        int j = first + threadIdx.x;
        store4(&tile[threadIdx.x].x, j < n ? load4(&bodies[j].x) : nothing);
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < blockDim.x; k++) {
            float4 b = load4(&tile[k].x);
            float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            float pull = b.w * inverse * inverse * inverse;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        __syncthreads();
    }
    if (i < n)
        acceleration[i] = float4{ax, ay, az, 0.0f};
}

extern "C" __global__ void nbody_move(float4 *__restrict__ bodies, float4 *__restrict__ velocity,
                                      const float4 *__restrict__ acceleration, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 p = load4(&bodies[i].x), v = load4(&velocity[i].x), a = load4(&acceleration[i].x);
    v.x += a.x * dt;
    v.y += a.y * dt;
    v.z += a.z * dt;
    p.x += v.x * dt;
    p.y += v.y * dt;
    p.z += v.z * dt;
    bodies[i] = p;
    velocity[i] = v;
}

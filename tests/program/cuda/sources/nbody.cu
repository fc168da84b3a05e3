// Steps of an all-pairs n-body simulation, with a structure passed by value and vectors of four.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <vector>

struct Simulation {
    float dt, softening;
    int bodies;
    struct { double scale; unsigned char flags[3]; } extra;
};

__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }

__device__ __forceinline__ float3 interaction(float3 a, float4 pi, float4 pj, float softening)
{
    float3 r = make_float3(pj.x - pi.x, pj.y - pi.y, pj.z - pi.z);
    float inverse = rsqrtf(r.x * r.x + r.y * r.y + r.z * r.z + softening);
    return a + (pj.w * inverse * inverse * inverse) * r;
}

__global__ void __launch_bounds__(64) step(float4 *position, float3 *velocity, float4 *next, Simulation s)
{
    __shared__ float4 shared[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 mine = i < s.bodies ? position[i] : make_float4(0, 0, 0, 0);
    float3 acceleration = {0.0f, 0.0f, 0.0f};
    for (int tile = 0; tile < (s.bodies + 63) / 64; tile++) {
        int j = tile * 64 + threadIdx.x;
        shared[threadIdx.x] = j < s.bodies ? position[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < 64; k++) acceleration = interaction(acceleration, mine, shared[k], s.softening);
        __syncthreads();
    }
    if (i >= s.bodies) return;
    float scale = (float)s.extra.scale * s.extra.flags[1];
    float3 v = velocity[i] + (s.dt * scale) * acceleration;
    velocity[i] = v;
    next[i] = make_float4(mine.x + s.dt * v.x, mine.y + s.dt * v.y, mine.z + s.dt * v.z, mine.w);
}

int main()
{
    const int n = 100, steps = 3;
    Simulation s = {0.01f, 0.05f, n, {0.5, {9, 2, 9}}};
    std::vector<float4> p(n);
    std::vector<float3> v(n, make_float3(0, 0, 0));
    for (int i = 0; i < n; i++) p[i] = make_float4(sinf(i), cosf(2.0f * i), sinf(0.7f * i + 1), 0.5f + i % 3);
    float4 *d_p, *d_q;
    float3 *d_v;
    cudaMalloc(&d_p, n * sizeof(float4));
    cudaMalloc(&d_q, n * sizeof(float4));
    cudaMalloc(&d_v, n * sizeof(float3));
    cudaMemcpy(d_p, p.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
    cudaMemcpy(d_v, v.data(), n * sizeof(float3), cudaMemcpyHostToDevice);
    for (int t = 0; t < steps; t++) {
        step<<<dim3((n + 63) / 64), dim3(64)>>>(d_p, d_v, d_q, s);
        float4 *swap = d_p;
        d_p = d_q;
        d_q = swap;
    }
    std::vector<float4> found(n);
    cudaMemcpy(found.data(), d_p, n * sizeof(float4), cudaMemcpyDeviceToHost);

    std::vector<double> x(3 * n), u(3 * n, 0.0);
    for (int i = 0; i < n; i++) x[3 * i] = p[i].x, x[3 * i + 1] = p[i].y, x[3 * i + 2] = p[i].z;
    for (int t = 0; t < steps; t++) {
        std::vector<double> a(3 * n, 0.0);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double r[3], d = s.softening;
                for (int k = 0; k < 3; k++) r[k] = x[3 * j + k] - x[3 * i + k], d += r[k] * r[k];
                for (int k = 0; k < 3; k++) a[3 * i + k] += p[j].w / (d * std::sqrt(d)) * r[k];
            }
        for (int i = 0; i < 3 * n; i++) u[i] += s.dt * a[i], x[i] += s.dt * u[i];
    }
    double worst = 0;
    for (int i = 0; i < n; i++) {
        worst = std::fmax(worst, std::fabs(found[i].x - x[3 * i]));
        worst = std::fmax(worst, std::fabs(found[i].y - x[3 * i + 1]));
        worst = std::fmax(worst, std::fabs(found[i].z - x[3 * i + 2]));
    }
    std::printf("worst error %g\n", worst);
    return worst < 1e-3 ? 0 : 1;
}

// Rates of 40 reactions between 24 species at every point of a grid: concentrations and their rates of change stay in registers. Species s
// of point t is at s * n + t. Reaction r takes species (5 r) % 24 and (7 r + 3) % 24 and makes species (11 r + 1) % 24.
#include "warpbank.cuh"

#define SPECIES 24
#define REACTIONS 40

extern "C" __global__ void __launch_bounds__(128) s3d(
    const float *__restrict__ concentration, const float *__restrict__ temperature, float *__restrict__ rate, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    float c[SPECIES], change[SPECIES] = {};
#pragma unroll
    for (int s = 0; s < SPECIES; s++)
        c[s] = concentration[s * n + t];
    float warmth = temperature[t];
#pragma unroll
    for (int r = 0; r < REACTIONS; r++) {
        int first = 5 * r % SPECIES, second = (7 * r + 3) % SPECIES, made = (11 * r + 1) % SPECIES;
        float speed = (0.5f + 0.03125f * r * warmth) * c[first] * c[second];
        change[first] -= speed;
        change[second] -= speed;
        change[made] += 2.0f * speed;
    }
#pragma unroll
    for (int s = 0; s < SPECIES; s++)
        rate[s * n + t] = change[s];
}

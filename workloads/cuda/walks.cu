// Random walks through a graph, pooled: a warp follows a walk of 64 nodes, each of which names the next, and gathers their vectors of 32
// numbers. Weights fall with the distance from the mean, which is known only at the end of the walk, so that all 64 numbers of a lane stay
// in registers.
#include "warpbank.cuh"

#define STEPS 64

extern "C" __global__ void __launch_bounds__(64) walks(
    const int *__restrict__ next, const float *__restrict__ vectors, const int *__restrict__ start, float *__restrict__ pooled,
    int count)
{
    int walk = blockIdx.x * 2 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (walk >= count)
        return;
    int node = start[walk];
    float x[STEPS], part[4] = {};
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
        x[j] = vectors[node * 32 + lane];
        node = next[node];
    }
#pragma unroll
    for (int j = 0; j < STEPS; j++)
        part[j % 4] += x[j];
    float mean = (part[0] + part[1] + (part[2] + part[3])) * (1.0f / STEPS), sum = 0.0f, total = 0.0f;
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
        float distance = x[j] - mean, weight = __expf(-distance * distance);
        total += weight;
        sum += weight * x[j];
    }
    pooled[walk * 32 + lane] = __fdividef(sum, total);
}

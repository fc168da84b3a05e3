// Flux of a finite-volume solver on an unstructured grid: a cell with five conserved variables and six neighbours, all of which a
// thread gathers before it computes. Everything is stored variable by variable, n cells each.
#include "warpbank.cuh"

#define SIDES 6

extern "C" __global__ void __launch_bounds__(128) cfd(
    const float *__restrict__ state, const int *__restrict__ neighbours, const float *__restrict__ normals,
    float *__restrict__ next, int n, float step)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= n)
        return;
    float own[5], there[SIDES][5], normal[SIDES][3];
#pragma unroll
    for (int v = 0; v < 5; v++)
        own[v] = state[v * n + cell];
#pragma unroll
    for (int s = 0; s < SIDES; s++) {
        int other = neighbours[s * n + cell];
#pragma unroll
        for (int v = 0; v < 5; v++)
            there[s][v] = state[v * n + other];
#pragma unroll
        for (int d = 0; d < 3; d++)
            normal[s][d] = normals[(3 * s + d) * n + cell];
    }
    float flux[5] = {};
    float inverse = __fdividef(1.0f, own[0]);
    float pressure = 0.4f * (own[4] - 0.5f * inverse * (own[1] * own[1] + own[2] * own[2] + own[3] * own[3]));
#pragma unroll
    for (int s = 0; s < SIDES; s++) {
        float *w = there[s], *m = normal[s];
        float other = __fdividef(1.0f, w[0]);
        float outside = 0.4f * (w[4] - 0.5f * other * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]));
        float through = 0.5f * inverse * (own[1] * m[0] + own[2] * m[1] + own[3] * m[2]);
        float back = 0.5f * other * (w[1] * m[0] + w[2] * m[1] + w[3] * m[2]);
        float push = 0.5f * (pressure + outside);
        flux[0] += through * own[0] + back * w[0];
#pragma unroll
        for (int d = 0; d < 3; d++)
            flux[1 + d] += through * own[1 + d] + back * w[1 + d] + push * m[d];
        flux[4] += through * (own[4] + pressure) + back * (w[4] + outside);
    }
#pragma unroll
    for (int v = 0; v < 5; v++)
        next[v * n + cell] = own[v] - step * flux[v];
}

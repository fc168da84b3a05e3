// Finite differences of eighth order in three dimensions. A thread makes 8 points of a column: it keeps their 16 values along the
// column and 8 sums in registers, and loads 16 neighbours in the plane for each. The field has a rim of 4 points on every side.
#include "warpbank.cuh"

#define RADIUS 4
#define COLUMN 8

__constant__ float weights[RADIUS + 1];

extern "C" __global__ void __launch_bounds__(128) fdtd3d(const float *__restrict__ field, float *__restrict__ out, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z0 = blockIdx.z * COLUMN;
    if (x >= nx)
        return;
    int row = nx + 2 * RADIUS, plane = row * (ny + 2 * RADIUS);
    const float *centre = field + (z0 + RADIUS) * plane + (y + RADIUS) * row + x + RADIUS;
    float line[COLUMN + 2 * RADIUS], sum[COLUMN];
#pragma unroll
    for (int z = 0; z < COLUMN + 2 * RADIUS; z++)
        line[z] = centre[(z - RADIUS) * plane];
#pragma unroll
    for (int z = 0; z < COLUMN; z++) {
        sum[z] = weights[0] * line[z + RADIUS];
#pragma unroll
        for (int r = 1; r <= RADIUS; r++)
            sum[z] += weights[r] * (line[z + RADIUS - r] + line[z + RADIUS + r]);
    }
#pragma unroll
    for (int r = 1; r <= RADIUS; r++)
#pragma unroll
        for (int z = 0; z < COLUMN; z++) {
            const float *p = centre + z * plane;
            sum[z] += weights[r] * (p[-r] + p[r] + p[-r * row] + p[r * row]);
        }
#pragma unroll
    for (int z = 0; z < COLUMN; z++)
        out[((z0 + z) * ny + y) * nx + x] = sum[z];
}

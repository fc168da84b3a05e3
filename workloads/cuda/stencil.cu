// One Jacobi step of a 7-point stencil on a 3D grid: each thread walks one column of cells upwards, three of them in registers.
//
// Only the inside is written; the outermost cells of `after` keep what they hold.
#include "warpbank.cuh"

extern "C" __global__ void stencil_7point(const float *before, float *after, int nx, int ny, int nz, float centre, float around)
{
    int x = 1 + blockIdx.x * blockDim.x + threadIdx.x;
    int y = 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx - 1 || y >= ny - 1)
        return;

    int plane = nx * ny;
    int at = y * nx + x;
    float below = before[at];
    float here = before[at + plane];
    for (int z = 1; z < nz - 1; z++) {
        at += plane;
        float above = before[at + plane];
        float sides = before[at - 1] + before[at + 1] + before[at - nx] + before[at + nx];
        after[at] = around * (below + above + sides) - centre * here;
        below = here;
        here = above;
    }
}

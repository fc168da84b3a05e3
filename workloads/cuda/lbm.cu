// One step of a lattice-Boltzmann fluid simulation, D3Q19 (three dimensions, 19 directions of motion), single relaxation time.
// Distributions are stored by direction: f[q][z][y][x]. A thread pulls the 19 values that stream into its cell (the lattice is
// periodic), then relaxes them towards equilibrium. Solid cells send back what comes in; driven cells have their velocity
// forced, which stirs the fluid. threadIdx.x is x, blockIdx.x is y, blockIdx.y is z.
#include "warpbank.cuh"

enum { FLUID = 0, SOLID = 1, DRIVEN = 2 };

// Directions come in opposite pairs: q and q + 1 for odd q.
static constexpr int CX[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
static constexpr int CY[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
static constexpr int CZ[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};

extern "C" __global__ void lbm(const float *__restrict__ from, float *__restrict__ to, const uchar *__restrict__ kind,
                               float omega, float drive_x, float drive_y, float drive_z)
{
    int nx = blockDim.x, ny = gridDim.x, nz = gridDim.y;
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    int cells = nx * ny * nz;

    // Neighbours' coordinates with wrap-around: index 0, 1, 2 for the cell before, this one, the one after.
    int xs[3] = {x == 0 ? nx - 1 : x - 1, x, x == nx - 1 ? 0 : x + 1};
    int ys[3] = {y == 0 ? ny - 1 : y - 1, y, y == ny - 1 ? 0 : y + 1};
    int zs[3] = {z == 0 ? nz - 1 : z - 1, z, z == nz - 1 ? 0 : z + 1};

    float f[19];
#pragma unroll
    for (int q = 0; q < 19; q++)
        f[q] = from[q * cells + (zs[1 - CZ[q]] * ny + ys[1 - CY[q]]) * nx + xs[1 - CX[q]]];

    int cell = (z * ny + y) * nx + x;
    uchar type = kind[cell];
    if (type == SOLID) {
#pragma unroll
        for (int q = 1; q < 19; q += 2) {
            float swapped = f[q];
            f[q] = f[q + 1];
            f[q + 1] = swapped;
        }
    } else {
        float density = 0.0f, ux = 0.0f, uy = 0.0f, uz = 0.0f;
#pragma unroll
        for (int q = 0; q < 19; q++) {
            density += f[q];
            ux += CX[q] * f[q];
            uy += CY[q] * f[q];
            uz += CZ[q] * f[q];
        }
        float inverse = 1.0f / density;
        ux *= inverse;
        uy *= inverse;
        uz *= inverse;
        if (type == DRIVEN) {
            ux = drive_x;
            uy = drive_y;
            uz = drive_z;
        }
        float rest = 1.0f - 1.5f * (ux * ux + uy * uy + uz * uz);
#pragma unroll
        for (int q = 0; q < 19; q++) {
            float weight = q == 0 ? 1.0f / 3.0f : q < 7 ? 1.0f / 18.0f : 1.0f / 36.0f;
            float along = CX[q] * ux + CY[q] * uy + CZ[q] * uz;
            float equilibrium = weight * density * (rest + along * (3.0f + 4.5f * along));
            f[q] += omega * (equilibrium - f[q]);
        }
    }
#pragma unroll
    for (int q = 0; q < 19; q++)
        to[q * cells + cell] = f[q];
}

// One Jacobi step of Laplace's equation on a 3D grid, plane by plane: the current plane is a tile in shared memory with a halo of
// one cell, the planes below and above are in registers. Cells on the surface of the grid are boundary values and are copied.
#include "warpbank.cuh"

#define BLOCK_X 32
#define BLOCK_Y 4

extern "C" __global__ void laplace3d_step(const float *before, float *after, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    bool exists = x < nx && y < ny;
    bool inside = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;
    int plane = nx * ny;
    int at = y * nx + x;

    float below = 0.0f, here = 0.0f, above = exists ? before[at] : 0.0f;
    for (int z = 0; z < nz; z++, at += plane) {
        below = here;
        here = above;
        if (exists) {
            if (z < nz - 1)
                above = before[at + plane];
            tile[ty][tx] = here;
            if (ty == 1 && y > 0)
                tile[0][tx] = before[at - nx];
            if (ty == BLOCK_Y && y < ny - 1)
                tile[BLOCK_Y + 1][tx] = before[at + nx];
            if (tx == 1 && x > 0)
                tile[ty][0] = before[at - 1];
            if (tx == BLOCK_X && x < nx - 1)
                tile[ty][BLOCK_X + 1] = before[at + 1];
        }
        __syncthreads();
        if (inside && z > 0 && z < nz - 1)
            after[at] = (1.0f / 6.0f)
                * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx] + below + above);
        else if (exists)
            after[at] = here;
        __syncthreads();
    }
}

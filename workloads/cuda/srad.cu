// Speckle reducing anisotropic diffusion of an image: a diffusion that the local coefficient of variation holds back at edges.
//
// Two launches per iteration. Both keep a TILE x TILE tile and the neighbours across its edge in shared memory. Beyond the image,
// a neighbour is the edge pixel itself.
#include "warpbank.cuh"

#define TILE 16

// Differences to the four neighbours, and the diffusion coefficient of each pixel. q0_squared: variation of plain speckle.
extern "C" __global__ void srad_coefficient(const float *image, float *north, float *south, float *west, float *east,
                                            float *coefficient, int rows, int columns, float q0_squared)
{
    __shared__ float tile[TILE + 2][TILE + 2];
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    bool exists = row < rows && column < columns;
    int at = row * columns + column;

    if (exists) {
        tile[y][x] = image[at];
        if (y == 1)
            tile[0][x] = image[row > 0 ? at - columns : at];
        if (y == TILE || row == rows - 1)
            tile[y + 1][x] = image[row < rows - 1 ? at + columns : at];
        if (x == 1)
            tile[y][0] = image[column > 0 ? at - 1 : at];
        if (x == TILE || column == columns - 1)
            tile[y][x + 1] = image[column < columns - 1 ? at + 1 : at];
    }
    __syncthreads();
    if (!exists)
        return;

    float here = tile[y][x];
    float dn = tile[y - 1][x] - here, ds = tile[y + 1][x] - here;
    float dw = tile[y][x - 1] - here, de = tile[y][x + 1] - here;

    float gradient = (dn * dn + ds * ds + dw * dw + de * de) / (here * here);
    float laplacian = (dn + ds + dw + de) / here;
    float scale = 1.0f + 0.25f * laplacian;
    float q_squared = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (scale * scale);
    float c = 1.0f / (1.0f + (q_squared - q0_squared) / (q0_squared * (1.0f + q0_squared)));

    north[at] = dn;
    south[at] = ds;
    west[at] = dw;
    east[at] = de;
    coefficient[at] = c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
}

// image += rate / 4 * divergence; the coefficient between two pixels is that of the southern or eastern one.
extern "C" __global__ void srad_update(float *image, const float *north, const float *south, const float *west, const float *east,
                                       const float *coefficient, int rows, int columns, float rate)
{
    __shared__ float tile[TILE + 1][TILE + 1];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    bool exists = row < rows && column < columns;
    int at = row * columns + column;

    if (exists) {
        tile[y][x] = coefficient[at];
        if (y == TILE - 1 || row == rows - 1)
            tile[y + 1][x] = coefficient[row < rows - 1 ? at + columns : at];
        if (x == TILE - 1 || column == columns - 1)
            tile[y][x + 1] = coefficient[column < columns - 1 ? at + 1 : at];
    }
    __syncthreads();
    if (!exists)
        return;

    float here = tile[y][x], below = tile[y + 1][x], right = tile[y][x + 1];
    image[at] += 0.25f * rate * (here * north[at] + below * south[at] + here * west[at] + right * east[at]);
}

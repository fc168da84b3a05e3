// Temperature of a chip's surface from the power of its cells: explicit time steps on a grid, several per launch.
//
// A CTA loads a TILE x TILE tile into shared memory and does `steps` time steps on it. Each step makes one more ring of the tile
// stale, so only the inner part, TILE - 2 * steps wide, is stored and neighbouring tiles overlap. Beyond the edge of the grid the
// temperature is that of the edge cell: no heat flows out sideways.
#include "warpbank.cuh"

#define TILE 16

extern "C" __global__ void hotspot_steps(const float *power, const float *before, float *after, int rows, int columns, int steps,
                                         float step_over_capacity, float across_rows, float across_columns, float to_ambient,
                                         float ambient)
{
    __shared__ float temperature[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int inner = TILE - 2 * steps;
    int column = (int)blockIdx.x * inner - steps + x;
    int row = (int)blockIdx.y * inner - steps + y;
    bool exists = row >= 0 && row < rows && column >= 0 && column < columns;

    float heat = 0.0f;
    if (exists) {
        temperature[y][x] = before[row * columns + column];
        heat = power[row * columns + column];
    }
    __syncthreads();

    int north = row == 0 ? y : y - 1;
    int south = row == rows - 1 ? y : y + 1;
    int west = column == 0 ? x : x - 1;
    int east = column == columns - 1 ? x : x + 1;
    for (int step = 1; step <= steps; step++) {
        bool fresh = exists && x >= step && x < TILE - step && y >= step && y < TILE - step;
        float next = 0.0f;
        if (fresh) {
            float here = temperature[y][x];
            next = here + step_over_capacity * (heat
                + (temperature[north][x] + temperature[south][x] - 2.0f * here) * across_rows
                + (temperature[y][west] + temperature[y][east] - 2.0f * here) * across_columns
                + (ambient - here) * to_ambient);
        }
        __syncthreads();  // everyone has read the old temperatures
        if (fresh)
            temperature[y][x] = next;
        __syncthreads();
    }

    if (exists && x >= steps && x < TILE - steps && y >= steps && y < TILE - steps)
        after[row * columns + column] = temperature[y][x];
}

// Cheapest way down a grid, moving to one of the three cells below at each row: dynamic programming, several rows per launch.
//
// A CTA keeps its part of the current row's costs in shared memory. Each row makes one more cell at both ends stale, so a CTA
// stores only what lies `halo` cells inside and neighbouring CTAs overlap (the ghost zone); halo >= rows done in one launch.
#include "warpbank.cuh"

#define BLOCK_MAX 256
#define UNREACHABLE 0x7fffffff

// From the costs `before` of row `first - 1` to the costs `after` of row `first + steps - 1`.
extern "C" __global__ void pathfinder_rows(const int *wall, const int *before, int *after, int columns, int first, int steps,
                                           int halo)
{
    __shared__ int cost[BLOCK_MAX];
    int x = threadIdx.x, width = blockDim.x;
    int column = (int)blockIdx.x * (width - 2 * halo) - halo + x;
    bool exists = column >= 0 && column < columns;

    cost[x] = exists ? before[column] : UNREACHABLE;
    __syncthreads();

    for (int step = 1; step <= steps; step++) {
        bool fresh = exists && x >= step && x < width - step;
        int next = 0;
        if (fresh)
            next = min(min(cost[x - 1], cost[x]), cost[x + 1]) + wall[(first + step - 1) * columns + column];
        __syncthreads();  // everyone has read the old costs
        if (fresh)
            cost[x] = next;
        __syncthreads();
    }

    if (exists && x >= halo && x < width - halo)
        after[column] = cost[x];
}

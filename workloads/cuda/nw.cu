// Needleman-Wunsch alignment of two sequences: the table of best scores, one diagonal of TILE x TILE tiles per launch.
//
// Cell (i, j) needs its neighbours above, left and above left, so the tiles of one diagonal are independent, and inside a tile so
// are the cells of one diagonal. The table has one row and one column more than there are symbols: the cost of leading gaps.
#include "warpbank.cuh"

#define TILE 16

// The CTAs do the tiles of diagonal `diagonal` (tile row + tile column) from tile column `first` on; thread t does column t.
extern "C" __global__ void nw_diagonal(const int *similarity, int *score, int rows, int columns, int diagonal, int first, int gap)
{
    __shared__ int best[TILE + 1][TILE + 1];
    __shared__ int match[TILE][TILE];
    int t = threadIdx.x;
    int left = (first + blockIdx.x) * TILE;
    int top = (diagonal - first - blockIdx.x) * TILE;
    int pitch = columns + 1;
    bool exists = left + t < columns;

    if (t == 0)
        best[0][0] = score[top * pitch + left];
    if (exists)
        best[0][t + 1] = score[top * pitch + left + t + 1];
    if (top + t < rows)
        best[t + 1][0] = score[(top + t + 1) * pitch + left];
    for (int i = 0; i < TILE; i++)
        if (exists && top + i < rows)
            match[i][t] = similarity[(top + i) * columns + left + t];
    __syncthreads();

    for (int d = 0; d < 2 * TILE - 1; d++) {
        int i = d - t;
        if (i >= 0 && i < TILE && exists && top + i < rows) {
            int aligned = best[i][t] + match[i][t];
            int gapped = max(best[i][t + 1], best[i + 1][t]) - gap;
            best[i + 1][t + 1] = max(aligned, gapped);
        }
        __syncthreads();
    }

    for (int i = 0; i < TILE; i++)
        if (exists && top + i < rows)
            score[(top + i + 1) * pitch + left + t + 1] = best[i + 1][t + 1];
}

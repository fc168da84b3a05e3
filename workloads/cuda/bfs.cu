// Breadth-first search of a graph in compressed rows, one level per pair of launches, one thread per node.
//
// Two masks keep a level's reads apart from its writes: `expand` marks the neighbours of the frontier, `advance` makes them the
// next frontier. Threads that reach one node from several neighbours all write the same values.
#include "warpbank.cuh"

extern "C" __global__ void bfs_expand(const int *first_edge, const int *edges, uchar *frontier, uchar *reached,
                                      const uchar *visited, int *level, int nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && frontier[node]) {
        frontier[node] = 0;
        int next_level = level[node] + 1;
        int end = first_edge[node + 1];
        for (int e = first_edge[node]; e < end; e++) {
            int neighbour = edges[e];
            if (!visited[neighbour]) {
                level[neighbour] = next_level;
                reached[neighbour] = 1;
            }
        }
    }
}

// *more becomes 1 if there is a next frontier.
extern "C" __global__ void bfs_advance(uchar *frontier, uchar *reached, uchar *visited, int *more, int nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && reached[node]) {
        frontier[node] = 1;
        visited[node] = 1;
        reached[node] = 0;
        *more = 1;
    }
}

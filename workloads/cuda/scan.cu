// Exclusive prefix sum of integers, work-efficient (Blelloch): up-sweep and down-sweep over a balanced tree in shared memory, two
// elements per thread. Three launches: scan each CTA's share and keep its total, scan the totals, add them to the shares.
#include "warpbank.cuh"

// Elements of the tree are spread by one word every 32, so that strides of powers of two do not meet in one bank.
#define PLACE(i) ((i) + (i) / 32u)

extern __shared__ int tree[];

extern "C" __global__ void scan_shares(const int *__restrict__ in, int *__restrict__ out, int *__restrict__ totals, int n)
{
    uint t = threadIdx.x, threads = blockDim.x;
    uint lo = 2 * threads * blockIdx.x + t, hi = lo + threads;
    tree[PLACE(t)] = lo < n ? in[lo] : 0;
    tree[PLACE(t + threads)] = hi < n ? in[hi] : 0;

    uint stride = 1;
    for (uint active = threads; active > 0; active /= 2, stride *= 2) {
        __syncthreads();
        if (t < active) {
            uint left = stride * (2 * t + 1) - 1, right = left + stride;
            tree[PLACE(right)] += tree[PLACE(left)];
        }
    }
    if (t == 0) {
        uint root = 2 * threads - 1;
        totals[blockIdx.x] = tree[PLACE(root)];
        tree[PLACE(root)] = 0;
    }
    for (uint active = 1; active <= threads; active *= 2) {
        stride /= 2;
        __syncthreads();
        if (t < active) {
            uint left = stride * (2 * t + 1) - 1, right = left + stride;
            int moved = tree[PLACE(left)];
            tree[PLACE(left)] = tree[PLACE(right)];
            tree[PLACE(right)] += moved;
        }
    }
    __syncthreads();
    if (lo < n)
        out[lo] = tree[PLACE(t)];
    if (hi < n)
        out[hi] = tree[PLACE(t + threads)];
}

extern "C" __global__ void scan_add(int *__restrict__ out, const int *__restrict__ offsets, int n)
{
    uint lo = 2 * blockDim.x * blockIdx.x + threadIdx.x, hi = lo + blockDim.x;
    int offset = offsets[blockIdx.x];
    if (lo < n)
        out[lo] += offset;
    if (hi < n)
        out[hi] += offset;
}

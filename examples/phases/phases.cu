// Chained look-ups in shared memory, in two phases: first four lanes share a bank, then every lane has its own. The first phase is
// bound by the shared banks, and register files may take their time; the second one is bound by how soon a warp goes on.
#include "warpbank.cuh"

#define TABLE 1024

extern "C" __global__ void phases(uint *sums, int first, int second)
{
    __shared__ uint table[TABLE];
    for (int j = threadIdx.x; j < TABLE; j += blockDim.x)
        table[j] = 37 * j << 7 & TABLE - 1;  // multiples of 128, so that the lane alone chooses the bank
    __syncthreads();

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint alone = threadIdx.x & 31, together = alone * 4, sum = sums[i], found = 0;

#pragma unroll 8
    for (int step = 0; step < first; step++) {
        found = table[found + together];
        sum += found;
    }
#pragma unroll 8
    for (int step = 0; step < second; step++) {
        found = table[found + alone];
        sum ^= found;
    }
    sums[i] = sum;
}

// Prefix sums and stream compaction with cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <assert.h>
#include <stdio.h>
#include <vector>

namespace cg = cooperative_groups;

template <typename Tile> __device__ int tile_scan(const Tile &tile, int x)
{
    for (unsigned int d = 1; d < tile.size(); d *= 2) {
        int left = tile.shfl_up(x, d);
        if (tile.thread_rank() >= d) x += left;
    }
    return x;
}

__global__ void scan(const int *in, int *out, int *totals, int n)
{
    __shared__ int warps[32];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int i = blockIdx.x * block.size() + block.thread_rank();
    int x = i < n ? in[i] : 0;
    int sum = tile_scan(tile, x);
    if (tile.thread_rank() == tile.size() - 1) warps[tile.meta_group_rank()] = sum;
    block.sync();
    if (tile.meta_group_rank() == 0) {
        int w = tile.thread_rank() < tile.meta_group_size() ? warps[tile.thread_rank()] : 0;
        w = tile_scan(tile, w);
        warps[tile.thread_rank()] = w;
    }
    cg::sync(block);
    if (tile.meta_group_rank() > 0) sum += warps[tile.meta_group_rank() - 1];
    assert(sum >= x);
    if (i < n) out[i] = sum;
    if (block.thread_rank() == block.size() - 1) totals[blockIdx.x] = sum;
}

__global__ void statistics(const int *in, int *sums, int *odd, unsigned int *ballots, int n)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int i = cg::this_grid().thread_rank();
    int x = i < n ? in[i] : 0;
    int sum = cg::reduce(tile, x, cg::plus<int>());
    int largest = cg::reduce(tile, x, cg::greater<int>());
    unsigned int vote = tile.ballot(x == largest);
    int group = i / 8, any = tile.any(x > 90), all = tile.all(x < 50);
    if (tile.thread_rank() == 0) {
        sums[group] = sum + (any ? 1000 : 0) + (all ? 2000 : 0);
        ballots[group] = vote;
    }
    if (x % 2) {
        cg::coalesced_group active = cg::coalesced_threads();
        int place = 0;
        if (active.thread_rank() == 0) place = atomicAdd(odd, (int)active.size());
        place = active.shfl(place, 0) + active.thread_rank();
        odd[1 + place] = x;
    }
}

int main()
{
    const int n = 700, threads = 128, blocks = (n + threads - 1) / threads, padded = blocks * threads;
    std::vector<int> in(n), out(n), totals(blocks), sums(padded / 8), odd(n + 1, 0);
    std::vector<unsigned int> ballots(padded / 8);
    for (int i = 0; i < n; i++) in[i] = (i * 53 + i / 3) % 97;
    int *d_in, *d_out, *d_totals, *d_sums, *d_odd;
    unsigned int *d_ballots;
    cudaMalloc(&d_in, n * sizeof(int));
    cudaMalloc(&d_out, n * sizeof(int));
    cudaMalloc(&d_totals, blocks * sizeof(int));
    cudaMalloc(&d_sums, padded / 8 * sizeof(int));
    cudaMalloc(&d_ballots, padded / 8 * sizeof(int));
    cudaMalloc(&d_odd, (n + 1) * sizeof(int));
    cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(d_odd, 0, (n + 1) * sizeof(int));
    scan<<<blocks, threads>>>(d_in, d_out, d_totals, n);
    statistics<<<blocks, threads>>>(d_in, d_sums, d_odd, d_ballots, n);
    cudaMemcpy(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(totals.data(), d_totals, blocks * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(sums.data(), d_sums, padded / 8 * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(ballots.data(), d_ballots, padded / 8 * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(odd.data(), d_odd, (n + 1) * sizeof(int), cudaMemcpyDeviceToHost);
    int wrong = 0, running = 0, odds = 0;
    long long odd_sum = 0, found_sum = 0;
    for (int i = 0; i < n; i++) {
        if (i % threads == 0) running = 0;
        running += in[i];
        if (out[i] != running) wrong++;
        if ((i + 1) % threads == 0 && totals[i / threads] != running) wrong++;
        if (in[i] % 2) odds++, odd_sum += in[i] * (long long)in[i];
    }
    for (int g = 0; g < padded / 8; g++) {
        int sum = 0, largest = 0, any = 0, all = 1;
        unsigned int vote = 0;
        for (int k = 0; k < 8; k++) {
            int x = g * 8 + k < n ? in[g * 8 + k] : 0;
            sum += x, largest = x > largest ? x : largest, any |= x > 90, all &= x < 50;
        }
        for (int k = 0; k < 8; k++) vote |= (unsigned int)((g * 8 + k < n ? in[g * 8 + k] : 0) == largest) << k;
        if (sums[g] != sum + any * 1000 + all * 2000 || ballots[g] != vote) wrong++;
    }
    for (int i = 1; i <= odd[0]; i++) found_sum += odd[i] * (long long)odd[i];
    if (odd[0] != odds || found_sum != odd_sum) wrong++;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}

// Cooperative groups: the block, tiles of a warp, the lanes that are active together, and the grid's indices.
#pragma once
#include "warpbank/device.h"

namespace cooperative_groups {

#define WARPBANK_GROUP __device__ __forceinline__

// Every thread of the block.
class thread_block {
  public:
    static WARPBANK_GROUP void sync() { __syncthreads(); }
    static WARPBANK_GROUP unsigned int thread_rank()
    {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    static WARPBANK_GROUP unsigned int size() { return blockDim.x * blockDim.y * blockDim.z; }
    static WARPBANK_GROUP unsigned int num_threads() { return size(); }
    static WARPBANK_GROUP dim3 group_index() { return blockIdx; }
    static WARPBANK_GROUP dim3 thread_index() { return threadIdx; }
    static WARPBANK_GROUP dim3 group_dim() { return blockDim; }
    static WARPBANK_GROUP dim3 dim_threads() { return blockDim; }
};
static WARPBANK_GROUP thread_block this_thread_block() { return thread_block(); }

// Indices in the grid. There is no barrier of a grid: blocks run one after the other.
class grid_group {
  public:
    static WARPBANK_GROUP unsigned long long size() { return (unsigned long long)num_blocks() * thread_block::size(); }
    static WARPBANK_GROUP unsigned long long num_threads() { return size(); }
    static WARPBANK_GROUP unsigned int num_blocks() { return gridDim.x * gridDim.y * gridDim.z; }
    static WARPBANK_GROUP unsigned int block_rank()
    {
        return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    }
    static WARPBANK_GROUP unsigned long long thread_rank()
    {
        return (unsigned long long)block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    static WARPBANK_GROUP dim3 group_dim() { return gridDim; }
    static WARPBANK_GROUP dim3 dim_blocks() { return gridDim; }
    static WARPBANK_GROUP dim3 block_index() { return blockIdx; }
};
static WARPBANK_GROUP grid_group this_grid() { return grid_group(); }

// `Size` neighbouring threads of one warp, a power of two.
template <unsigned int Size, class Parent = thread_block> class thread_block_tile {
    static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

  public:
    static WARPBANK_GROUP unsigned int thread_rank() { return thread_block::thread_rank() & (Size - 1); }
    static constexpr WARPBANK_GROUP unsigned int size() { return Size; }
    static constexpr WARPBANK_GROUP unsigned int num_threads() { return Size; }
    static WARPBANK_GROUP unsigned int meta_group_rank() { return thread_block::thread_rank() / Size; }
    static WARPBANK_GROUP unsigned int meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
    static WARPBANK_GROUP void sync() { __syncwarp(mask()); }
    template <class T> WARPBANK_GROUP T shfl(T x, int rank) const { return __shfl_sync(mask(), x, rank, Size); }
    template <class T> WARPBANK_GROUP T shfl_up(T x, unsigned int n) const { return __shfl_up_sync(mask(), x, n, Size); }
    template <class T> WARPBANK_GROUP T shfl_down(T x, unsigned int n) const { return __shfl_down_sync(mask(), x, n, Size); }
    template <class T> WARPBANK_GROUP T shfl_xor(T x, int n) const { return __shfl_xor_sync(mask(), x, n, Size); }
    WARPBANK_GROUP int any(int predicate) const { return ballot(predicate) != 0; }
    WARPBANK_GROUP int all(int predicate) const { return ballot(!predicate) == 0; }
    WARPBANK_GROUP unsigned int ballot(int predicate) const { return (__ballot_sync(mask(), predicate) & mask()) >> first(); }
    template <class T> WARPBANK_GROUP unsigned int match_any(T x) const { return __match_any_sync(mask(), x) >> first(); }

  private:
    static WARPBANK_GROUP unsigned int first() { return __nvvm_read_ptx_sreg_laneid() & ~(Size - 1); }
    static WARPBANK_GROUP unsigned int mask()
    {
        return Size == 32 ? 0xffffffffu : ((1u << (Size & 31)) - 1) << first();
    }
};
template <unsigned int Size, class Parent> static WARPBANK_GROUP thread_block_tile<Size, Parent> tiled_partition(const Parent &)
{
    return thread_block_tile<Size, Parent>();
}

// The lanes of a warp that arrive together, in the order of their numbers.
class coalesced_group {
  public:
    WARPBANK_GROUP coalesced_group() : mask(__activemask()) {}
    WARPBANK_GROUP unsigned int size() const { return __popc(mask); }
    WARPBANK_GROUP unsigned int num_threads() const { return size(); }
    WARPBANK_GROUP unsigned int thread_rank() const { return __popc(mask & __lanemask_lt()); }
    WARPBANK_GROUP void sync() const { __syncwarp(mask); }
    template <class T> WARPBANK_GROUP T shfl(T x, int rank) const
    {
        unsigned int left = mask;
        for (int i = 0; i < rank; i++) left &= left - 1;
        return __shfl_sync(mask, x, __ffs(left) - 1);
    }
    WARPBANK_GROUP int any(int predicate) const { return (__ballot_sync(mask, predicate) & mask) != 0; }
    WARPBANK_GROUP int all(int predicate) const { return (__ballot_sync(mask, !predicate) & mask) == 0; }

  private:
    unsigned int mask;
};
static WARPBANK_GROUP coalesced_group coalesced_threads() { return coalesced_group(); }

template <class Group> static WARPBANK_GROUP void sync(const Group &group) { group.sync(); }
template <class Group> static WARPBANK_GROUP unsigned int thread_rank(const Group &group) { return group.thread_rank(); }
template <class Group> static WARPBANK_GROUP unsigned int group_size(const Group &group) { return group.size(); }

}  // namespace cooperative_groups

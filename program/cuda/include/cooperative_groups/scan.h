// Prefix sums over a tile.
#pragma once
#include "reduce.h"

namespace cooperative_groups {

template <unsigned int Size, class Parent, class T, class Combine = plus<T>>
static WARPBANK_GROUP T inclusive_scan(const thread_block_tile<Size, Parent> &tile, T x, Combine combine = Combine())
{
    for (unsigned int n = 1; n < Size; n *= 2) {
        T before = tile.shfl_up(x, n);
        if (tile.thread_rank() >= n) x = combine(before, x);
    }
    return x;
}
template <unsigned int Size, class Parent, class T>
static WARPBANK_GROUP T exclusive_scan(const thread_block_tile<Size, Parent> &tile, T x)
{
    return inclusive_scan(tile, x) - x;
}

}  // namespace cooperative_groups

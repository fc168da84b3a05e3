// Reductions over a tile: every thread gets the result, combined by halving distances.
#pragma once
#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class T> struct plus {
    WARPBANK_GROUP T operator()(T x, T y) const { return x + y; }
};
template <class T> struct less {
    WARPBANK_GROUP T operator()(T x, T y) const { return y < x ? y : x; }
};
template <class T> struct greater {
    WARPBANK_GROUP T operator()(T x, T y) const { return x < y ? y : x; }
};
template <class T> struct bit_and {
    WARPBANK_GROUP T operator()(T x, T y) const { return x & y; }
};
template <class T> struct bit_or {
    WARPBANK_GROUP T operator()(T x, T y) const { return x | y; }
};
template <class T> struct bit_xor {
    WARPBANK_GROUP T operator()(T x, T y) const { return x ^ y; }
};

template <unsigned int Size, class Parent, class T, class Combine>
static WARPBANK_GROUP T reduce(const thread_block_tile<Size, Parent> &tile, T x, Combine combine)
{
    for (unsigned int n = Size / 2; n > 0; n /= 2) x = combine(x, tile.shfl_xor(x, n));
    return x;
}

}  // namespace cooperative_groups

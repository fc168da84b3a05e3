// Warp functions: shuffles, votes, matches and reductions among the lanes that `mask` names.
#pragma once
#include "bits.h"

// The last operand of a shuffle instruction: the segment of `width` lanes in bits 8 to 12, and the lane that bounds it.
#define WARPBANK_SHUFFLE(name, mode, bound, second)                                                                  \
    WARPBANK_DEVICE int name(unsigned int mask, int x, second n, int width = 32)                                     \
    {                                                                                                                \
        return __nvvm_shfl_sync_##mode##_i32(mask, x, (int)n, ((32 - width) << 8) | bound);                          \
    }                                                                                                                \
    WARPBANK_DEVICE float name(unsigned int mask, float x, second n, int width = 32)                                 \
    {                                                                                                                \
        return __nvvm_shfl_sync_##mode##_f32(mask, x, (int)n, ((32 - width) << 8) | bound);                          \
    }                                                                                                                \
    WARPBANK_DEVICE unsigned int name(unsigned int mask, unsigned int x, second n, int width = 32)                   \
    {                                                                                                                \
        return (unsigned int)name(mask, (int)x, n, width);                                                           \
    }                                                                                                                \
    WARPBANK_DEVICE long long name(unsigned int mask, long long x, second n, int width = 32)                         \
    {                                                                                                                \
        unsigned int low = name(mask, (unsigned int)x, n, width);                                                    \
        unsigned int high = name(mask, (unsigned int)((unsigned long long)x >> 32), n, width);                       \
        return (long long)((unsigned long long)high << 32 | low);                                                    \
    }                                                                                                                \
    WARPBANK_DEVICE unsigned long long name(unsigned int mask, unsigned long long x, second n, int width = 32)       \
    {                                                                                                                \
        return (unsigned long long)name(mask, (long long)x, n, width);                                               \
    }                                                                                                                \
    WARPBANK_DEVICE long name(unsigned int mask, long x, second n, int width = 32)                                   \
    {                                                                                                                \
        return (long)name(mask, (long long)x, n, width);                                                             \
    }                                                                                                                \
    WARPBANK_DEVICE unsigned long name(unsigned int mask, unsigned long x, second n, int width = 32)                 \
    {                                                                                                                \
        return (unsigned long)name(mask, (long long)x, n, width);                                                    \
    }                                                                                                                \
    WARPBANK_DEVICE double name(unsigned int mask, double x, second n, int width = 32)                               \
    {                                                                                                                \
        return __longlong_as_double(name(mask, __double_as_longlong(x), n, width));                                  \
    }
WARPBANK_SHUFFLE(__shfl_sync, idx, 31, int)
WARPBANK_SHUFFLE(__shfl_up_sync, up, 0, unsigned int)
WARPBANK_SHUFFLE(__shfl_down_sync, down, 31, unsigned int)
WARPBANK_SHUFFLE(__shfl_xor_sync, bfly, 31, int)
#undef WARPBANK_SHUFFLE

WARPBANK_DEVICE int __all_sync(unsigned int mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate); }
WARPBANK_DEVICE int __any_sync(unsigned int mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate); }
WARPBANK_DEVICE int __uni_sync(unsigned int mask, int predicate) { return __nvvm_vote_uni_sync(mask, predicate); }
WARPBANK_DEVICE unsigned int __ballot_sync(unsigned int mask, int predicate)
{
    return __nvvm_vote_ballot_sync(mask, predicate);
}
WARPBANK_DEVICE unsigned int __activemask()
{
    unsigned int mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}
WARPBANK_DEVICE unsigned int __lanemask_lt() { return __nvvm_read_ptx_sreg_lanemask_lt(); }

// Lanes that hold an equal value.
WARPBANK_DEVICE unsigned int __match_any_sync(unsigned int mask, unsigned int x)
{
    return __nvvm_match_any_sync_i32(mask, x);
}
WARPBANK_DEVICE unsigned int __match_any_sync(unsigned int mask, int x)
{
    return __nvvm_match_any_sync_i32(mask, (unsigned int)x);
}
WARPBANK_DEVICE unsigned int __match_any_sync(unsigned int mask, float x)
{
    return __nvvm_match_any_sync_i32(mask, __float_as_uint(x));
}
WARPBANK_DEVICE unsigned int __match_any_sync(unsigned int mask, unsigned long long x)
{
    return __nvvm_match_any_sync_i64(mask, x);
}
WARPBANK_DEVICE unsigned int __match_any_sync(unsigned int mask, long long x)
{
    return __nvvm_match_any_sync_i64(mask, (unsigned long long)x);
}

// Reductions over a warp; sm_80 and later have an instruction for each.
#if __CUDA_ARCH__ >= 800
#define WARPBANK_REDUCE(name, type, operation) \
    WARPBANK_DEVICE type name(unsigned int mask, type x) { return (type)__nvvm_redux_sync_##operation((int)x, (int)mask); }
WARPBANK_REDUCE(__reduce_add_sync, unsigned int, add)
WARPBANK_REDUCE(__reduce_add_sync, int, add)
WARPBANK_REDUCE(__reduce_min_sync, unsigned int, umin)
WARPBANK_REDUCE(__reduce_min_sync, int, min)
WARPBANK_REDUCE(__reduce_max_sync, unsigned int, umax)
WARPBANK_REDUCE(__reduce_max_sync, int, max)
WARPBANK_REDUCE(__reduce_and_sync, unsigned int, and)
WARPBANK_REDUCE(__reduce_or_sync, unsigned int, or)
WARPBANK_REDUCE(__reduce_xor_sync, unsigned int, xor)
#undef WARPBANK_REDUCE
#endif

// assert.h: an assertion that is false ends a kernel with a trap, and a program by `abort`. NDEBUG takes assertions away.
#include "warpbank/output.h"

#ifndef WARPBANK_ASSERT_HOST
#define WARPBANK_ASSERT_HOST
static inline __host__ void warpbank_assert_failed() { __builtin_abort(); }
#endif

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : warpbank_assert_failed())
#endif
#if !defined(static_assert) && !defined(__cplusplus)
#define static_assert _Static_assert
#endif

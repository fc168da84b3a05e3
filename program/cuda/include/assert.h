// assert.h: an assertion that is false ends a kernel with a trap, and a program by `abort`. NDEBUG takes assertions away.
#include "warpbank/output.h"

#ifndef WARPBANK_ASSERT_HOST
#define WARPBANK_ASSERT_HOST
extern "C" __host__ void abort() noexcept __attribute__((noreturn));
static inline __host__ void warpbank_assert_failed() { abort(); }
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

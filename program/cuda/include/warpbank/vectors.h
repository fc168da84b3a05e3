// Vector types of one to four elements with their `make_*` functions, and `dim3`. Sizes and alignments are CUDA's: a vector of
// two or four is aligned to its size, at most to 16 bytes, and one of three to its element.
#pragma once
#include "language.h"

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define WARPBANK_VECTOR(name, element, align2, align4)                                                          \
    struct name##1 { element x; };                                                                              \
    struct __align__(align2) name##2 { element x, y; };                                                         \
    struct name##3 { element x, y, z; };                                                                        \
    struct __align__(align4) name##4 { element x, y, z, w; };                                                   \
    WARPBANK_BOTH name##1 make_##name##1(element x) { return name##1{x}; }                                      \
    WARPBANK_BOTH name##2 make_##name##2(element x, element y) { return name##2{x, y}; }                        \
    WARPBANK_BOTH name##3 make_##name##3(element x, element y, element z) { return name##3{x, y, z}; }          \
    WARPBANK_BOTH name##4 make_##name##4(element x, element y, element z, element w) { return name##4{x, y, z, w}; }

WARPBANK_VECTOR(char, signed char, 2, 4)
WARPBANK_VECTOR(uchar, unsigned char, 2, 4)
WARPBANK_VECTOR(short, short, 4, 8)
WARPBANK_VECTOR(ushort, unsigned short, 4, 8)
WARPBANK_VECTOR(int, int, 8, 16)
WARPBANK_VECTOR(uint, unsigned int, 8, 16)
WARPBANK_VECTOR(long, long, 16, 16)
WARPBANK_VECTOR(ulong, unsigned long, 16, 16)
WARPBANK_VECTOR(longlong, long long, 16, 16)
WARPBANK_VECTOR(ulonglong, unsigned long long, 16, 16)
WARPBANK_VECTOR(float, float, 8, 16)
WARPBANK_VECTOR(double, double, 16, 16)
#undef WARPBANK_VECTOR

// Sizes of a grid or a block; what is left out is 1.
struct dim3 {
    unsigned int x, y, z;
    constexpr __host__ __device__ dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr __host__ __device__ dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr __host__ __device__ operator uint3() const { return uint3{x, y, z}; }
};

// Textures on linear memory, as texture objects: `tex1Dfetch`, `tex1D` and `tex2D`, by point sampling. A launch description says
// what an object is bound to.
#pragma once
#include "vectors.h"

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

// One fetch of four elements, by result and coordinates. Textures are read-only while a kernel runs, so that equal fetches may be
// one.
#define WARPBANK_FETCH(vector, type, letter)                                                                                   \
    WARPBANK_DEVICE vector warpbank_fetch(cudaTextureObject_t t, int x, vector)                                                \
    {                                                                                                                          \
        vector r;                                                                                                              \
        asm("tex.1d.v4." type ".s32 {%0, %1, %2, %3}, [%4, {%5}];"                                                             \
            : "=" letter(r.x), "=" letter(r.y), "=" letter(r.z), "=" letter(r.w) : "l"(t), "r"(x));                            \
        return r;                                                                                                              \
    }                                                                                                                          \
    WARPBANK_DEVICE vector warpbank_fetch(cudaTextureObject_t t, float x, vector)                                              \
    {                                                                                                                          \
        vector r;                                                                                                              \
        asm("tex.1d.v4." type ".f32 {%0, %1, %2, %3}, [%4, {%5}];"                                                             \
            : "=" letter(r.x), "=" letter(r.y), "=" letter(r.z), "=" letter(r.w) : "l"(t), "f"(x));                            \
        return r;                                                                                                              \
    }                                                                                                                          \
    WARPBANK_DEVICE vector warpbank_fetch(cudaTextureObject_t t, float x, float y, vector)                                     \
    {                                                                                                                          \
        vector r;                                                                                                              \
        asm("tex.2d.v4." type ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"                                                         \
            : "=" letter(r.x), "=" letter(r.y), "=" letter(r.z), "=" letter(r.w) : "l"(t), "f"(x), "f"(y));                    \
        return r;                                                                                                              \
    }
WARPBANK_FETCH(float4, "f32", "f")
WARPBANK_FETCH(int4, "s32", "r")
WARPBANK_FETCH(uint4, "u32", "r")
#undef WARPBANK_FETCH

// How a texel becomes a value of the program, and what it is made of (a kind as `cudaChannelFormatKind` has it).
constexpr int warpbank_kind(int) { return 0; }
constexpr int warpbank_kind(unsigned int) { return 1; }
constexpr int warpbank_kind(float) { return 2; }
template <class T> struct warpbank_texel {
    static_assert(sizeof(T) == 0, "a texel has 1, 2 or 4 elements of at most 32 bits: int, float, uchar4, float2 and the like");
};
#define WARPBANK_TEXEL(type, vector, element, count, ...)                                                                      \
    template <> struct warpbank_texel<type> {                                                                                  \
        typedef vector fetched;                                                                                                \
        enum { bits = 8 * sizeof(element), channels = count, kind = warpbank_kind((decltype(vector::x))0) };                   \
        WARPBANK_DEVICE type of(vector r) { return __VA_ARGS__; }                                                              \
    };
#define WARPBANK_TEXELS(name, element, vector)                                                                                 \
    WARPBANK_TEXEL(name##1, vector, element, 1, name##1{(element)r.x})                                                         \
    WARPBANK_TEXEL(name##2, vector, element, 2, name##2{(element)r.x, (element)r.y})                                           \
    WARPBANK_TEXEL(name##4, vector, element, 4, name##4{(element)r.x, (element)r.y, (element)r.z, (element)r.w})
WARPBANK_TEXEL(char, int4, char, 1, (char)r.x)
WARPBANK_TEXEL(signed char, int4, signed char, 1, (signed char)r.x)
WARPBANK_TEXEL(unsigned char, uint4, unsigned char, 1, (unsigned char)r.x)
WARPBANK_TEXEL(short, int4, short, 1, (short)r.x)
WARPBANK_TEXEL(unsigned short, uint4, unsigned short, 1, (unsigned short)r.x)
WARPBANK_TEXEL(int, int4, int, 1, (int)r.x)
WARPBANK_TEXEL(unsigned int, uint4, unsigned int, 1, (unsigned int)r.x)
WARPBANK_TEXEL(float, float4, float, 1, (float)r.x)
WARPBANK_TEXELS(char, signed char, int4)
WARPBANK_TEXELS(uchar, unsigned char, uint4)
WARPBANK_TEXELS(short, short, int4)
WARPBANK_TEXELS(ushort, unsigned short, uint4)
WARPBANK_TEXELS(int, int, int4)
WARPBANK_TEXELS(uint, unsigned int, uint4)
WARPBANK_TEXELS(float, float, float4)
#undef WARPBANK_TEXEL
#undef WARPBANK_TEXELS

template <class T> WARPBANK_DEVICE T tex1Dfetch(cudaTextureObject_t t, int x)
{
    return warpbank_texel<T>::of(warpbank_fetch(t, x, typename warpbank_texel<T>::fetched()));
}
template <class T> WARPBANK_DEVICE T tex1D(cudaTextureObject_t t, float x)
{
    return warpbank_texel<T>::of(warpbank_fetch(t, x, typename warpbank_texel<T>::fetched()));
}
template <class T> WARPBANK_DEVICE T tex2D(cudaTextureObject_t t, float x, float y)
{
    return warpbank_texel<T>::of(warpbank_fetch(t, x, y, typename warpbank_texel<T>::fetched()));
}
template <class T> WARPBANK_DEVICE void tex1Dfetch(T *value, cudaTextureObject_t t, int x) { *value = tex1Dfetch<T>(t, x); }
template <class T> WARPBANK_DEVICE void tex1D(T *value, cudaTextureObject_t t, float x) { *value = tex1D<T>(t, x); }
template <class T> WARPBANK_DEVICE void tex2D(T *value, cudaTextureObject_t t, float x, float y) { *value = tex2D<T>(t, x, y); }

// What does not lie in linear memory says so where it is used.
#define WARPBANK_NOT_LINEAR(name, instead)                                                                                     \
    template <class T, class... A> WARPBANK_DEVICE T name(A...)                                                                \
    {                                                                                                                          \
        static_assert(sizeof(T) == 0, #name " is not supported: " instead);                                                    \
        return T();                                                                                                            \
    }
WARPBANK_NOT_LINEAR(tex3D, "lay the slices out as rows of a 2D texture")
WARPBANK_NOT_LINEAR(tex1DLayered, "lay the layers out as rows of a 2D texture")
WARPBANK_NOT_LINEAR(tex2DLayered, "lay the layers out as rows of a 2D texture")
WARPBANK_NOT_LINEAR(texCubemap, "lay the faces out as rows of a 2D texture")
WARPBANK_NOT_LINEAR(tex1DLod, "bind each level of detail as a texture of its own")
WARPBANK_NOT_LINEAR(tex2DLod, "bind each level of detail as a texture of its own")
WARPBANK_NOT_LINEAR(tex2DGrad, "bind each level of detail as a texture of its own")
WARPBANK_NOT_LINEAR(tex2Dgather, "read the four texels one by one with tex2D")
WARPBANK_NOT_LINEAR(surf1Dread, "surfaces are not there: pass a pointer to global memory")
WARPBANK_NOT_LINEAR(surf2Dread, "surfaces are not there: pass a pointer to global memory")
#undef WARPBANK_NOT_LINEAR
template <class T, class... A> WARPBANK_DEVICE void surf1Dwrite(T, A...)
{
    static_assert(sizeof(T) == 0, "surf1Dwrite is not supported: surfaces are not there: pass a pointer to global memory");
}
template <class T, class... A> WARPBANK_DEVICE void surf2Dwrite(T, A...)
{
    static_assert(sizeof(T) == 0, "surf2Dwrite is not supported: surfaces are not there: pass a pointer to global memory");
}

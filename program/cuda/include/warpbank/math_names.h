// Names of C++: overloads of the mathematical functions for f32 and for integers, minima and maxima, absolute values, and all of
// them in namespace std.
#pragma once
#include "math_float.h"

template <class T> struct warpbank_integer;  // defined for integers alone: their overloads compute in f64
#define WARPBANK_INTEGER(type) \
    template <> struct warpbank_integer<type> { typedef double real; };
WARPBANK_INTEGER(bool)
WARPBANK_INTEGER(char)
WARPBANK_INTEGER(signed char)
WARPBANK_INTEGER(unsigned char)
WARPBANK_INTEGER(short)
WARPBANK_INTEGER(unsigned short)
WARPBANK_INTEGER(int)
WARPBANK_INTEGER(unsigned int)
WARPBANK_INTEGER(long)
WARPBANK_INTEGER(unsigned long)
WARPBANK_INTEGER(long long)
WARPBANK_INTEGER(unsigned long long)
#undef WARPBANK_INTEGER

// The type in which a function of two different arithmetic types computes.
template <class A, class B> struct warpbank_mixed;
template <class A> struct warpbank_mixed<A, float> { typedef typename warpbank_integer<A>::real real; };
template <class A> struct warpbank_mixed<A, double> { typedef typename warpbank_integer<A>::real real; };
template <class B> struct warpbank_mixed<float, B> { typedef typename warpbank_integer<B>::real real; };
template <class B> struct warpbank_mixed<double, B> { typedef typename warpbank_integer<B>::real real; };
template <> struct warpbank_mixed<float, double> { typedef double real; };
template <> struct warpbank_mixed<double, float> { typedef double real; };

#define WARPBANK_UNARY(name)                                                   \
    WARPBANK_DEVICE float name(float x) { return name##f(x); }                 \
    template <class T> WARPBANK_DEVICE typename warpbank_integer<T>::real name(T x) { return name((double)x); }
#define WARPBANK_UNARY_INTEGER(type, name) \
    WARPBANK_DEVICE type name(float x) { return name##f(x); }
#define WARPBANK_BINARY(name)                                                  \
    WARPBANK_DEVICE float name(float x, float y) { return name##f(x, y); }     \
    template <class A, class B> WARPBANK_DEVICE typename warpbank_mixed<A, B>::real name(A x, B y) { return name((double)x, (double)y); }
WARPBANK_UNARY(sqrt)
WARPBANK_UNARY(fabs)
WARPBANK_UNARY(floor)
WARPBANK_UNARY(ceil)
WARPBANK_UNARY(trunc)
WARPBANK_UNARY(rint)
WARPBANK_UNARY(nearbyint)
WARPBANK_UNARY(round)
WARPBANK_UNARY(exp)
WARPBANK_UNARY(exp2)
WARPBANK_UNARY(exp10)
WARPBANK_UNARY(expm1)
WARPBANK_UNARY(log)
WARPBANK_UNARY(log2)
WARPBANK_UNARY(log10)
WARPBANK_UNARY(log1p)
WARPBANK_UNARY(sin)
WARPBANK_UNARY(cos)
WARPBANK_UNARY(tan)
WARPBANK_UNARY(sinpi)
WARPBANK_UNARY(cospi)
WARPBANK_UNARY(asin)
WARPBANK_UNARY(acos)
WARPBANK_UNARY(atan)
WARPBANK_UNARY(sinh)
WARPBANK_UNARY(cosh)
WARPBANK_UNARY(tanh)
WARPBANK_UNARY(asinh)
WARPBANK_UNARY(acosh)
WARPBANK_UNARY(atanh)
WARPBANK_UNARY(erf)
WARPBANK_UNARY(erfc)
WARPBANK_UNARY(erfcx)
WARPBANK_UNARY(normcdf)
WARPBANK_UNARY(tgamma)
WARPBANK_UNARY(lgamma)
WARPBANK_UNARY(cbrt)
WARPBANK_UNARY(rcbrt)
WARPBANK_UNARY(rsqrt)
WARPBANK_UNARY(logb)
WARPBANK_UNARY_INTEGER(long, lround)
WARPBANK_UNARY_INTEGER(long long, llround)
WARPBANK_UNARY_INTEGER(long, lrint)
WARPBANK_UNARY_INTEGER(long long, llrint)
WARPBANK_UNARY_INTEGER(int, ilogb)
WARPBANK_BINARY(pow)
WARPBANK_BINARY(atan2)
WARPBANK_BINARY(fmod)
WARPBANK_BINARY(remainder)
WARPBANK_BINARY(copysign)
WARPBANK_BINARY(nextafter)
WARPBANK_BINARY(fdim)
WARPBANK_BINARY(fmin)
WARPBANK_BINARY(fmax)
WARPBANK_BINARY(hypot)
WARPBANK_BINARY(rhypot)
#undef WARPBANK_UNARY
#undef WARPBANK_UNARY_INTEGER
#undef WARPBANK_BINARY
WARPBANK_DEVICE double pow(int x, int y) { return pow((double)x, (double)y); }
WARPBANK_DEVICE float fma(float x, float y, float z) { return fmaf(x, y, z); }
WARPBANK_DEVICE float ldexp(float x, int n) { return ldexpf(x, n); }
WARPBANK_DEVICE float scalbn(float x, int n) { return scalbnf(x, n); }
WARPBANK_DEVICE float scalbln(float x, long n) { return scalblnf(x, n); }
WARPBANK_DEVICE float frexp(float x, int *n) { return frexpf(x, n); }
WARPBANK_DEVICE float modf(float x, float *whole) { return modff(x, whole); }
WARPBANK_DEVICE float remquo(float x, float y, int *quotient) { return remquof(x, y, quotient); }
WARPBANK_DEVICE void sincos(float x, float *s, float *c) { sincosf(x, s, c); }
WARPBANK_DEVICE void sincospi(float x, float *s, float *c) { sincospif(x, s, c); }

WARPBANK_DEVICE int abs(int x) { return x < 0 ? -x : x; }
WARPBANK_DEVICE long abs(long x) { return x < 0 ? -x : x; }
WARPBANK_DEVICE long long abs(long long x) { return x < 0 ? -x : x; }
WARPBANK_DEVICE float abs(float x) { return fabsf(x); }
WARPBANK_DEVICE double abs(double x) { return fabs(x); }
WARPBANK_DEVICE long labs(long x) { return abs(x); }
WARPBANK_DEVICE long long llabs(long long x) { return abs(x); }

// Minima and maxima: of floating-point numbers the one that is no NaN, of integers in the type that C++ computes in.
#define WARPBANK_MINMAX(type)                                                  \
    WARPBANK_BOTH type min(type x, type y) { return x < y ? x : y; }           \
    WARPBANK_BOTH type max(type x, type y) { return x > y ? x : y; }
WARPBANK_MINMAX(int)
WARPBANK_MINMAX(unsigned int)
WARPBANK_MINMAX(long)
WARPBANK_MINMAX(unsigned long)
WARPBANK_MINMAX(long long)
WARPBANK_MINMAX(unsigned long long)
#undef WARPBANK_MINMAX
WARPBANK_BOTH float min(float x, float y) { return __builtin_fminf(x, y); }
WARPBANK_BOTH float max(float x, float y) { return __builtin_fmaxf(x, y); }
WARPBANK_BOTH double min(double x, double y) { return __builtin_fmin(x, y); }
WARPBANK_BOTH double max(double x, double y) { return __builtin_fmax(x, y); }
#define WARPBANK_MIXED(a, b, result)                                                         \
    WARPBANK_BOTH result min(a x, b y) { return min((result)x, (result)y); }                 \
    WARPBANK_BOTH result max(a x, b y) { return max((result)x, (result)y); }                 \
    WARPBANK_BOTH result min(b x, a y) { return min((result)x, (result)y); }                 \
    WARPBANK_BOTH result max(b x, a y) { return max((result)x, (result)y); }
WARPBANK_MIXED(int, unsigned int, unsigned int)
WARPBANK_MIXED(long, unsigned long, unsigned long)
WARPBANK_MIXED(long long, unsigned long long, unsigned long long)
WARPBANK_MIXED(float, double, double)
#undef WARPBANK_MIXED
WARPBANK_DEVICE unsigned int umin(unsigned int x, unsigned int y) { return min(x, y); }
WARPBANK_DEVICE unsigned int umax(unsigned int x, unsigned int y) { return max(x, y); }
WARPBANK_DEVICE long long llmin(long long x, long long y) { return min(x, y); }
WARPBANK_DEVICE long long llmax(long long x, long long y) { return max(x, y); }
WARPBANK_DEVICE unsigned long long ullmin(unsigned long long x, unsigned long long y) { return min(x, y); }
WARPBANK_DEVICE unsigned long long ullmax(unsigned long long x, unsigned long long y) { return max(x, y); }

namespace std {
using ::sqrt;
using ::fabs;
using ::floor;
using ::ceil;
using ::trunc;
using ::rint;
using ::nearbyint;
using ::round;
using ::exp;
using ::exp2;
using ::expm1;
using ::log;
using ::log2;
using ::log10;
using ::log1p;
using ::sin;
using ::cos;
using ::tan;
using ::asin;
using ::acos;
using ::atan;
using ::sinh;
using ::cosh;
using ::tanh;
using ::asinh;
using ::acosh;
using ::atanh;
using ::erf;
using ::erfc;
using ::tgamma;
using ::lgamma;
using ::cbrt;
using ::logb;
using ::lround;
using ::llround;
using ::lrint;
using ::llrint;
using ::ilogb;
using ::pow;
using ::atan2;
using ::fmod;
using ::remainder;
using ::copysign;
using ::nextafter;
using ::fdim;
using ::fmin;
using ::fmax;
using ::hypot;
using ::rhypot;
using ::fma;
using ::ldexp;
using ::scalbn;
using ::scalbln;
using ::frexp;
using ::modf;
using ::remquo;
using ::isnan;
using ::isinf;
using ::isfinite;
using ::signbit;
using ::abs;
using ::sqrtf;
using ::fabsf;
using ::floorf;
using ::ceilf;
using ::truncf;
using ::rintf;
using ::nearbyintf;
using ::roundf;
using ::expf;
using ::exp2f;
using ::expm1f;
using ::logf;
using ::log2f;
using ::log10f;
using ::log1pf;
using ::sinf;
using ::cosf;
using ::tanf;
using ::asinf;
using ::acosf;
using ::atanf;
using ::sinhf;
using ::coshf;
using ::tanhf;
using ::asinhf;
using ::acoshf;
using ::atanhf;
using ::erff;
using ::erfcf;
using ::tgammaf;
using ::lgammaf;
using ::cbrtf;
using ::logbf;
using ::lroundf;
using ::llroundf;
using ::lrintf;
using ::llrintf;
using ::ilogbf;
using ::powf;
using ::atan2f;
using ::fmodf;
using ::remainderf;
using ::copysignf;
using ::nextafterf;
using ::fdimf;
using ::fminf;
using ::fmaxf;
using ::hypotf;
using ::fmaf;
using ::ldexpf;
using ::scalbnf;
using ::scalblnf;
using ::frexpf;
using ::modff;
using ::remquof;
using ::labs;
using ::llabs;
}  // namespace std

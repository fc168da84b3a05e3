// Mathematics of f32. The elementary functions compute in f32 alone, in the manner of math_double.h; powers, cube roots, gamma and
// the tails of the error function are rounded from f64. The approximate functions of the special function unit (`__expf`, ...)
// are one instruction and a multiplication or two.
#pragma once
#include "math_double.h"

WARPBANK_DEVICE float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950408889634f); }
WARPBANK_DEVICE float __exp10f(float x) { return __nvvm_ex2_approx_f(x * 3.3219280948873623f); }
WARPBANK_DEVICE float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471805599453f; }
WARPBANK_DEVICE float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
WARPBANK_DEVICE float __log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.3010299956639812f; }
WARPBANK_DEVICE float __powf(float x, float y) { return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x)); }
WARPBANK_DEVICE float __sinf(float x) { return __nvvm_sin_approx_f(x); }
WARPBANK_DEVICE float __cosf(float x) { return __nvvm_cos_approx_f(x); }
WARPBANK_DEVICE float __tanf(float x) { return __nvvm_div_approx_f(__sinf(x), __cosf(x)); }
WARPBANK_DEVICE void __sincosf(float x, float *s, float *c)
{
    *s = __sinf(x);
    *c = __cosf(x);
}
WARPBANK_DEVICE float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }

WARPBANK_DEVICE float warpbank_exp_tail(float r)
{
    return fmaf(r * r, warpbank_polynomial(r, 0.5f, 0.166666672f, 0.041666463f, 0.00833331048f, 0.00139339f, 0.00019891269f), r);
}
// Two to the power n times y in two steps, for |n| up to 250.
WARPBANK_DEVICE float warpbank_grow(float y, int n)
{
    int half = n >> 1;
    return y * warpbank_power<float>(half) * warpbank_power<float>(n - half);
}
// exp(x) times two to the power `scale`.
WARPBANK_DEVICE float warpbank_exp(float x, int scale)
{
    float a = x > 150.0f ? 150.0f : x < -150.0f ? -150.0f : x;
    float n = rintf(a * 1.44269502f);
    float r = fmaf(n, -0x1.7f7d1cp-20f, fmaf(n, -0x1.62e4p-1f, a));
    float y = warpbank_grow(1 + warpbank_exp_tail(r), (int)n + scale);
    return x != x ? x : y;
}
WARPBANK_DEVICE float expf(float x) { return warpbank_exp(x, 0); }
WARPBANK_DEVICE float exp2f(float x)
{
    float a = x > 200.0f ? 200.0f : x < -200.0f ? -200.0f : x, n = rintf(a), f = a - n;
    float y = warpbank_grow(1 + warpbank_exp_tail(f * 0.693147182f), (int)n);
    return x != x ? x : y;
}
WARPBANK_DEVICE float exp10f(float x)
{
    float a = x > 60.0f ? 60.0f : x < -60.0f ? -60.0f : x, n = rintf(a * 3.32192802f);
    float f = fmaf(n, -0x1.3509f6p-18f, fmaf(n, -0x1.344p-2f, a));
    float y = warpbank_grow(1 + warpbank_exp_tail(fmaf(f, 0x1.26bb1ap+1f, f * 0x1.bb5554p-23f)), (int)n);
    return x != x ? x : y;
}
WARPBANK_DEVICE float expm1f(float x)
{
    if (!(x < 80.0f)) return expf(x);
    if (x < -20.0f) return -1.0f;
    float n = rintf(x * 1.44269502f);
    float r = fmaf(n, -0x1.7f7d1cp-20f, fmaf(n, -0x1.62e4p-1f, x));
    float y = warpbank_exp_tail(r), s = warpbank_power<float>((int)n);
    return n == 0 ? (x == 0 ? x : y) : fmaf(s, y, s - 1);
}

WARPBANK_DEVICE float warpbank_split(float x, int *e)
{
    int n = 0;
    if (x < 0x1p-126f) {
        x *= 0x1p24f;
        n = -24;
    }
    int bits = __float_as_int(x), k = (bits - 0x3f3504f3) >> 23;
    *e = n + k;
    return __int_as_float(bits - (k << 23));
}
// log(1 + f) - f, for 1 + f between the roots of 1/2 and of 2.
WARPBANK_DEVICE float warpbank_log_tail(float f)
{
    float s = f * f;
    float p = warpbank_polynomial(f, 0.333333343f, -0.249999896f, 0.200000107f, -0.166680008f, 0.142865241f, -0.124507435f,
        0.110377833f, -0.10646192f, 0.105308644f, -0.0620150007f);
    return fmaf(s * f, p, -0.5f * s);
}
WARPBANK_DEVICE float warpbank_log_edge(float x) { return x == 0 ? -(float)WARPBANK_INF : x < 0 ? (float)WARPBANK_NAN : x; }
WARPBANK_DEVICE bool warpbank_loggable(float x) { return x > 0 && x < (float)WARPBANK_INF; }
WARPBANK_DEVICE float logf(float x)
{
    int e;
    float f = warpbank_split(x, &e) - 1, n = (float)e;
    float y = fmaf(n, 0x1.62e4p-1f, f + fmaf(n, 0x1.7f7d1cp-20f, warpbank_log_tail(f)));
    return warpbank_loggable(x) ? y : warpbank_log_edge(x);
}
WARPBANK_DEVICE float log2f(float x)
{
    int e;
    float f = warpbank_split(x, &e) - 1, t = warpbank_log_tail(f);
    float y = fmaf(f, 1.44269502f, fmaf(f, 1.92596299e-8f, t * 1.44269502f)) + (float)e;
    return warpbank_loggable(x) ? y : warpbank_log_edge(x);
}
WARPBANK_DEVICE float log10f(float x)
{
    int e;
    float f = warpbank_split(x, &e) - 1, n = (float)e, t = warpbank_log_tail(f);
    float y = fmaf(f, 0.434294492f, fmaf(n, 0x1.3509f6p-18f, t * 0.434294492f));
    return warpbank_loggable(x) ? fmaf(n, 0x1.344p-2f, y) : warpbank_log_edge(x);
}
WARPBANK_DEVICE float log1pf(float x)
{
    if (!(x > -1 && x < (float)WARPBANK_INF)) return x == -1 ? -(float)WARPBANK_INF : x < -1 ? (float)WARPBANK_NAN : x;
    if (x == 0) return x;
    if (x > -0.29f && x < 0.41f) return x + warpbank_log_tail(x);
    float y = 1 + x, lost = x > 1 ? 1 - (y - x) : x - (y - 1);
    return logf(y) + lost / y;
}
WARPBANK_DEVICE float powf(float x, float y)
{
    return warpbank_pow(x, y, [](float a, float b) { return (float)exp(log((double)a) * b); });
}

// Bits of 2 / pi behind the binary point, after one word of zeros.
static __device__ const unsigned int warpbank_two_over_pi_words[7] = {
    0x0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u};

// x = q pi / 2 + r with |r| <= pi / 4: r, and q modulo 4.
WARPBANK_DEVICE float warpbank_quadrant(float x, int *q)
{
    if (warpbank_abs(x) < 100000.0f) {
        float n = rintf(x * 0.636619747f);
        *q = (int)n & 3;
        return fmaf(n, -0x1.846988p-48f, fmaf(n, -0x1.4442dp-24f, fmaf(n, -0x1.921fb4p+0f, x)));
    }
    int bits = __float_as_int(x), e = (bits >> 23 & 255) - 127, first = (e - 1) >> 5, shift = (e - 1) & 31;
    unsigned int m = (unsigned int)bits << 8 | 0x80000000u, w[3];
    for (int i = 0; i < 3; i++) {
        w[i] = __funnelshift_l(warpbank_two_over_pi_words[first + i + 1], warpbank_two_over_pi_words[first + i], shift);
    }
    unsigned long long p = ((unsigned long long)(m * w[0]) << 32) + (unsigned long long)m * w[1] + __umulhi(m, w[2]);
    int n = (int)(p >> 62);
    long long f = (long long)(p << 2);
    n += f < 0;
    float r = (float)((double)f * 0x1.921fb54442d18p-64);
    *q = (bits < 0 ? -n : n) & 3;
    return bits < 0 ? -r : r;
}
WARPBANK_DEVICE float warpbank_sin_quadrant(float r, int q)
{
    float u = r * r, y;
    if (q & 1) {
        y = fmaf(u * u, warpbank_polynomial(u, 0.0416666642f, -0.00138883002f, 2.45474366e-05f), fmaf(u, -0.5f, 1.0f));
    } else {
        y = fmaf(r * u, warpbank_polynomial(u, -0.166666642f, 0.0083327461f, -0.000195873872f), r);
    }
    return q & 2 ? -y : y;
}
WARPBANK_DEVICE void sincosf(float x, float *s, float *c)
{
    if (!warpbank_finite(x)) {
        *s = *c = (float)WARPBANK_NAN;
        return;
    }
    int q;
    float r = warpbank_quadrant(x, &q);
    *s = x == 0 ? x : warpbank_sin_quadrant(r, q);
    *c = warpbank_sin_quadrant(r, q + 1);
}
WARPBANK_DEVICE float sinf(float x)
{
    if (!warpbank_finite(x)) return (float)WARPBANK_NAN;
    int q;
    float r = warpbank_quadrant(x, &q);
    return x == 0 ? x : warpbank_sin_quadrant(r, q);
}
WARPBANK_DEVICE float cosf(float x)
{
    if (!warpbank_finite(x)) return (float)WARPBANK_NAN;
    int q;
    float r = warpbank_quadrant(x, &q);
    return warpbank_sin_quadrant(r, q + 1);
}
WARPBANK_DEVICE float tanf(float x)
{
    float s, c;
    sincosf(x, &s, &c);
    return s / c;
}
WARPBANK_DEVICE void sincospif(float x, float *s, float *c)
{
    if (!warpbank_finite(x)) {
        *s = *c = (float)WARPBANK_NAN;
        return;
    }
    float n = rintf(2 * x), f = fmaf(n, -0.5f, x);
    int q = (int)(n - 4 * floorf(n * 0.25f));
    float r = fmaf(f, 0x1.921fb6p+1f, f * -0x1.777a5cp-24f);
    *s = floorf(x) == x ? warpbank_sign(0.0f, x) : warpbank_sin_quadrant(r, q);
    *c = x - floorf(x) == 0.5f ? 0.0f : warpbank_sin_quadrant(r, q + 1);
}
WARPBANK_DEVICE float sinpif(float x)
{
    float s, c;
    sincospif(x, &s, &c);
    return s;
}
WARPBANK_DEVICE float cospif(float x)
{
    float s, c;
    sincospif(x, &s, &c);
    return c;
}

WARPBANK_DEVICE float warpbank_asin_tail(float u)
{
    return u * warpbank_polynomial(u, 0.166666657f, 0.0750009418f, 0.0445994027f, 0.0311006624f, 0.0171492379f, 0.0336908475f);
}
WARPBANK_DEVICE float asinf(float x)
{
    float a = warpbank_abs(x);
    if (a <= 0.5f) return x == 0 ? x : fmaf(x, warpbank_asin_tail(x * x), x);
    float u = 0.5f * (1 - a), s = sqrtf(u);
    float y = 0x1.921fb6p+0f - (2 * s - (-0x1.777a5cp-25f - 2 * s * warpbank_asin_tail(u)));
    return a <= 1 ? warpbank_sign(y, x) : (float)WARPBANK_NAN;
}
WARPBANK_DEVICE float acosf(float x)
{
    float a = warpbank_abs(x);
    if (a <= 0.5f) return 0x1.921fb6p+0f - (x - (-0x1.777a5cp-25f - x * warpbank_asin_tail(x * x)));
    float u = 0.5f * (1 - a), s = sqrtf(u), tail = s * warpbank_asin_tail(u);
    float y = x > 0 ? 2 * (s + tail) : 0x1.921fb6p+1f - (2 * s - (-0x1.777a5cp-24f - 2 * tail));
    return a <= 1 ? y : (float)WARPBANK_NAN;
}
WARPBANK_DEVICE float warpbank_angle(float y, float x)
{
    bool steep = y > x;
    float z = steep ? x / y : y / x, u = z * z;
    float p = warpbank_polynomial(u, -0.333333313f, 0.199997395f, -0.142785683f, 0.110337645f, -0.0865688026f, 0.0625016913f,
        -0.0358715393f, 0.0135077713f, -0.00238699722f);
    float tail = z * u * p;
    return steep ? 0x1.921fb6p+0f - (z - (-0x1.777a5cp-25f - tail)) : z + tail;
}
WARPBANK_DEVICE float atanf(float x)
{
    if (x != x || x == 0) return x;
    return warpbank_sign(warpbank_angle(warpbank_abs(x), 1.0f), x);
}
WARPBANK_DEVICE float atan2f(float y, float x)
{
    if (x != x || y != y) return x + y;
    float a = warpbank_abs(y), b = warpbank_abs(x);
    float angle = a == 0 && b == 0 ? 0.0f : a == b ? 0x1.921fb6p-1f : warpbank_angle(a, b);
    if (signbit(x)) angle = 0x1.921fb6p+1f - (angle - -0x1.777a5cp-24f);
    return warpbank_sign(angle, y);
}

WARPBANK_DEVICE float sinhf(float x)
{
    float a = warpbank_abs(x), y;
    if (a < 1) {
        float t = expm1f(a);
        y = 0.5f * (t + t / (t + 1));
    } else {
        float h = warpbank_exp(a, -1);
        y = h - 0.25f / h;
    }
    return warpbank_sign(x == 0 ? 0.0f : y, x);
}
WARPBANK_DEVICE float coshf(float x)
{
    float h = warpbank_exp(warpbank_abs(x), -1);
    return h + 0.25f / h;
}
WARPBANK_DEVICE float tanhf(float x)
{
    float a = warpbank_abs(x), y;
    if (a > 10) {
        y = 1;
    } else {
        float t = expm1f(2 * a);
        y = a < 0.55f ? t / (t + 2) : 1 - 2 / (t + 2);
    }
    return x != x ? x : warpbank_sign(y, x);
}
WARPBANK_DEVICE float asinhf(float x)
{
    float a = warpbank_abs(x), u = a * a;
    float y = a > 10000.0f ? logf(a) + 0.693147182f : log1pf(a + u / (1 + sqrtf(1 + u)));
    return warpbank_sign(y, x);
}
WARPBANK_DEVICE float acoshf(float x)
{
    float t = x - 1;
    if (t < 0) return (float)WARPBANK_NAN;
    return x > 10000.0f ? logf(x) + 0.693147182f : log1pf(t + sqrtf(fmaf(t, t, 2 * t)));
}
WARPBANK_DEVICE float atanhf(float x)
{
    float a = warpbank_abs(x);
    return warpbank_sign(a > 1 ? (float)WARPBANK_NAN : 0.5f * log1pf(2 * a / (1 - a)), x);
}

WARPBANK_DEVICE float erff(float x)
{
    float a = warpbank_abs(x);
    if (a < 1) {
        float p = warpbank_polynomial(x * x, 0.128379166f, -0.37612626f, 0.112835944f, -0.0268542115f, 0.00518908724f,
            -0.00080168643f, 7.87587487e-05f);
        return fmaf(x, p, x);
    }
    return a > 4 ? (x != x ? x : warpbank_sign(1.0f, x)) : (float)erf((double)x);
}
#define WARPBANK_ROUNDED(name) \
    WARPBANK_DEVICE float name##f(float x) { return (float)name((double)x); }
WARPBANK_ROUNDED(erfc)
WARPBANK_ROUNDED(erfcx)
WARPBANK_ROUNDED(normcdf)
WARPBANK_ROUNDED(tgamma)
WARPBANK_ROUNDED(lgamma)
WARPBANK_ROUNDED(cbrt)
WARPBANK_ROUNDED(rcbrt)
#undef WARPBANK_ROUNDED
WARPBANK_DEVICE float warpbank_norm(float x, float y, float z)
{
    if (isinf(x) || isinf(y) || isinf(z)) return (float)WARPBANK_INF;
    return (float)sqrt((double)x * x + (double)y * y + (double)z * z);
}
WARPBANK_DEVICE float hypotf(float x, float y) { return warpbank_norm(x, y, 0); }
WARPBANK_DEVICE float norm3df(float x, float y, float z) { return warpbank_norm(x, y, z); }
WARPBANK_DEVICE float rhypotf(float x, float y) { return 1 / hypotf(x, y); }
WARPBANK_DEVICE float rnorm3df(float x, float y, float z) { return 1 / norm3df(x, y, z); }

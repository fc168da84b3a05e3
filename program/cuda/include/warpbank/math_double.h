// Mathematics of f64. Every function first reduces its argument to a small interval, evaluates a polynomial there, and puts the
// result together; the polynomials interpolate the function at the interval's Chebyshev nodes. Where one f64 is too short in
// between (the reduced angle, the logarithm in a power), a second holds what the first leaves out. The reductions and the order
// of the operations are those of FreeBSD's msun (log, sin, cos, asin), and the reduction of huge angles is that of Payne and
// Hanek. The bounds in units in the last place stand in docs/cuda.md and are measured by tests/program/cuda/test_math.py.
#pragma once
#include "math_exact.h"

// A number as the sum of two, the second below the first's last place.
struct warpbank_pair { double high, low; };
WARPBANK_DEVICE warpbank_pair warpbank_sum(double x, double y)  // |x| >= |y|
{
    double s = x + y;
    return {s, y - (s - x)};
}
WARPBANK_DEVICE warpbank_pair warpbank_product(double x, double y)
{
    double p = __dmul_rn(x, y);  // not to be fused with a sum that it goes into
    return {p, fma(x, y, -p)};
}

// exp(x + low) times two to the power `scale`, for |low| far below 1.
WARPBANK_DEVICE double warpbank_exp_tail(double r)
{
    return fma(r * r, warpbank_polynomial(r, 0.5, 0.16666666666666666, 0.041666666666666678, 0.0083333333333333332,
        0.0013888888888878854, 0.00019841269841263152, 2.480158733702903e-05, 2.755731924760984e-06, 2.75572626528368e-07,
        2.5052070676884162e-08, 2.0918368776542248e-09, 1.6086781948613066e-10), r);
}
WARPBANK_DEVICE double warpbank_exp(double x, double low, int scale)
{
    if (x != x) return x;
    if (x > 2000) return WARPBANK_INF;
    if (x < -2000) return 0;
    double n = rint(x * 0x1.71547652b82fep+0);
    double r = fma(n, -0x1.ef35793c76730p-45, fma(n, -0x1.62e42fefa3800p-1, x)) + low;
    return warpbank_scale(1 + warpbank_exp_tail(r), (int)n + scale);
}
WARPBANK_DEVICE double exp(double x) { return warpbank_exp(x, 0, 0); }
WARPBANK_DEVICE double exp2(double x)
{
    if (!(x < 2000 && x > -2000)) return x != x ? x : x > 0 ? WARPBANK_INF : 0;
    double n = rint(x), f = x - n;
    warpbank_pair r = warpbank_product(f, 0x1.62e42fefa39efp-1);
    return warpbank_scale(1 + (warpbank_exp_tail(r.high) + fma(f, 0x1.abc9e3b39803fp-56, r.low)), (int)n);
}
WARPBANK_DEVICE double exp10(double x)
{
    if (!(x < 700 && x > -700)) return x != x ? x : x > 0 ? WARPBANK_INF : 0;
    double n = rint(x * 0x1.a934f0979a371p+1);
    double f = fma(n, -0x1.fef311f12b358p-46, fma(n, -0x1.34413509f7800p-2, x));
    warpbank_pair r = warpbank_product(f, 0x1.26bb1bbb55515p+1);
    return warpbank_scale(1 + (warpbank_exp_tail(r.high) + fma(f, 0x1.05ba95b58ae0bp-52, r.low)), (int)n);
}
WARPBANK_DEVICE double expm1(double x)
{
    if (!(x < 700)) return exp(x);
    if (x < -40) return -1;
    double n = rint(x * 0x1.71547652b82fep+0);
    double r = fma(n, -0x1.ef35793c76730p-45, fma(n, -0x1.62e42fefa3800p-1, x));
    double y = warpbank_exp_tail(r), s = warpbank_power<double>((int)n);
    return n == 0 ? (x == 0 ? x : y) : fma(s, y, s - 1);
}

// A positive number as m times two to the power e, with m between the roots of 1/2 and of 2.
WARPBANK_DEVICE double warpbank_split(double x, int *e)
{
    int n = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        n = -54;
    }
    long long bits = __double_as_longlong(x);
    int k = (int)((bits - 0x3fe6a09e667f3bcdll) >> 52);
    *e = n + k;
    return __longlong_as_double(bits - ((long long)k << 52));
}
// 2 (atanh(s) / s - 1), with u = s s.
WARPBANK_DEVICE double warpbank_atanh_tail(double u)
{
    double p = warpbank_polynomial(u, 0.20000000000000001, 0.14285714285714282, 0.11111111111114212, 0.090909090898291231,
        0.076923078804887315, 0.066666482747861813, 0.058834062330574734, 0.052281709727126424, 0.053811457093143222);
    return 2 * u * fma(u, p, 0x1.5555555555555p-2);
}
// log(1 + f) + e log(2), for 1 + f between the roots of 1/2 and of 2.
WARPBANK_DEVICE double warpbank_log(double f, int e)
{
    double s = f / (2 + f), half = 0.5 * f * f, n = (double)e;
    double tail = s * (half + warpbank_atanh_tail(s * s)) + n * 0x1.ef35793c76730p-45;
    return n * 0x1.62e42fefa3800p-1 - ((half - tail) - f);
}
// What logarithms are of numbers that have none, or none that is finite.
WARPBANK_DEVICE double warpbank_log_edge(double x) { return x == 0 ? -WARPBANK_INF : x < 0 ? WARPBANK_NAN : x; }
WARPBANK_DEVICE double log(double x)
{
    if (!(x > 0 && x < WARPBANK_INF)) return warpbank_log_edge(x);
    int e;
    double m = warpbank_split(x, &e);
    return warpbank_log(m - 1, e);
}
// The logarithm with about 64 significant bits.
WARPBANK_DEVICE warpbank_pair warpbank_log_pair(double x)
{
    int e;
    double f = warpbank_split(x, &e) - 1, n = (double)e;
    warpbank_pair d = warpbank_sum(2, f);
    double s = f / d.high, s_low = (fma(-s, d.high, f) - s * d.low) / d.high;
    double u = s * s, u_low = fma(s, s, -u) + 2 * s * s_low;
    double p = warpbank_polynomial(u, 0.20000000000000001, 0.14285714285714282, 0.11111111111114212, 0.090909090898291231,
        0.076923078804887315, 0.066666482747861813, 0.058834062330574734, 0.052281709727126424, 0.053811457093143222);
    // 2 s + 2 s u (1/3 + u p), the bracket and the products as pairs
    warpbank_pair up = warpbank_product(u, p);
    warpbank_pair bracket = warpbank_sum(0x1.5555555555555p-2, up.high);
    bracket.low += 0x1.5555555555555p-56 + up.low + u_low * p;
    warpbank_pair su = warpbank_product(s, u);
    su.low += s_low * u + s * u_low;
    warpbank_pair cube = warpbank_product(su.high, bracket.high);
    cube.low += su.high * bracket.low + su.low * bracket.high;
    warpbank_pair y = warpbank_sum(2 * s, 2 * cube.high);
    y.low += 2 * s_low + 2 * cube.low;
    warpbank_pair k = warpbank_product(n, 0x1.62e42fefa39efp-1);
    k.low += n * 0x1.abc9e3b39803fp-56;
    warpbank_pair total = e ? warpbank_sum(k.high, y.high) : y;
    if (e) total.low += k.low + y.low;
    return warpbank_sum(total.high, total.low);
}
WARPBANK_DEVICE double log2(double x)
{
    if (!(x > 0 && x < WARPBANK_INF)) return warpbank_log_edge(x);
    int e;
    double y = warpbank_log(warpbank_split(x, &e) - 1, 0);
    return fma(y, 0x1.71547652b82fep+0, fma(y, 0x1.777d0ffda0d23p-56, (double)e));
}
WARPBANK_DEVICE double log10(double x)
{
    if (!(x > 0 && x < WARPBANK_INF)) return warpbank_log_edge(x);
    int e;
    double y = warpbank_log(warpbank_split(x, &e) - 1, 0), n = (double)e;
    return fma(n, 0x1.34413509f7800p-2, fma(n, 0x1.fef311f12b358p-46, y * 0x1.bcb7b1526e50ep-2));
}
WARPBANK_DEVICE double log1p(double x)
{
    if (!(x > -1 && x < WARPBANK_INF)) return x == -1 ? -WARPBANK_INF : x < -1 ? WARPBANK_NAN : x;
    if (x == 0) return x;
    if (x > -0.29 && x < 0.41) return warpbank_log(x, 0);
    double y = 1 + x, lost = x > 1 ? 1 - (y - x) : x - (y - 1);
    return log(y) + lost / y;
}

// Powers. T computes exp(y log(x)) for x > 0.
template <class T, class Power> WARPBANK_DEVICE T warpbank_pow(T x, T y, Power power)
{
    if (y == 0 || x == 1) return 1;
    if (x != x || y != y) return x + y;
    T a = warpbank_abs(x), half = y * (T)0.5, whole;
    bool integer = !warpbank_finite(y) || warpbank_modf(y, &whole) == 0;
    bool odd = integer && warpbank_finite(y) && warpbank_modf(half, &whole) != 0;
    if (!warpbank_finite(y)) return a == 1 ? (T)1 : (a > 1) == (y > 0) ? (T)WARPBANK_INF : (T)0;
    if (a == 0 || !warpbank_finite(a)) {
        T r = (a == 0) == (y < 0) ? (T)WARPBANK_INF : (T)0;
        return odd ? warpbank_sign(r, x) : r;
    }
    if (x < 0 && !integer) return (T)WARPBANK_NAN;
    T r = power(a, y);
    return x < 0 && odd ? -r : r;
}
WARPBANK_DEVICE double pow(double x, double y)
{
    return warpbank_pow(x, y, [](double a, double b) {
        warpbank_pair l = warpbank_log_pair(a);
        if (l.high * b > 2000) return WARPBANK_INF;
        if (l.high * b < -2000) return 0.0;
        warpbank_pair p = warpbank_product(l.high, b);
        return warpbank_exp(p.high, fma(l.low, b, p.low), 0);
    });
}

// Bits of 2 / pi behind the binary point, after one word of zeros.
static __device__ const unsigned long long warpbank_two_over_pi[20] = {
    0x0ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull,
    0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull,
    0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};

// x = q pi / 2 + r with |r| <= pi / 4: r as a pair, q modulo 4.
WARPBANK_DEVICE warpbank_pair warpbank_quadrant(double x, int *q)
{
    if (warpbank_abs(x) < 1e6) {
        double n = rint(x * 0x1.45f306dc9c883p-1);
        double w = fma(n, -0x1.921fb54442d18p+0, x);
        warpbank_pair t = warpbank_product(n, 0x1.1a62633145c06p-54);
        double r = w - t.high, low = ((w - r) - t.high) - t.low - n * 0x1.c1cd129024e08p-107;
        *q = (int)n & 3;
        return warpbank_sum(r, low);
    }
    long long bits = __double_as_longlong(x);
    int e = (int)(bits >> 52 & 2047) - 1023, first = (e + 10) >> 6, shift = (e + 10) & 63;
    unsigned long long m = (bits & 0xfffffffffffffull) | 0x10000000000000ull, w[3];
    for (int i = 0; i < 3; i++) {
        unsigned long long high = warpbank_two_over_pi[first + i], low = warpbank_two_over_pi[first + i + 1];
        w[i] = shift ? high << shift | low >> (64 - shift) : high;
    }
    unsigned long long middle = m * w[1], low = middle + __umul64hi(m, w[2]);
    unsigned long long high = m * w[0] + __umul64hi(m, w[1]) + (low < middle);
    int n = (int)(high >> 62);
    long long f = (long long)(high << 2 | low >> 62);
    low <<= 2;
    n += f < 0;
    double top = (double)f, rest = (double)(f - (long long)top) + (double)low * 0x1p-64;
    if (top == 0x1p63) rest = (double)low * 0x1p-64 - (double)(0x7fffffffffffffffll - f + 1);
    warpbank_pair r = warpbank_product(top, 0x1.921fb54442d18p+0);
    r.low += top * 0x1.1a62633145c06p-54 + rest * 0x1.921fb54442d18p+0;
    r = warpbank_sum(r.high * 0x1p-64, r.low * 0x1p-64);
    *q = (bits < 0 ? -n : n) & 3;
    return bits < 0 ? warpbank_pair{-r.high, -r.low} : r;
}
WARPBANK_DEVICE double warpbank_sin_reduced(warpbank_pair r)
{
    double u = r.high * r.high;
    double p = warpbank_polynomial(u, -0.16666666666666666, 0.0083333333333333315, -0.00019841269841265017, 2.7557319219301919e-06,
        -2.5052106219521895e-08, 1.6058529572267877e-10, -7.5865765881710725e-13);
    return r.high + fma(r.high * u, p, r.low * fma(u, -0.5, 1.0));
}
WARPBANK_DEVICE double warpbank_cos_reduced(warpbank_pair r)
{
    double u = r.high * r.high, half = 0.5 * u, w = 1 - half;
    double p = warpbank_polynomial(u, 0.041666666666666664, -0.0013888888888888887, 2.4801587301584618e-05, -2.7557319221382114e-07,
        2.0876755783894038e-09, -1.1470459749675607e-11, 4.7458048897606743e-14);
    return w + (((1 - w) - half) + fma(u * u, p, -r.high * r.low));
}
WARPBANK_DEVICE double warpbank_sin_quadrant(warpbank_pair r, int q)
{
    double y = q & 1 ? warpbank_cos_reduced(r) : warpbank_sin_reduced(r);
    return q & 2 ? -y : y;
}
WARPBANK_DEVICE void sincos(double x, double *s, double *c)
{
    if (!warpbank_finite(x)) {
        *s = *c = WARPBANK_NAN;
        return;
    }
    int q;
    warpbank_pair r = warpbank_quadrant(x, &q);
    *s = x == 0 ? x : warpbank_sin_quadrant(r, q);
    *c = warpbank_sin_quadrant(r, q + 1);
}
WARPBANK_DEVICE double sin(double x)
{
    if (!warpbank_finite(x)) return WARPBANK_NAN;
    int q;
    warpbank_pair r = warpbank_quadrant(x, &q);
    return x == 0 ? x : warpbank_sin_quadrant(r, q);
}
WARPBANK_DEVICE double cos(double x)
{
    if (!warpbank_finite(x)) return WARPBANK_NAN;
    int q;
    warpbank_pair r = warpbank_quadrant(x, &q);
    return warpbank_sin_quadrant(r, q + 1);
}
WARPBANK_DEVICE double tan(double x)
{
    double s, c;
    sincos(x, &s, &c);
    return s / c;
}
// x = n / 2 + f exactly; the angle pi f as a pair, n modulo 4.
WARPBANK_DEVICE warpbank_pair warpbank_half_turns(double x, int *q)
{
    double n = rint(2 * x), f = fma(n, -0.5, x);
    *q = (int)(n - 4 * floor(n * 0.25));
    warpbank_pair r = warpbank_product(f, 0x1.921fb54442d18p+1);
    return warpbank_sum(r.high, r.low + f * 0x1.1a62633145c06p-53);
}
WARPBANK_DEVICE void sincospi(double x, double *s, double *c)
{
    if (!warpbank_finite(x)) {
        *s = *c = WARPBANK_NAN;
        return;
    }
    int q;
    warpbank_pair r = warpbank_half_turns(x, &q);
    *s = floor(x) == x ? warpbank_sign(0.0, x) : warpbank_sin_quadrant(r, q);
    *c = x - floor(x) == 0.5 ? 0.0 : warpbank_sin_quadrant(r, q + 1);
}
WARPBANK_DEVICE double sinpi(double x)
{
    double s, c;
    sincospi(x, &s, &c);
    return s;
}
WARPBANK_DEVICE double cospi(double x)
{
    double s, c;
    sincospi(x, &s, &c);
    return c;
}

// u (asin(x) / x - 1) / u with u = x x, up to x = 1/2.
WARPBANK_DEVICE double warpbank_asin_tail(double u)
{
    return u * warpbank_polynomial(u, 0.16666666666666666, 0.075000000000001177, 0.044642857142551895, 0.03038194447553234,
        0.022372157443507221, 0.017352816540325496, 0.01396378001220357, 0.011566459612121669, 0.0096218429701002816,
        0.0093195607947674456, 0.0030448799094556773, 0.019554513336123378, -0.019241671746743041, 0.029612011264955121);
}
WARPBANK_DEVICE double asin(double x)
{
    double a = warpbank_abs(x);
    if (a <= 0.5) return x == 0 ? x : fma(x, warpbank_asin_tail(x * x), x);
    if (!(a <= 1)) return WARPBANK_NAN;
    double u = 0.5 * (1 - a), s = sqrt(u), low = fma(-s, s, u) / (s + s + 1e-300);
    double y = 0x1.921fb54442d18p+0 - (2 * s - (0x1.1a62633145c06p-54 - 2 * fma(s, warpbank_asin_tail(u), low)));
    return warpbank_sign(y, x);
}
WARPBANK_DEVICE double acos(double x)
{
    double a = warpbank_abs(x);
    if (a <= 0.5) return 0x1.921fb54442d18p+0 - (x - (0x1.1a62633145c06p-54 - x * warpbank_asin_tail(x * x)));
    if (!(a <= 1)) return WARPBANK_NAN;
    double u = 0.5 * (1 - a), s = sqrt(u), low = u > 0 ? fma(-s, s, u) / (s + s) : 0;
    double tail = fma(s, warpbank_asin_tail(u), low);
    if (x > 0) return 2 * (s + tail);
    return 0x1.921fb54442d18p+1 - (2 * s - (0x1.1a62633145c06p-53 - 2 * tail));
}
// atan(z + low) - z, for z from 0 to 1.
WARPBANK_DEVICE double warpbank_atan_tail(double z, double low)
{
    double u = z * z;
    double p = warpbank_polynomial(u, -0.33333333333333331, 0.19999999999997531, -0.14285714285384132, 0.11111111093490827,
        -0.090909085908919343, 0.076922989710332165, -0.066665646992891042, 0.058815068777936561, -0.052579733342841106,
        0.047377495795277787, -0.042603566326016522, 0.037494868125352472, -0.031277189066996385, 0.023696731580048622,
        -0.015535152475414177, 0.0083689311784501622, -0.0034958859739163094, 0.0010496035084968515, -0.00019996189377901382,
        1.8061954618612151e-05);
    return fma(z * u, p, low / (1 + u));
}
// The angle of the point (x, y) with x, y >= 0, not both zero or infinite.
WARPBANK_DEVICE double warpbank_angle(double y, double x)
{
    bool steep = y > x;
    double small = steep ? x : y, large = steep ? y : x, z = small / large;
    double low = warpbank_finite(large) && z > 1e-290 && large < 1e290 && large > 1e-290 ? fma(-z, large, small) / large : 0;
    double tail = warpbank_atan_tail(z, low);
    return steep ? 0x1.921fb54442d18p+0 - (z - (0x1.1a62633145c06p-54 - tail)) : z + tail;
}
WARPBANK_DEVICE double atan(double x)
{
    if (x != x || x == 0) return x;
    return warpbank_sign(warpbank_angle(warpbank_abs(x), 1), x);
}
WARPBANK_DEVICE double atan2(double y, double x)
{
    if (x != x || y != y) return x + y;
    double a = warpbank_abs(y), b = warpbank_abs(x);
    double angle = a == 0 && b == 0 ? 0 : a == b && a == WARPBANK_INF ? 0x1.921fb54442d18p-1 : warpbank_angle(a, b);
    if (signbit(x)) angle = 0x1.921fb54442d18p+1 - (angle - 0x1.1a62633145c06p-53);
    return warpbank_sign(angle, y);
}

WARPBANK_DEVICE double sinh(double x)
{
    double a = warpbank_abs(x), y;
    if (a < 1) {
        double t = expm1(a);
        y = 0.5 * (t + t / (t + 1));
    } else {
        double h = warpbank_exp(a, 0, -1);
        y = h - 0.25 / h;
    }
    return warpbank_sign(x == 0 ? 0 : y, x);
}
WARPBANK_DEVICE double cosh(double x)
{
    double h = warpbank_exp(warpbank_abs(x), 0, -1);
    return h + 0.25 / h;
}
WARPBANK_DEVICE double tanh(double x)
{
    if (x != x) return x;
    double a = warpbank_abs(x);
    if (a > 20) return warpbank_sign(1.0, x);
    double t = expm1(2 * a), y = a < 0.55 ? t / (t + 2) : 1 - 2 / (t + 2);
    return warpbank_sign(y, x);
}
WARPBANK_DEVICE double asinh(double x)
{
    double a = warpbank_abs(x), u = a * a;
    double y = a > 1e8 ? log(a) + 0x1.62e42fefa39efp-1 : log1p(a + u / (1 + sqrt(1 + u)));
    return warpbank_sign(y, x);
}
WARPBANK_DEVICE double acosh(double x)
{
    double t = x - 1;
    if (t < 0) return WARPBANK_NAN;
    return x > 1e8 ? log(x) + 0x1.62e42fefa39efp-1 : log1p(t + sqrt(fma(t, t, 2 * t)));
}
WARPBANK_DEVICE double atanh(double x)
{
    double a = warpbank_abs(x);
    return warpbank_sign(a > 1 ? WARPBANK_NAN : 0.5 * log1p(2 * a / (1 - a)), x);
}

// exp(x x) erfc(x) for 0 <= x <= 28.
WARPBANK_DEVICE double warpbank_erfcx_core(double x)
{
    double t = (x - 4) / (x + 4);
    double p = warpbank_polynomial(t, 1.2329951186255526, -0.1396211168405625, 0.015379652102620026, 0.068097054254691688,
        -0.10103906603632402, 0.093732834998390108, -0.066330365811676603, 0.037167515536763042, -0.016197734065523037,
        0.0050319699845382711, -0.0007577732236198569, -0.00019925672650649988, 0.0001506213330981676, -2.4399140026230927e-05,
        -1.1220862532112395e-05, 5.7097269195096619e-06, 2.9122339980031853e-07, -8.2585234234320539e-07, 7.8310500919740262e-08,
        1.1119076968712332e-07, -2.1111200617836811e-08, -1.5496311015661568e-08, 3.3392273267201993e-09, 2.0902127402466088e-09,
        -2.7473925934455696e-10, -1.7775320787553467e-10);
    return p / (1 + 2 * x);
}
WARPBANK_DEVICE double warpbank_erf_core(double x)  // |x| <= 1
{
    double p = warpbank_polynomial(x * x, 0.12837916709551256, -0.37612638903183748, 0.11283791670954879, -0.026866170645076792,
        0.0052239776248180145, -0.000854832698083379, 0.0001205533111164271, -1.4925595266831182e-05, 1.6461000484121368e-06,
        -1.6350312701054695e-07, 1.4659775274047436e-08, -1.1372848856791674e-09, 5.9571761477489113e-11);
    return fma(x, p, x);
}
WARPBANK_DEVICE double erfc(double x)
{
    double a = warpbank_abs(x);
    if (a < 0.5) return 1 - warpbank_erf_core(x);
    if (!(a < 28)) return x != x ? x : x > 0 ? 0 : 2;
    warpbank_pair square = warpbank_product(a, a);
    double y = warpbank_exp(-square.high, -square.low, 0) * warpbank_erfcx_core(a);
    return x > 0 ? y : 2 - y;
}
WARPBANK_DEVICE double erf(double x)
{
    double a = warpbank_abs(x);
    return a < 1 ? warpbank_erf_core(x) : x != x ? x : warpbank_sign(1 - erfc(a), x);
}
WARPBANK_DEVICE double erfcx(double x)
{
    if (x > 28) {
        double u = 0.5 / (x * x);
        return 0x1.20dd750429b6dp-1 / x * (1 - u * (1 - 3 * u * (1 - 5 * u)));
    }
    if (!(x < 0)) return x != x ? x : warpbank_erfcx_core(x);
    if (x < -27) return WARPBANK_INF;
    warpbank_pair square = warpbank_product(x, x);
    return 2 * warpbank_exp(square.high, square.low, 0) - warpbank_erfcx_core(-x);
}
WARPBANK_DEVICE double normcdf(double x)
{
    double a = warpbank_abs(x) * 0x1.6a09e667f3bcdp-1;
    if (!(x < -0.7 && a < 28)) return 0.5 * erfc(x * -0x1.6a09e667f3bcdp-1);
    warpbank_pair square = warpbank_product(x, x);  // the exponent is exact, unlike the square of a rounded quotient
    return 0.5 * warpbank_exp(-0.5 * square.high, -0.5 * square.low, 0) * warpbank_erfcx_core(a);
}

// Gamma on 1 to 2, and log(gamma(x)) / ((x - 1) (x - 2)) there; c = x - 1.5.
WARPBANK_DEVICE double warpbank_gamma_core(double c)
{
    return warpbank_polynomial(c, 0.88622692545275805, 0.032338397448885017, 0.4148134536883018, -0.10729480456477264,
        0.14464535904449782, -0.07752305229977173, 0.058610303826380196, -0.038001935561001073, 0.0258376061027181,
        -0.017222442878105718, 0.011522523362156005, -0.0076902166774166529, 0.0051315298230765775, -0.0034227267114132782,
        0.0022836521947962353, -0.0015227183589893349, 0.0010082112193192704, -0.00067218648919155832, 0.0004776274435437428,
        -0.00031842563031654798, 0.00013407432206073702, -8.9384017951760734e-05, 0.00017877054902846353,
        -0.00011918060538282103);
}
WARPBANK_DEVICE double warpbank_lgamma_core(double c)
{
    double p = warpbank_polynomial(c, 0.48312895054098087, -0.14595989591430608, 0.062911401074564388, -0.031308487501010646,
        0.016797098631274161, -0.0094256224485257979, 0.0054464578391260647, -0.0032120740737152814, 0.0019229163127905161,
        -0.0011644145847310124, 0.00071151906751529596, -0.00043799307479613914, 0.00027131373861446925, -0.00016891782155248981,
        0.00010535512483785591, -6.6141360223464138e-05, 4.3027681497650298e-05, -2.7201673025504752e-05, 1.3186019073996835e-05,
        -8.3550758697952728e-06, 1.2140008083973407e-05, -7.7606601525134463e-06);
    return (c + 0.5) * (c - 0.5) * p + 0.0;  // +0 at 1 and 2
}
// Stirling's series behind (x - 1/2) log(x) - x + log(2 pi) / 2, for x >= 12.
WARPBANK_DEVICE double warpbank_stirling(double x)
{
    double r = 1 / x;
    return r * warpbank_polynomial(r * r, 0x1.5555555555555p-4, -0x1.6c16c16c16c17p-9, 0x1.a01a01a01a01ap-11, -0x1.3813813813814p-11,
        0x1.b951e2b18ff23p-11, -0x1.f6ab0d9993c7dp-10, 0x1.a41a41a41a41ap-8);
}
WARPBANK_DEVICE double tgamma(double x)
{
    if (x != x || x == WARPBANK_INF) return x;
    if (x == 0) return 1 / x;
    if (x < 0 && (floor(x) == x || x == -WARPBANK_INF)) return WARPBANK_NAN;
    double a = warpbank_abs(x), y;
    if (a > 190) {
        y = WARPBANK_INF;
    } else if (a >= 12) {
        // The power is taken in two halves, which stay finite where gamma does.
        double half = pow(a, 0.5 * (a - 0.5));
        double tail = warpbank_stirling(a);
        y = half * (warpbank_exp(-a, tail, 0) * 0x1.40d931ff62706p+1) * half;
    } else {
        double product = 1, z = a;
        while (z > 2) {
            z -= 1;
            product *= z;
        }
        y = z < 1 ? warpbank_gamma_core(z - 0.5) / z : product * warpbank_gamma_core(z - 1.5);
    }
    return x > 0 ? y : -0x1.921fb54442d18p+1 / (a * sinpi(a) * y);
}
WARPBANK_DEVICE double lgamma(double x)
{
    if (!warpbank_finite(x)) return x * x;
    double a = warpbank_abs(x), y;
    if (x <= 0 && floor(x) == x) return WARPBANK_INF;
    if (a < 1) {
        y = warpbank_lgamma_core(a - 0.5) - log(a);
    } else if (a <= 2) {
        y = warpbank_lgamma_core(a - 1.5);
    } else if (a < 3) {
        y = warpbank_lgamma_core(a - 2.5) + log1p(a - 2);
    } else if (a < 12) {
        double product = 1, z = a;
        while (z > 2) {
            z -= 1;
            product *= z;
        }
        y = warpbank_lgamma_core(z - 1.5) + log(product);
    } else {
        y = (a - 0.5) * (log(a) - 1) + (0x1.acfe390c97d69p-2 + warpbank_stirling(a));
    }
    return x > 0 ? y : 0x1.250d048e7a1bdp+0 - log(warpbank_abs(a * sinpi(a))) - y;
}

// Newton's rule on t, a cube root from the exponent alone.
WARPBANK_DEVICE double cbrt(double x)
{
    if (!warpbank_finite(x) || x == 0) return x;
    double a = warpbank_abs(x);
    int e = warpbank_exponent(a), k = (e + 3 * 400) / 3 - 400;
    double m = warpbank_scale(a, -3 * k);  // from 1 to 8
    double t = fma(m, fma(m, -0.0106, 0.2306), 0.79);
    for (int i = 0; i < 3; i++) t = t * fma(m - t * t * t, 1 / fma(2 * t * t, t, m), 1.0);
    double low = fma(-t * t, t, m) - fma(t, t, -(t * t)) * t;
    t = fma(low, 1 / (3 * t * t), t);
    return warpbank_sign(warpbank_scale(t, k), x);
}
WARPBANK_DEVICE double rcbrt(double x) { return 1 / cbrt(x); }
WARPBANK_DEVICE double rsqrt(double x) { return 1 / sqrt(x); }

// Norms, scaled so that no square overflows or vanishes.
WARPBANK_DEVICE double norm3d(double x, double y, double z)
{
    double a = warpbank_abs(x), b = warpbank_abs(y), c = warpbank_abs(z), m = fmax(a, fmax(b, c));
    if (a == WARPBANK_INF || b == WARPBANK_INF || c == WARPBANK_INF) return WARPBANK_INF;
    if (a != a || b != b || c != c) return WARPBANK_NAN;
    if (m == 0) return 0;
    int e = warpbank_exponent(m);
    a = warpbank_scale(a, -e), b = warpbank_scale(b, -e), c = warpbank_scale(c, -e);
    return warpbank_scale(sqrt(fma(a, a, fma(b, b, c * c))), e);
}
WARPBANK_DEVICE double hypot(double x, double y) { return norm3d(x, y, 0); }
WARPBANK_DEVICE double rhypot(double x, double y) { return 1 / hypot(x, y); }
WARPBANK_DEVICE double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }

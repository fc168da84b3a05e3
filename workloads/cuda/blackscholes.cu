// Prices of European call and put options by the Black-Scholes formula, one option per thread and trip of a grid-stride loop.
#include "warpbank.cuh"

// Cumulative normal distribution: the rational polynomial of Abramowitz and Stegun, 26.2.17 (error below 7.5e-8).
__device__ __forceinline__ float normal_cdf(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float poly = k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.3989422804f * __expf(-0.5f * d * d) * poly;
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void blackscholes(const float *__restrict__ spot, const float *__restrict__ strike,
                                        const float *__restrict__ years, float *__restrict__ call, float *__restrict__ put,
                                        float rate, float volatility, int n)
{
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float s = spot[i], x = strike[i], t = years[i];
        float spread = volatility * sqrtf(t);
        float d1 = (__logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread;
        float d2 = d1 - spread;
        float n1 = normal_cdf(d1), n2 = normal_cdf(d2);
        float discounted = x * __expf(-rate * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}

// Monte Carlo of the LIBOR market model: one thread evolves the forward rates along one path and values a portfolio of swaptions.
//
// A thread's rates are an array indexed by loop counters whose bounds are arguments: it lives in local memory, as do the two
// arrays of the valuation.
#include "warpbank.cuh"

#define RATES_MAX 80
#define SWAPTIONS_MAX 15

__constant__ float volatility[RATES_MAX];       // of a forward rate, by the number of periods until it is fixed
__constant__ int maturity[SWAPTIONS_MAX];       // periods from the end of the simulation
__constant__ float swap_rate[SWAPTIONS_MAX];

// normals[steps][paths]: independent standard normal numbers. values[path]: discounted loss of the portfolio on that path.
extern "C" __global__ void libor_value(const float *normals, float *values, int paths, int rates, int steps, int swaptions,
                                       float period, float initial_rate)
{
    float rate[RATES_MAX], bond[RATES_MAX], annuity[RATES_MAX];
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= paths)
        return;

    for (int i = 0; i < rates; i++)
        rate[i] = initial_rate;

    float root = sqrtf(period);
    for (int n = 0; n < steps; n++) {
        float shock = root * normals[n * paths + path];
        float drift = 0.0f;
        for (int i = n + 1; i < rates; i++) {
            float vol = volatility[i - n - 1];
            float variance = period * vol;
            drift += variance * rate[i] / (1.0f + period * rate[i]);
            rate[i] *= __expf(variance * drift + vol * (shock - 0.5f * variance));
        }
    }

    float discount = 1.0f, sum = 0.0f;
    for (int i = steps; i < rates; i++) {
        discount /= 1.0f + period * rate[i];
        sum += period * discount;
        bond[i] = discount;
        annuity[i] = sum;
    }

    float value = 0.0f;
    for (int s = 0; s < swaptions; s++) {
        int last = steps + maturity[s] - 1;
        float swap = bond[last] + swap_rate[s] * annuity[last] - 1.0f;
        if (swap < 0.0f)
            value -= 100.0f * swap;
    }
    for (int i = 0; i < steps; i++)
        value /= 1.0f + period * rate[i];
    values[path] = value;
}

// Option prices by the Black-Scholes formula: one function for both sides, in f32 and in f64.
#include <cuda_runtime.h>
#include <math.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

template <typename T> struct Option {
    T price, strike, years;
};

template <typename T> __host__ __device__ T cumulative(T d) { return T(0.5) * erfc(-d * T(0.70710678118654752)); }

template <typename T>
__host__ __device__ inline void price(const Option<T> &o, T rate, T volatility, T *call, T *put)
{
    T root = sqrt(o.years);
    T d1 = (log(o.price / o.strike) + (rate + T(0.5) * volatility * volatility) * o.years) / (volatility * root);
    T d2 = d1 - volatility * root, discount = exp(-rate * o.years);
    *call = o.price * cumulative(d1) - o.strike * discount * cumulative(d2);
    *put = o.strike * discount * cumulative(-d2) - o.price * cumulative(-d1);
}

template <typename T> __global__ void black_scholes(const Option<T> *options, T *call, T *put, T rate, T volatility, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        price(options[i], rate, volatility, &call[i], &put[i]);
}

template <typename T> static double worst(int n)
{
    std::vector<Option<T>> options(n);
    std::vector<T> call(n), put(n);
    for (int i = 0; i < n; i++) options[i] = {T(5 + i % 26), T(1 + i % 99), T(0.25 + (i % 40) * 0.25)};
    Option<T> *d_options;
    T *d_call, *d_put;
    cudaMalloc(&d_options, n * sizeof(Option<T>));
    cudaMalloc(&d_call, n * sizeof(T));
    cudaMalloc(&d_put, n * sizeof(T));
    cudaMemcpy(d_options, options.data(), n * sizeof(Option<T>), cudaMemcpyHostToDevice);
    black_scholes<T><<<3, 96>>>(d_options, d_call, d_put, T(0.02), T(0.3), n);
    cudaMemcpy(call.data(), d_call, n * sizeof(T), cudaMemcpyDeviceToHost);
    cudaMemcpy(put.data(), d_put, n * sizeof(T), cudaMemcpyDeviceToHost);
    double most = 0;
    for (int i = 0; i < n; i++) {
        T expected_call, expected_put;
        price(options[i], T(0.02), T(0.3), &expected_call, &expected_put);
        most = fmax(most, fabs(double(call[i] - expected_call)));
        most = fmax(most, fabs(double(put[i] - expected_put)));
    }
    return most;
}

int main()
{
    double single = worst<float>(400), twice = worst<double>(400);
    std::printf("worst: %g in f32, %g in f64\n", single, twice);
    return single < 5e-5 && twice < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}

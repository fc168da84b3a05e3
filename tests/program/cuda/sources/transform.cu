// A generic transform with functors and lambdas, mathematics in both precisions, and a stream.
#include <cuda_runtime.h>
#include <math_constants.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

namespace device {

template <typename In, typename Out, typename F> __global__ void transform(const In *in, Out *out, size_t n, F f)
{
    size_t stride = (size_t)blockDim.x * gridDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride) out[i] = f(in[i]);
}

}  // namespace device

template <typename T> class Buffer {
  public:
    explicit Buffer(size_t n) : n_(n) { cudaMalloc(&p_, n * sizeof(T)); }
    Buffer(const std::vector<T> &v) : Buffer(v.size()) { cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice); }
    ~Buffer() { cudaFree(p_); }
    T *get() const { return p_; }
    std::vector<T> read() const
    {
        std::vector<T> v(n_);
        cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost);
        return v;
    }

  private:
    T *p_ = nullptr;
    size_t n_;
};

struct Wave {
    double frequency, phase;
    __host__ __device__ double operator()(double x) const { return std::sin(frequency * x + phase) * std::exp(-x * 0.1); }
};
struct Gelu {
    __host__ __device__ float operator()(float x) const
    {
        return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    }
};
struct Polar {
    __host__ __device__ float2 operator()(float2 v) const { return make_float2(hypotf(v.x, v.y), atan2f(v.y, v.x)); }
};
struct Bits {
    __host__ __device__ int operator()(float x) const
    {
        int e;
        float m = std::frexp(x, &e);
        return e * 100 + (int)std::floor(m * 64) + (std::isnan(x) ? 7 : 0) + std::max((int)lroundf(x), -3) + abs((int)x);
    }
};

template <typename In, typename Out, typename F, typename D> static double worst(const std::vector<In> &in, F f, D distance)
{
    Buffer<In> a(in);
    Buffer<Out> b(in.size());
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    device::transform<<<4, 64, 0, stream>>>(a.get(), b.get(), in.size(), f);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    std::vector<Out> found = b.read();
    double most = 0;
    for (size_t i = 0; i < in.size(); i++) most = std::max(most, (double)distance(found[i], f(in[i])));
    return most;
}

int main()
{
    auto begin = std::chrono::steady_clock::now();
    std::vector<double> x(500);
    std::vector<float> y(500);
    std::vector<float2> z(500);
    for (int i = 0; i < 500; i++) {
        x[i] = i * 0.37;
        y[i] = (i - 250) * 0.03f;
        z[i] = make_float2((float)std::cos(i * CUDART_PI / 7), (float)(i % 11) - 5.0f);
    }
    auto apart = [](auto a, auto b) { return std::abs(a - b); };
    double wave = worst<double, double>(x, Wave{2.5, 0.1}, apart);
    double gelu = worst<float, float>(y, Gelu(), apart);
    double polar = worst<float2, float2>(z, Polar(), [](float2 a, float2 b) { return std::max(std::abs(a.x - b.x), std::abs(a.y - b.y)); });
    double bits = worst<float, int>(y, Bits(), apart);
    double squared = worst<float, double>(y, [=] __device__ __host__(float v) { return pow(v, 2) + sqrt((double)fabsf(v)); }, apart);
    auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%g %g %g %g %g in %s\n", wave, gelu, polar, bits, squared, seconds >= 0 ? "time" : "no time");
    return !(wave < 1e-14 && gelu < 1e-6 && polar < 2e-6 && bits == 0 && squared < 1e-14);
}

// Fourier transforms of 32 complex points, one per thread, all in registers: five stages of butterflies between 64 loads and 64
// stores. Point j of transform t is at j * n + t, so that a warp's accesses are adjacent.
#include "warpbank.cuh"

#define POINTS 32

extern "C" __global__ void __launch_bounds__(128) fft(
    const float *__restrict__ re, const float *__restrict__ im, float *__restrict__ out_re, float *__restrict__ out_im, int n)
{
    // cos and sin of 2 pi k / 32
    const float cosine[16] = {1.00000000f, 0.98078528f, 0.92387953f, 0.83146961f, 0.70710678f, 0.55557023f, 0.38268343f, 0.19509032f, 0.00000000f, -0.19509032f, -0.38268343f, -0.55557023f, -0.70710678f, -0.83146961f, -0.92387953f, -0.98078528f};
    const float sine[16] = {0.00000000f, 0.19509032f, 0.38268343f, 0.55557023f, 0.70710678f, 0.83146961f, 0.92387953f, 0.98078528f, 1.00000000f, 0.98078528f, 0.92387953f, 0.83146961f, 0.70710678f, 0.55557023f, 0.38268343f, 0.19509032f};
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    float x[POINTS], y[POINTS];
#pragma unroll
    for (int j = 0; j < POINTS; j++) {
        int place = (j & 1) << 4 | (j & 2) << 2 | (j & 4) | (j & 8) >> 2 | (j & 16) >> 4;  // bits reversed
        x[place] = re[j * n + t];
        y[place] = im[j * n + t];
    }
#pragma unroll
    for (int half = 1; half < POINTS; half *= 2)
#pragma unroll
        for (int start = 0; start < POINTS; start += 2 * half)
#pragma unroll
            for (int j = 0; j < half; j++) {
                int a = start + j, b = a + half, k = j * (POINTS / 2 / half);
                float u = cosine[k] * x[b] + sine[k] * y[b], v = cosine[k] * y[b] - sine[k] * x[b];
                x[b] = x[a] - u;
                y[b] = y[a] - v;
                x[a] += u;
                y[a] += v;
            }
#pragma unroll
    for (int j = 0; j < POINTS; j++) {
        out_re[j * n + t] = x[j];
        out_im[j * n + t] = y[j];
    }
}

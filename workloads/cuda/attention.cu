// Attention: softmax(Q K^T / sqrt(32)) V of one head, 32 numbers to a vector. A warp makes a query: every lane scores keys of its own, the
// greatest score and the sum of the exponentials come by shuffles, and then lane d gathers number d of the values.
#include "warpbank.cuh"

#define WIDTH 32
#define WARPS 4
#define KEYS 128  // most keys

extern "C" __global__ void __launch_bounds__(32 * WARPS) attention(
    const float *__restrict__ query, const float *__restrict__ key, const float *__restrict__ value, float *__restrict__ out,
    int queries, int keys)
{
    __shared__ float score[WARPS][KEYS];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, q = blockIdx.x * WARPS + warp;
    if (q >= queries)
        return;
    float own[WIDTH];
#pragma unroll
    for (int d = 0; d < WIDTH; d += 4) {
        float4 part = load4(&query[q * WIDTH + d]);
        own[d] = part.x, own[d + 1] = part.y, own[d + 2] = part.z, own[d + 3] = part.w;
    }
    float greatest = -1e30f;
    for (int k = lane; k < keys; k += 32) {
        float sum = 0.0f;
#pragma unroll
        for (int d = 0; d < WIDTH; d += 4) {
            float4 part = load4(&key[k * WIDTH + d]);
            sum += own[d] * part.x + own[d + 1] * part.y + own[d + 2] * part.z + own[d + 3] * part.w;
        }
        sum *= 0.17677669f;
        score[warp][k] = sum;
        greatest = fmaxf(greatest, sum);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        greatest = fmaxf(greatest, __shfl_xor_sync(0xffffffff, greatest, step));
    float total = 0.0f;
    for (int k = lane; k < keys; k += 32) {
        float weight = __expf(score[warp][k] - greatest);
        score[warp][k] = weight;
        total += weight;
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        total += __shfl_xor_sync(0xffffffff, total, step);
    __nvvm_bar_warp_sync(0xffffffff);  // every lane reads the scores of all
    float sum = 0.0f;
    for (int k = 0; k < keys; k++)
        sum += score[warp][k] * value[k * WIDTH + lane];
    out[q * WIDTH + lane] = __fdividef(sum, total);
}

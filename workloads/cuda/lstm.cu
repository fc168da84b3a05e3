// A step of an LSTM layer. gates: a warp makes one of the four gates of one unit for one sequence, the dot product of the unit's weights with
// input and state side by side, summed by shuffles. cell: a thread per unit and sequence applies the gates.
#include "warpbank.cuh"

__device__ __forceinline__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ __forceinline__ float hyperbolic(float x) { return 2.0f * sigmoid(2.0f * x) - 1.0f; }

// weights: 4 * units rows of inputs + units numbers; input: batch x inputs; state: batch x units; gates: batch x 4 * units.
extern "C" __global__ void __launch_bounds__(128) gates(
    const float *__restrict__ weights, const float *__restrict__ bias, const float *__restrict__ input,
    const float *__restrict__ state, float *__restrict__ out, int inputs, int units)
{
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32, sequence = blockIdx.y;
    if (row >= 4 * units)
        return;
    int length = inputs + units;
    float sum = 0.0f;
    for (int i = lane; i < length; i += 32) {
        float value = i < inputs ? input[sequence * inputs + i] : state[sequence * units + i - inputs];
        sum += weights[row * length + i] * value;
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (lane == 0)
        out[sequence * 4 * units + row] = sum + bias[row];
}

extern "C" __global__ void __launch_bounds__(64) cell(
    const float *__restrict__ gate, const float *__restrict__ memory, float *__restrict__ next_memory,
    float *__restrict__ next_state, int units, int batch)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= units * batch)
        return;
    const float *g = gate + t / units * 4 * units + t % units;
    float enter = sigmoid(g[0]), forget = sigmoid(g[units]), fresh = hyperbolic(g[2 * units]), leave = sigmoid(g[3 * units]);
    float value = forget * memory[t] + enter * fresh;
    next_memory[t] = value;
    next_state[t] = leave * hyperbolic(value);
}

// One training step of a fully connected layer with 16 hidden units: the forward sums and the weight update.
//
// A CTA is TILE x HIDDEN threads: TILE input units (y) by all hidden units (x). Input unit 0 is the bias, whose value is 1.
#include "warpbank.cuh"

#define HIDDEN 16
#define TILE 16
#define LEARNING_RATE 0.3f
#define MOMENTUM 0.3f

// partial[b][h] = sum over the TILE input units i of CTA b of input[i] * weights[i][h].
extern "C" __global__ void backprop_layer_forward(const float *input, const float *weights, float *partial, int inputs)
{
    __shared__ float unit[TILE];
    __shared__ float product[TILE][HIDDEN];
    int hidden = threadIdx.x, local = threadIdx.y;
    int i = blockIdx.x * TILE + local;

    if (hidden == 0)
        unit[local] = i < inputs ? input[i] : 0.0f;
    __syncthreads();

    product[local][hidden] = i < inputs ? weights[i * HIDDEN + hidden] * unit[local] : 0.0f;
    __syncthreads();

    for (int stride = 1; stride < TILE; stride *= 2) {
        if (local % (2 * stride) == 0)
            product[local][hidden] += product[local + stride][hidden];
        __syncthreads();
    }
    if (local == 0)
        partial[blockIdx.x * HIDDEN + hidden] = product[0][hidden];
}

// weights += step and change = step, where step = rate * delta[h] * input[i] + momentum * (the change of the last step).
extern "C" __global__ void backprop_adjust_weights(const float *input, const float *delta, float *weights, float *change,
                                                   int inputs)
{
    int hidden = threadIdx.x;
    int i = blockIdx.x * TILE + threadIdx.y;
    if (i < inputs) {
        int at = i * HIDDEN + hidden;
        float step = LEARNING_RATE * delta[hidden] * input[i] + MOMENTUM * change[at];
        weights[at] += step;
        change[at] = step;
    }
}

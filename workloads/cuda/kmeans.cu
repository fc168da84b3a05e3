// The assignment step of k-means: every point joins the cluster whose centre is nearest.
#include "warpbank.cuh"

#define CLUSTERS_MAX 8
#define FEATURES_MAX 34

__constant__ float centres[CLUSTERS_MAX * FEATURES_MAX];  // centre after centre, `features` floats each

// From one point after another to one feature after another, so that neighbouring threads then read neighbouring words.
extern "C" __global__ void kmeans_transpose(const float *points, float *by_feature, int count, int features)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point < count)
        for (int f = 0; f < features; f++)
            by_feature[f * count + point] = points[point * features + f];
}

extern "C" __global__ void kmeans_assign(const float *by_feature, int *membership, int count, int features, int clusters)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= count)
        return;
    int nearest = 0;
    float least = 3.402823466e38f;
    for (int c = 0; c < clusters; c++) {
        float distance = 0.0f;
        for (int f = 0; f < features; f++) {
            float d = by_feature[f * count + point] - centres[c * features + f];
            distance += d * d;
        }
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    membership[point] = nearest;
}

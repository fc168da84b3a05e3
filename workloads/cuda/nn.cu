// Distance of every record, a (latitude, longitude) pair, from one place: the nearest neighbours are those of least distance.
#include "warpbank.cuh"

extern "C" __global__ void nn_distance(const float2 *records, float *distance, int count, float latitude, float longitude)
{
    // A two-dimensional grid, as the number of records may exceed what one dimension of a grid holds.
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        float2 place = records[i];
        float north = place.x - latitude, east = place.y - longitude;
        distance[i] = sqrtf(north * north + east * east);
    }
}

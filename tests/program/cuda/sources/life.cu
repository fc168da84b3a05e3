// Conway's game of life in managed memory, with counters in variables of the device.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>

const int W = 50, H = 34;

__device__ unsigned int births, deaths;
static __device__ int generation = 5;

__host__ __device__ static bool rule(bool alive, int neighbours) { return neighbours == 3 || (alive && neighbours == 2); }

__host__ __device__ static int count(const bool *cells, int x, int y)
{
    int n = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (dx || dy) n += cells[(y + dy + H) % H * W + (x + dx + W) % W];
    return n;
}

__global__ void life(const bool *now, bool *next)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    bool born = false, died = false;
    if (x < W && y < H) {
        bool alive = now[y * W + x], then = rule(alive, count(now, x, y));
        next[y * W + x] = then;
        born = then && !alive;
        died = alive && !then;
    }
    int all_born = __syncthreads_count(born);
    if (threadIdx.x == 0 && threadIdx.y == 0) atomicAdd(&births, (unsigned int)all_born);
    if (died) atomicAdd(&deaths, 1u);
    if (x == 0 && y == 0) atomicAdd(&generation, 1);
}

int main()
{
    bool *now, *next, a[W * H], b[W * H];
    cudaMallocManaged(&now, W * H);
    cudaMallocManaged(&next, W * H);
    unsigned int zero = 0, born = 0, died = 0, found_born, found_died, seed = 1;
    for (int i = 0; i < W * H; i++) {
        seed = seed * 1103515245u + 12345u;
        now[i] = a[i] = (seed >> 16) % 3 == 0;
    }
    cudaMemcpyToSymbol(births, &zero, sizeof zero);
    cudaMemcpyToSymbol(deaths, &zero, sizeof zero);
    for (int t = 0; t < 4; t++) {
        life<<<dim3((W + 15) / 16, (H + 7) / 8), dim3(16, 8)>>>(now, next);
        cudaDeviceSynchronize();
        bool *swap = now;
        now = next;
        next = swap;
        for (int i = 0; i < W * H; i++) {
            b[i] = rule(a[i], count(a, i % W, i / W));
            born += b[i] && !a[i];
            died += a[i] && !b[i];
        }
        memcpy(a, b, sizeof a);
    }
    int generations;
    cudaMemcpyFromSymbol(&found_born, births, sizeof found_born);
    cudaMemcpyFromSymbol(&found_died, deaths, sizeof found_died);
    cudaMemcpyFromSymbol(&generations, generation, sizeof generations);
    int wrong = memcmp(now, a, sizeof a) != 0;
    printf("%u born of %u, %u died of %u, generation %d\n", found_born, born, found_died, died, generations);
    return wrong || born != found_born || died != found_died || generations != 9;
}

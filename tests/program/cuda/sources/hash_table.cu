// Hash table with open addressing, filled by 64-bit compare-and-swap, in a structure that holds pointers.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <vector>

typedef unsigned long long Slot;
constexpr Slot EMPTY = ~0ull;

class Table {
  public:
    Slot *slots;
    int *collisions;
    uint32_t capacity;

    __host__ __device__ static uint32_t hash(uint32_t k)
    {
        k ^= k >> 16;
        k *= 0x85ebca6bu;
        k ^= k >> 13;
        k *= 0xc2b2ae35u;
        return k ^ k >> 16;
    }
    __device__ bool insert(uint32_t key, uint32_t value)
    {
        Slot wanted = (Slot)key << 32 | value;
        for (uint32_t at = hash(key) & (capacity - 1);; at = (at + 1) & (capacity - 1)) {
            Slot found = atomicCAS(&slots[at], EMPTY, wanted);
            if (found == EMPTY) return true;
            if ((uint32_t)(found >> 32) == key) {
                atomicMax(&slots[at], wanted);
                return false;
            }
            atomicAdd(collisions, 1);
        }
    }
    __host__ __device__ bool find(uint32_t key, uint32_t &value) const
    {
        for (uint32_t at = hash(key) & (capacity - 1); slots[at] != EMPTY; at = (at + 1) & (capacity - 1)) {
            if ((uint32_t)(slots[at] >> 32) == key) {
                value = (uint32_t)slots[at];
                return true;
            }
        }
        return false;
    }
};

__global__ void build(Table *table, const uint32_t *keys, int n, int *distinct)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && table->insert(keys[i], i)) atomicAdd(distinct, 1);
}

__global__ void look_up(Table table, const uint32_t *keys, uint32_t *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t value = 0xffffffffu;
    if (i < n) {
        if (!table.find(keys[i], value)) value = 0xfffffffeu;
        values[i] = value;
    }
}

int main()
{
    const int n = 600, capacity = 1024;
    std::vector<uint32_t> keys(n), last(1000, 0xfffffffeu), values(n);
    int distinct = 0, found_distinct = 0, wrong = 0;
    for (int i = 0; i < n; i++) {
        keys[i] = (uint32_t)(i * 7919u + 13) % 1000 / 2 * 2;
        if (last[keys[i]] == 0xfffffffeu) distinct++;
        last[keys[i]] = i;
    }
    Table host, *d_table;
    uint32_t *d_keys, *d_values;
    int *d_distinct;
    host.capacity = capacity;
    cudaMalloc(&host.slots, capacity * sizeof(Slot));
    cudaMalloc(&host.collisions, sizeof(int));
    cudaMalloc(&d_table, sizeof(Table));
    cudaMalloc(&d_keys, n * sizeof(uint32_t));
    cudaMalloc(&d_values, n * sizeof(uint32_t));
    cudaMalloc(&d_distinct, sizeof(int));
    cudaMemset(host.slots, 0xff, capacity * sizeof(Slot));
    cudaMemset(host.collisions, 0, sizeof(int));
    cudaMemset(d_distinct, 0, sizeof(int));
    cudaMemcpy(d_table, &host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemcpy(d_keys, keys.data(), n * sizeof(uint32_t), cudaMemcpyHostToDevice);
    build<<<(n + 63) / 64, 64>>>(d_table, d_keys, n, d_distinct);
    for (uint32_t &k : keys) k = k + (k % 3 == 0);
    cudaMemcpy(d_keys, keys.data(), n * sizeof(uint32_t), cudaMemcpyHostToDevice);
    look_up<<<(n + 63) / 64, 64>>>(host, d_keys, d_values, n);
    cudaMemcpy(values.data(), d_values, n * sizeof(uint32_t), cudaMemcpyDeviceToHost);
    cudaMemcpy(&found_distinct, d_distinct, sizeof(int), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) wrong += values[i] != last[keys[i]];
    std::printf("%d wrong, %d keys of %d\n", wrong, found_distinct, distinct);
    return wrong || found_distinct != distinct;
}

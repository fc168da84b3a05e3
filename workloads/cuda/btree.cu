// Searches keys in a B+ tree: one CTA per searched key, one thread per slot of a node.
//
// Every node has as many slots as the CTA has threads. Slot s of an inner node leads to the keys from keys[s] up to keys[s + 1];
// slot s of a leaf holds the value of keys[s]. Unused slots, all at a node's end, have the key NO_KEY, which is never searched.
#include "warpbank.cuh"

#define NO_KEY 0x7fffffff

// answers[b] = value of wanted[b]; not written if the tree does not hold that key.
extern "C" __global__ void btree_find(const int *keys, const int *links, const int *wanted, int *answers, int inner_levels)
{
    __shared__ int node;
    int slot = threadIdx.x, slots = blockDim.x;
    int key = wanted[blockIdx.x];

    if (slot == 0)
        node = 0;
    __syncthreads();

    for (int level = 0; level < inner_levels; level++) {
        int at = node * slots + slot;
        int from = keys[at];
        int to = slot + 1 < slots ? keys[at + 1] : NO_KEY;
        __syncthreads();  // everyone has read `node`
        if (from <= key && key < to)
            node = links[at];
        __syncthreads();
    }

    int at = node * slots + slot;
    if (keys[at] == key)
        answers[blockIdx.x] = links[at];
}

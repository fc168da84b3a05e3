// helper_cuda.h of the CUDA samples: the checks of errors and the choice of a device that they share.
#pragma once
#include "warpbank/device.h"

extern "C" __host__ void abort() noexcept __attribute__((noreturn));
static inline __host__ void warpbank_check(cudaError_t error)
{
    if (error != cudaSuccess) abort();
}
#define checkCudaErrors(call) warpbank_check(call)
#define getLastCudaError(message) warpbank_check(cudaGetLastError())
static inline __host__ int findCudaDevice(int, const char **) { return 0; }
static inline __host__ int gpuGetMaxGflopsDeviceId() { return 0; }
static inline __host__ int _ConvertSMVer2Cores(int, int) { return 64; }

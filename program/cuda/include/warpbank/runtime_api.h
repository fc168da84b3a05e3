// The host's side of CUDA, so that host code in a source is understood: types, and declarations of functions. Device code has
// no use for them, and `warpbank compile` emits none.
#pragma once
#include "textures.h"
#include "vectors.h"

typedef unsigned long warpbank_size;

enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidSymbol = 13,
    cudaErrorInvalidDevicePointer = 17,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchTimeout = 702,
    cudaErrorLaunchFailure = 719,
    cudaErrorNotSupported = 801,
    cudaErrorUnknown = 999,
};
typedef cudaError cudaError_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4,
};
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };
enum cudaLimit { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize };
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
};
enum cudaMemoryAdvise { cudaMemAdviseSetReadMostly = 1, cudaMemAdviseSetPreferredLocation = 3, cudaMemAdviseSetAccessedBy = 5 };

enum cudaChannelFormatKind { cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat, cudaChannelFormatKindNone };
enum cudaResourceType { cudaResourceTypeArray, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear, cudaResourceTypePitch2D };
enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };

#define cudaHostAllocDefault 0
#define cudaHostAllocPortable 1
#define cudaHostAllocMapped 2
#define cudaHostAllocWriteCombined 4
#define cudaHostRegisterDefault 0
#define cudaMemAttachGlobal 1
#define cudaStreamDefault 0
#define cudaStreamNonBlocking 1
#define cudaEventDefault 0
#define cudaEventBlockingSync 1
#define cudaEventDisableTiming 2
#define cudaDeviceScheduleAuto 0
#define cudaDeviceMapHost 8

struct CUstream_st;
struct CUevent_st;
typedef CUstream_st *cudaStream_t;
typedef CUevent_st *cudaEvent_t;

struct cudaDeviceProp {
    char name[256];
    warpbank_size totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor, totalConstMem, memPitch;
    int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock, maxThreadsPerMultiProcessor;
    int maxThreadsDim[3], maxGridSize[3];
    int clockRate, memoryClockRate, memoryBusWidth, l2CacheSize;
    int major, minor, multiProcessorCount, concurrentKernels, asyncEngineCount, integrated, canMapHostMemory;
    int unifiedAddressing, managedMemory, concurrentManagedAccess, cooperativeLaunch, ECCEnabled, computeMode;
    int pciBusID, pciDeviceID, pciDomainID, kernelExecTimeoutEnabled, deviceOverlap;
};
struct cudaFuncAttributes {
    warpbank_size sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes;
};

struct cudaArray;
struct cudaMipmappedArray;
typedef cudaArray *cudaArray_t;
typedef const cudaArray *cudaArray_const_t;
typedef cudaMipmappedArray *cudaMipmappedArray_t;
struct cudaChannelFormatDesc {
    int x, y, z, w;
    cudaChannelFormatKind f;
};
struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct { cudaArray_t array; } array;
        struct { cudaMipmappedArray_t mipmap; } mipmap;
        struct { void *devPtr; cudaChannelFormatDesc desc; warpbank_size sizeInBytes; } linear;
        struct { void *devPtr; cudaChannelFormatDesc desc; warpbank_size width, height, pitchInBytes; } pitch2D;
    } res;
};
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned int maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};
struct cudaResourceViewDesc;

extern "C" {
__host__ cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const cudaResourceDesc *resource, const cudaTextureDesc *description, const cudaResourceViewDesc *view);
__host__ cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
__host__ cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f);
__host__ cudaError_t cudaConfigureCall(dim3 grid, dim3 block, warpbank_size shared = 0, cudaStream_t stream = 0);
__host__ cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, warpbank_size shared = 0, cudaStream_t stream = 0);
__host__ cudaError_t cudaMalloc(void **p, warpbank_size bytes);
__host__ cudaError_t cudaMallocManaged(void **p, warpbank_size bytes, unsigned int flags = 1);
__host__ cudaError_t cudaMallocHost(void **p, warpbank_size bytes);
__host__ cudaError_t cudaHostAlloc(void **p, warpbank_size bytes, unsigned int flags);
__host__ cudaError_t cudaHostGetDevicePointer(void **p, void *host, unsigned int flags);
__host__ cudaError_t cudaHostRegister(void *p, warpbank_size bytes, unsigned int flags);
__host__ cudaError_t cudaHostUnregister(void *p);
__host__ cudaError_t cudaMallocPitch(void **p, warpbank_size *pitch, warpbank_size width, warpbank_size height);
__host__ cudaError_t cudaMallocAsync(void **p, warpbank_size bytes, cudaStream_t stream);
__host__ cudaError_t cudaFree(void *p);
__host__ cudaError_t cudaFreeAsync(void *p, cudaStream_t stream);
__host__ cudaError_t cudaFreeHost(void *p);
__host__ cudaError_t cudaMemcpy(void *to, const void *from, warpbank_size bytes, cudaMemcpyKind kind);
__host__ cudaError_t cudaMemcpyAsync(void *to, const void *from, warpbank_size bytes, cudaMemcpyKind kind, cudaStream_t stream = 0);
__host__ cudaError_t cudaMemcpy2D(void *to, warpbank_size pitch, const void *from, warpbank_size from_pitch, warpbank_size width, warpbank_size height, cudaMemcpyKind kind);
__host__ cudaError_t cudaMemset(void *p, int value, warpbank_size bytes);
__host__ cudaError_t cudaMemsetAsync(void *p, int value, warpbank_size bytes, cudaStream_t stream = 0);
__host__ cudaError_t cudaMemset2D(void *p, warpbank_size pitch, int value, warpbank_size width, warpbank_size height);
__host__ cudaError_t cudaMemGetInfo(warpbank_size *free, warpbank_size *total);
__host__ cudaError_t cudaMemPrefetchAsync(const void *p, warpbank_size bytes, int device, cudaStream_t stream = 0);
__host__ cudaError_t cudaMemAdvise(const void *p, warpbank_size bytes, cudaMemoryAdvise advice, int device);
__host__ cudaError_t cudaDeviceSynchronize();
__host__ cudaError_t cudaThreadSynchronize();
__host__ cudaError_t cudaThreadExit();
__host__ cudaError_t cudaDeviceReset();
__host__ cudaError_t cudaSetDevice(int device);
__host__ cudaError_t cudaGetDevice(int *device);
__host__ cudaError_t cudaGetDeviceCount(int *count);
__host__ cudaError_t cudaSetDeviceFlags(unsigned int flags);
__host__ cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
__host__ cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
__host__ cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
__host__ cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config);
__host__ cudaError_t cudaDeviceSetLimit(cudaLimit limit, warpbank_size value);
__host__ cudaError_t cudaDriverGetVersion(int *version);
__host__ cudaError_t cudaRuntimeGetVersion(int *version);
__host__ cudaError_t cudaGetLastError();
__host__ cudaError_t cudaPeekAtLastError();
__host__ cudaError_t cudaStreamCreate(cudaStream_t *stream);
__host__ cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
__host__ cudaError_t cudaStreamDestroy(cudaStream_t stream);
__host__ cudaError_t cudaStreamSynchronize(cudaStream_t stream);
__host__ cudaError_t cudaStreamQuery(cudaStream_t stream);
__host__ cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
__host__ cudaError_t cudaEventCreate(cudaEvent_t *event);
__host__ cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
__host__ cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
__host__ cudaError_t cudaEventSynchronize(cudaEvent_t event);
__host__ cudaError_t cudaEventQuery(cudaEvent_t event);
__host__ cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);
__host__ cudaError_t cudaEventDestroy(cudaEvent_t event);
__host__ cudaError_t cudaProfilerStart();
__host__ cudaError_t cudaProfilerStop();
__host__ cudaError_t warpbank_copy_to_symbol(const void *symbol, const void *from, warpbank_size bytes, warpbank_size offset);
__host__ cudaError_t warpbank_copy_from_symbol(void *to, const void *symbol, warpbank_size bytes, warpbank_size offset);
__host__ cudaError_t warpbank_symbol_address(void **p, const void *symbol);
__host__ cudaError_t warpbank_symbol_size(warpbank_size *bytes, const void *symbol);
__host__ cudaError_t warpbank_function_attributes(cudaFuncAttributes *attributes, const void *kernel);
__host__ cudaError_t warpbank_function_attribute(const void *kernel, cudaFuncAttribute attribute, int value);
__host__ cudaError_t warpbank_occupancy(int *blocks, const void *kernel, int threads, warpbank_size shared);
__host__ const char *cudaGetErrorString(cudaError_t error);
__host__ const char *cudaGetErrorName(cudaError_t error);
}

#define WARPBANK_HOST static inline __host__
template <class T> WARPBANK_HOST cudaError_t cudaMalloc(T **p, warpbank_size bytes) { return cudaMalloc((void **)p, bytes); }
template <class T> WARPBANK_HOST cudaError_t cudaMallocManaged(T **p, warpbank_size bytes, unsigned int flags = 1)
{
    return cudaMallocManaged((void **)p, bytes, flags);
}
template <class T> WARPBANK_HOST cudaError_t cudaMallocHost(T **p, warpbank_size bytes) { return cudaMallocHost((void **)p, bytes); }
template <class T> WARPBANK_HOST cudaError_t cudaHostAlloc(T **p, warpbank_size bytes, unsigned int flags)
{
    return cudaHostAlloc((void **)p, bytes, flags);
}
template <class T> WARPBANK_HOST cudaError_t cudaHostGetDevicePointer(T **p, void *host, unsigned int flags)
{
    return cudaHostGetDevicePointer((void **)p, host, flags);
}
template <class T>
WARPBANK_HOST cudaError_t cudaMallocPitch(T **p, warpbank_size *pitch, warpbank_size width, warpbank_size height)
{
    return cudaMallocPitch((void **)p, pitch, width, height);
}
template <class T> WARPBANK_HOST cudaChannelFormatDesc cudaCreateChannelDesc()
{
    typedef warpbank_texel<T> texel;
    const int bits = texel::bits;
    return {bits, texel::channels > 1 ? bits : 0, texel::channels > 2 ? bits : 0, texel::channels > 2 ? bits : 0,
        (cudaChannelFormatKind)texel::kind};
}
template <class T> WARPBANK_HOST cudaError_t cudaMallocAsync(T **p, warpbank_size bytes, cudaStream_t stream)
{
    return cudaMallocAsync((void **)p, bytes, stream);
}
template <class T>
WARPBANK_HOST cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, warpbank_size bytes, warpbank_size offset = 0,
    cudaMemcpyKind = cudaMemcpyHostToDevice)
{
    return warpbank_copy_to_symbol((const void *)&symbol, from, bytes, offset);
}
template <class T>
WARPBANK_HOST cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, warpbank_size bytes, warpbank_size offset = 0,
    cudaMemcpyKind = cudaMemcpyHostToDevice, cudaStream_t = 0)
{
    return warpbank_copy_to_symbol((const void *)&symbol, from, bytes, offset);
}
template <class T>
WARPBANK_HOST cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, warpbank_size bytes, warpbank_size offset = 0,
    cudaMemcpyKind = cudaMemcpyDeviceToHost)
{
    return warpbank_copy_from_symbol(to, (const void *)&symbol, bytes, offset);
}
template <class T> WARPBANK_HOST cudaError_t cudaGetSymbolAddress(void **p, const T &symbol)
{
    return warpbank_symbol_address(p, (const void *)&symbol);
}
template <class T> WARPBANK_HOST cudaError_t cudaGetSymbolSize(warpbank_size *bytes, const T &symbol)
{
    return warpbank_symbol_size(bytes, (const void *)&symbol);
}
template <class T>
WARPBANK_HOST cudaError_t cudaLaunchKernel(T *kernel, dim3 grid, dim3 block, void **arguments, warpbank_size shared = 0,
    cudaStream_t stream = 0)
{
    return cudaLaunchKernel((const void *)kernel, grid, block, arguments, shared, stream);
}
template <class T> WARPBANK_HOST cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *kernel)
{
    return warpbank_function_attributes(attributes, (const void *)kernel);
}
template <class T> WARPBANK_HOST cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute attribute, int value)
{
    return warpbank_function_attribute((const void *)kernel, attribute, value);
}
template <class T> WARPBANK_HOST cudaError_t cudaFuncSetCacheConfig(T *, cudaFuncCache) { return cudaSuccess; }
template <class T>
WARPBANK_HOST cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T *kernel, int threads, warpbank_size shared)
{
    return warpbank_occupancy(blocks, (const void *)kernel, threads, shared);
}
template <class T>
WARPBANK_HOST cudaError_t cudaOccupancyMaxPotentialBlockSize(int *blocks, int *threads, T *, warpbank_size = 0, int = 0)
{
    *blocks = 1;
    *threads = 256;
    return cudaSuccess;
}
#undef WARPBANK_HOST

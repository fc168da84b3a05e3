// The CUDA runtime that the tests' programs are linked with: device memory at the addresses that the emulator gives it, copies as
// plain copies, and a launch as a call of `warpbank_on_launch`, which runs the kernel in the emulator.
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

namespace {

constexpr uint64_t kBase = 0x1000000000ull, kRoom = 64ull << 20;
constexpr int kMost = 256;

struct Block { uint64_t start, bytes; };
struct Variable { const void *host; const char *name; uint64_t bytes; };
struct Function { const void *stub; const char *name; };

Block blocks[kMost];
int block_count;
uint64_t top = kBase;
Variable variables[kMost];
int variable_count;
Function functions[kMost];
int function_count;

// What a texture object was made of: see cudaResourceDesc and cudaTextureDesc in the device header.
struct Channels { int x, y, z, w, f; };
struct Resource { int type; uint64_t data; Channels channels; uint64_t width, height, pitch; };
struct Description { int address[3], filter, read, srgb; float border[4]; int normalized; };
struct Texture { Resource resource; Description description; };
Texture textures[kMost];
int texture_count;

uint32_t dims[6];
uint64_t shared_bytes;
unsigned char arguments[4096];
uint64_t argument_bytes;
int last_error;
jmp_buf leave;
int status;

int failed(int error)
{
    if (error) last_error = error;
    return error;
}

}  // namespace

struct dim3 { uint32_t x, y, z; };

extern "C" {

// Set from outside: runs a kernel on the blocks and variables; what it returns is the launch's error.
int (*warpbank_on_launch)(const char *name, const uint32_t *dims, uint64_t shared, const unsigned char *arguments, uint64_t bytes);

int main(int, char **);
int warpbank_run(void)
{
    char name[] = "program", *argv[] = {name, nullptr};
    if (setjmp(leave)) return status;
    return main(1, argv);
}
void exit(int code)
{
    status = code;
    longjmp(leave, 1);
}
int warpbank_blocks(void) { return block_count; }
uint64_t warpbank_block(int i, uint64_t *bytes)
{
    *bytes = blocks[i].bytes;
    return blocks[i].start;
}
int warpbank_variables(void) { return variable_count; }
const char *warpbank_variable(int i, void **host, uint64_t *bytes)
{
    *host = const_cast<void *>(variables[i].host);
    *bytes = variables[i].bytes;
    return variables[i].name;
}

int warpbank_textures(void) { return texture_count; }
// 12 numbers: data, bits and channels of an element, its kind, width in texels (of a linear one: bytes), height, pitch, two
// addressing modes, filter, read mode, normalized coordinates.
void warpbank_texture(int i, uint64_t *numbers)
{
    const Resource &r = textures[i].resource;
    const Description &d = textures[i].description;
    const uint64_t all[] = {r.data, (uint64_t)r.channels.x, (uint64_t)(r.channels.z ? 4 : r.channels.y ? 2 : 1),
        (uint64_t)r.channels.f, r.width, r.type == 3 ? r.height : 0, r.type == 3 ? r.pitch : 0, (uint64_t)d.address[0],
        (uint64_t)d.address[1], (uint64_t)d.filter, (uint64_t)d.read, (uint64_t)d.normalized};
    memcpy(numbers, all, sizeof all);
}

void **__cudaRegisterFatBinary(void *) { return reinterpret_cast<void **>(blocks); }
void __cudaUnregisterFatBinary(void **) {}
int __cudaRegisterFunction(void **, const char *stub, char *, const char *name, int, void *, void *, void *, void *, int *)
{
    functions[function_count++] = {stub, name};
    return 0;
}
void __cudaRegisterVar(void **, char *host, char *, const char *name, int, uint64_t bytes, int, int)
{
    variables[variable_count++] = {host, name, bytes};
}

int cudaConfigureCall(dim3 grid, dim3 block, uint64_t shared, void *)
{
    const uint32_t all[6] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
    memcpy(dims, all, sizeof dims);
    shared_bytes = shared;
    argument_bytes = 0;
    return 0;
}
int cudaSetupArgument(const void *p, uint64_t bytes, uint64_t offset)
{
    memcpy(arguments + offset, p, bytes);
    if (offset + bytes > argument_bytes) argument_bytes = offset + bytes;
    return 0;
}
int cudaLaunch(const void *stub)
{
    for (int i = 0; i < function_count; i++) {
        if (functions[i].stub == stub)
            return failed(warpbank_on_launch(functions[i].name, dims, shared_bytes, arguments, argument_bytes));
    }
    return failed(98);
}

int cudaMalloc(void **p, uint64_t bytes)
{
    if (top == kBase) {
        void *room = mmap(reinterpret_cast<void *>(kBase), kRoom, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (room == MAP_FAILED) return failed(2);
    }
    if (!bytes || block_count == kMost || top + bytes + 512 > kBase + kRoom) return failed(2);
    blocks[block_count++] = {top, bytes};
    *p = reinterpret_cast<void *>(top);
    top = ((top + bytes + 255) & ~255ull) + 256;
    return 0;
}
int cudaMallocPitch(void **p, uint64_t *pitch, uint64_t width, uint64_t height)
{
    *pitch = (width + 31) & ~31ull;
    return cudaMalloc(p, *pitch * height);
}
int cudaMemcpy2D(void *to, uint64_t pitch, const void *from, uint64_t from_pitch, uint64_t width, uint64_t height, int)
{
    for (uint64_t y = 0; y < height; y++)
        memmove(static_cast<char *>(to) + y * pitch, static_cast<const char *>(from) + y * from_pitch, width);
    return 0;
}
int cudaCreateTextureObject(uint64_t *texture, const Resource *resource, const Description *description, const void *)
{
    if (texture_count == kMost || resource->type < 2) return failed(801);
    textures[texture_count++] = {*resource, *description};
    *texture = 0x500000000ull + 16 * texture_count;
    return 0;
}
int cudaDestroyTextureObject(uint64_t) { return 0; }
Channels cudaCreateChannelDesc(int x, int y, int z, int w, int f) { return {x, y, z, w, f}; }
int cudaMallocManaged(void **p, uint64_t bytes, unsigned) { return cudaMalloc(p, bytes); }
int cudaMallocHost(void **p, uint64_t bytes) { return (*p = malloc(bytes)) ? 0 : failed(2); }
int cudaHostAlloc(void **p, uint64_t bytes, unsigned) { return cudaMallocHost(p, bytes); }
int cudaFreeHost(void *p)
{
    free(p);
    return 0;
}
int cudaFree(void *) { return 0; }
int cudaMemcpy(void *to, const void *from, uint64_t bytes, int)
{
    memmove(to, from, bytes);
    return 0;
}
int cudaMemcpyAsync(void *to, const void *from, uint64_t bytes, int kind, void *) { return cudaMemcpy(to, from, bytes, kind); }
int cudaMemset(void *p, int value, uint64_t bytes)
{
    memset(p, value, bytes);
    return 0;
}
int warpbank_copy_to_symbol(const void *symbol, const void *from, uint64_t bytes, uint64_t offset)
{
    memcpy(static_cast<char *>(const_cast<void *>(symbol)) + offset, from, bytes);
    return 0;
}
int warpbank_copy_from_symbol(void *to, const void *symbol, uint64_t bytes, uint64_t offset)
{
    memcpy(to, static_cast<const char *>(symbol) + offset, bytes);
    return 0;
}
int warpbank_function_attribute(const void *, int, int) { return 0; }
int cudaDeviceSynchronize(void) { return 0; }
int cudaDeviceReset(void) { return 0; }
int cudaSetDevice(int) { return 0; }
int cudaGetDeviceCount(int *count)
{
    *count = 1;
    return 0;
}
int cudaGetLastError(void)
{
    int error = last_error;
    last_error = 0;
    return error;
}
int cudaPeekAtLastError(void) { return last_error; }
const char *cudaGetErrorString(int error) { return error ? "the launch failed" : "no error"; }
const char *cudaGetErrorName(int error) { return error ? "cudaError" : "cudaSuccess"; }
int cudaStreamCreate(void **stream)
{
    *stream = nullptr;
    return 0;
}
int cudaStreamDestroy(void *) { return 0; }
int cudaStreamSynchronize(void *) { return 0; }
int cudaEventCreate(void **event)
{
    *event = nullptr;
    return 0;
}
int cudaEventRecord(void *, void *) { return 0; }
int cudaEventSynchronize(void *) { return 0; }
int cudaEventDestroy(void *) { return 0; }
int cudaEventElapsedTime(float *milliseconds, void *, void *)
{
    *milliseconds = 1;
    return 0;
}

// What libc++ and the compiler ask for.
int atexit(void (*)(void)) { return 0; }
void __cxa_pure_virtual(void) { abort(); }

}  // extern "C"

void *operator new(size_t bytes) { return malloc(bytes ? bytes : 1); }
void *operator new[](size_t bytes) { return malloc(bytes ? bytes : 1); }
void operator delete(void *p) noexcept { free(p); }
void operator delete[](void *p) noexcept { free(p); }
void operator delete(void *p, size_t) noexcept { free(p); }
void operator delete[](void *p, size_t) noexcept { free(p); }

// f64 to f16: rounded to odd in f32, so that the processor's own conversion rounds once.
extern "C" _Float16 __truncdfhf2(double x)
{
    float y = (float)x;
    uint32_t bits = __builtin_bit_cast(uint32_t, y);
    if ((double)y != x && y == y && !(bits & 1)) {
        bits += __builtin_fabs((double)y) > __builtin_fabs(x) ? -1 : 1;
        y = __builtin_bit_cast(float, bits);
    }
    return (_Float16)y;
}

namespace std {
inline namespace __1 {
namespace chrono {
struct steady_clock {
    static int64_t now() noexcept;
};
int64_t steady_clock::now() noexcept { return 0; }
}  // namespace chrono
void __libcpp_verbose_abort(const char *, ...) noexcept { abort(); }
}  // namespace __1
}  // namespace std

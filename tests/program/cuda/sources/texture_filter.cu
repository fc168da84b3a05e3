// Textures on linear memory: a sharpening of a pitched image through `tex2D`, and a palette through `tex1Dfetch`.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                  \
    do {                                                                             \
        cudaError_t status = (call);                                                 \
        if (status != cudaSuccess) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            exit(EXIT_FAILURE);                                                      \
        }                                                                            \
    } while (0)

struct Palette {
    cudaTextureObject_t colours;
    int size;
};

// Five texels, those beyond the edge taken from it.
__global__ void sharpen(cudaTextureObject_t image, int *out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float u = x + 0.5f, v = y + 0.5f;
    const int around = tex2D<unsigned char>(image, u - 1, v) + tex2D<unsigned char>(image, u + 1, v) +
                       tex2D<unsigned char>(image, u, v - 1) + tex2D<unsigned char>(image, u, v + 1);
    out[y * width + x] = 5 * tex2D<unsigned char>(image, u, v) - around;
}

// A colour for every index; those that the palette does not have are black.
__global__ void paint(cudaTextureObject_t indices, Palette palette, float4 *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 colour;
    tex1Dfetch(&colour, palette.colours, tex1Dfetch<short2>(indices, i).y);
    out[i] = colour;
}

static cudaTextureObject_t linear(void *data, size_t bytes, cudaChannelFormatDesc channels)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = data;
    resource.res.linear.desc = channels;
    resource.res.linear.sizeInBytes = bytes;
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture = 0;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    return texture;
}

static bool sharpened(int width, int height)
{
    std::vector<unsigned char> image(width * height);
    for (size_t i = 0; i < image.size(); i++) image[i] = static_cast<unsigned char>(rand());
    unsigned char *pixels;
    size_t pitch;
    CHECK(cudaMallocPitch(&pixels, &pitch, width, height));
    CHECK(cudaMemcpy2D(pixels, pitch, image.data(), width, width, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = pixels;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<unsigned char>();
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    cudaTextureDesc description = {};
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    description.filterMode = cudaFilterModePoint;
    cudaTextureObject_t texture = 0;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    int *out;
    CHECK(cudaMalloc(&out, width * height * sizeof(int)));
    const dim3 block(16, 4), grid((width + 15) / 16, (height + 3) / 4);
    sharpen<<<grid, block>>>(texture, out, width, height);
    std::vector<int> found(width * height);
    CHECK(cudaMemcpy(found.data(), out, found.size() * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaDestroyTextureObject(texture));
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            auto at = [&](int i, int j) {
                i = i < 0 ? 0 : i >= width ? width - 1 : i;
                j = j < 0 ? 0 : j >= height ? height - 1 : j;
                return static_cast<int>(image[j * width + i]);
            };
            const int wanted = 5 * at(x, y) - at(x - 1, y) - at(x + 1, y) - at(x, y - 1) - at(x, y + 1);
            if (found[y * width + x] != wanted) return false;
        }
    }
    return true;
}

static bool painted(int n, int colours)
{
    std::vector<short2> indices(n);
    std::vector<float4> palette(colours);
    for (auto &index : indices) index = make_short2(-1, static_cast<short>(rand() % (2 * colours) - colours / 2));
    for (int i = 0; i < colours; i++) palette[i] = make_float4(i, 0.5f * i, 1.0f / (i + 1), 1.0f);
    short2 *index_data;
    float4 *palette_data, *out;
    CHECK(cudaMalloc(&index_data, n * sizeof(short2)));
    CHECK(cudaMalloc(&palette_data, colours * sizeof(float4)));
    CHECK(cudaMalloc(&out, n * sizeof(float4)));
    CHECK(cudaMemcpy(index_data, indices.data(), n * sizeof(short2), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(palette_data, palette.data(), colours * sizeof(float4), cudaMemcpyHostToDevice));
    const Palette given = {linear(palette_data, colours * sizeof(float4), cudaCreateChannelDesc<float4>()), colours};
    paint<<<(n + 63) / 64, 64>>>(linear(index_data, n * sizeof(short2), cudaCreateChannelDesc<short2>()), given, out, n);
    std::vector<float4> found(n);
    CHECK(cudaMemcpy(found.data(), out, n * sizeof(float4), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        const int index = indices[i].y;
        const float4 wanted = index >= 0 && index < colours ? palette[index] : make_float4(0, 0, 0, 0);
        if (found[i].x != wanted.x || found[i].y != wanted.y || found[i].z != wanted.z || found[i].w != wanted.w) return false;
    }
    return true;
}

int main()
{
    srand(4);
    const bool ok = sharpened(37, 11) && painted(200, 24);
    printf("%s\n", ok ? "PASSED" : "FAILED");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

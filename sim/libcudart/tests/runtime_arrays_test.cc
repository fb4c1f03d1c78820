// Levels of arrays, what arrays need and are made of, copies from and to them in streams, and
// surfaces and views of them.

#include <vector>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/cudart_abi.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace {

using twinmmu::cuda_abi::CUDA_ARRAY_MEMORY_REQUIREMENTS;
using twinmmu::cuda_abi::CUDA_ARRAY_SPARSE_PROPERTIES;

constexpr unsigned int kSurface = 2;  // cudaArraySurfaceLoadStore
constexpr unsigned int kSparse = 64;  // cudaArraySparse
constexpr size_t kRow = 4 * sizeof(float);

// An array of 4 x 2 floats, which are 0, 1, ..., another one of zeros, and a stream.
class RuntimeArrays : public testing::Test {
 protected:
  RuntimeArrays() {
    const std::vector<float> zeros(8);
    for (int i = 0; i < 8; ++i) floats_.push_back(static_cast<float>(i));
    for (cudaArray_t* const array : {&array_, &other_}) {
      EXPECT_EQ(cudaMallocArray(array, &channels_, 4, 2, kSurface), cudaSuccess);
      EXPECT_EQ(cudaMemcpy2DToArray(*array, 0, 0, array == &array_ ? floats_.data() : zeros.data(),
                                    kRow, kRow, 2, cudaMemcpyHostToDevice),
                cudaSuccess);
    }
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, 1), cudaSuccess);
  }
  ~RuntimeArrays() override {
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaFreeArray(array_), cudaSuccess);
    EXPECT_EQ(cudaFreeArray(other_), cudaSuccess);
    cudaGetLastError();
  }

  std::vector<float> Read(cudaArray_t array) {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    std::vector<float> all(8);
    EXPECT_EQ(cudaMemcpyFromArray(all.data(), array, 0, 0, 2 * kRow, cudaMemcpyDeviceToHost),
              cudaSuccess);
    return all;
  }
  cudaResourceDesc Resource() const {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array_;
    return resource;
  }

  const cudaChannelFormatDesc channels_ = {32, 0, 0, 0, cudaChannelFormatKindFloat};
  cudaArray_t array_ = nullptr;
  cudaArray_t other_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::vector<float> floats_;
};

// --- Copies

TEST_F(RuntimeArrays, RowsAreCopiedInTheOrderOfAStream) {
  const std::vector<float> nines(2, 9);
  std::vector<float> row(2);
  EXPECT_EQ(cudaMemcpy2DToArrayAsync(array_, 8, 0, nines.data(), 4, 4, 2, cudaMemcpyHostToDevice,
                                     stream_),
            cudaSuccess);
  EXPECT_EQ(Read(array_), (std::vector<float>{0, 1, 9, 3, 4, 5, 9, 7}));
  EXPECT_EQ(cudaMemcpy2DFromArrayAsync(row.data(), 8, array_, 8, 1, 8, 1, cudaMemcpyDeviceToHost,
                                       stream_),
            cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(row, (std::vector<float>{9, 7}));
  EXPECT_EQ(cudaMemcpy2DToArrayAsync(array_, 0, 0, nines.data(), 4, 4, 2, cudaMemcpyDeviceToHost,
                                     stream_),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy2DFromArrayAsync(row.data(), 8, nullptr, 0, 0, 8, 1, cudaMemcpyDeviceToHost,
                                       stream_),
            cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeArrays, BytesAreCopiedInTheOrderOfAStream) {
  const std::vector<float> nines(3, 9);
  std::vector<float> some(3);
  EXPECT_EQ(
      cudaMemcpyToArrayAsync(array_, 12, 0, nines.data(), 12, cudaMemcpyHostToDevice, stream_),
      cudaSuccess);
  EXPECT_EQ(Read(array_), (std::vector<float>{0, 1, 2, 9, 9, 9, 6, 7}));
  EXPECT_EQ(
      cudaMemcpyFromArrayAsync(some.data(), array_, 4, 1, 12, cudaMemcpyDeviceToHost, stream_),
      cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(some, (std::vector<float>{9, 6, 7}));
  EXPECT_EQ(cudaMemcpyToArrayAsync(array_, 0, 0, nines.data(), 12, cudaMemcpyDeviceToHost, stream_),
            cudaErrorInvalidMemcpyDirection);
  std::vector<float> more(5);
  EXPECT_EQ(
      cudaMemcpyFromArrayAsync(more.data(), array_, 0, 1, 20, cudaMemcpyDeviceToHost, stream_),
      cudaErrorInvalidValue)
      << "behind its end";
}

TEST_F(RuntimeArrays, RowsGoFromArrayToArray) {
  EXPECT_EQ(cudaMemcpy2DArrayToArray(other_, 4, 1, array_, 8, 0, 8, 1, cudaMemcpyDeviceToDevice),
            cudaSuccess);
  EXPECT_EQ(Read(other_), (std::vector<float>{0, 0, 0, 0, 0, 2, 3, 0}));
  EXPECT_EQ(cudaMemcpy2DArrayToArray(other_, 0, 0, array_, 0, 0, 16, 2, cudaMemcpyHostToDevice),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy2DArrayToArray(other_, 0, 0, array_, 4, 0, 16, 2, cudaMemcpyDeviceToDevice),
            cudaErrorInvalidValue);
}

// --- What arrays are made of

TEST_F(RuntimeArrays, TellTheirChannels) {
  cudaChannelFormatDesc found = {};
  EXPECT_EQ(cudaGetChannelDesc(&found, array_), cudaSuccess);
  EXPECT_EQ(found.x, 32);
  EXPECT_EQ(found.y, 0);
  EXPECT_EQ(found.f, cudaChannelFormatKindFloat);
  EXPECT_EQ(cudaGetChannelDesc(nullptr, array_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetChannelDesc(&found, nullptr), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeArrays, AreTheLevelsOfOthers) {
  cudaMipmappedArray_t mipmap = nullptr;
  cudaArray_t level = nullptr;
  cudaExtent extent = {};
  ASSERT_EQ(cudaMallocMipmappedArray(&mipmap, &channels_, {16, 16, 0}, 3, 0), cudaSuccess);
  EXPECT_EQ(cudaGetMipmappedArrayLevel(&level, mipmap, 2), cudaSuccess);
  EXPECT_EQ(cudaArrayGetInfo(nullptr, &extent, nullptr, level), cudaSuccess);
  EXPECT_EQ(extent.width, 4u);
  EXPECT_EQ(extent.height, 4u);
  EXPECT_EQ(cudaGetMipmappedArrayLevel(&level, mipmap, 3), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetMipmappedArrayLevel(nullptr, mipmap, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetMipmappedArrayLevel(&level, nullptr, 0), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaFreeMipmappedArray(mipmap), cudaSuccess);
  EXPECT_EQ(cudaGetMipmappedArrayLevel(&level, mipmap, 0), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeArrays, EndOnce) {
  cudaArray_t array = nullptr;
  cudaExtent extent = {};
  ASSERT_EQ(cudaMallocArray(&array, &channels_, 4, 2, 0), cudaSuccess);
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
  EXPECT_EQ(cudaArrayGetInfo(nullptr, &extent, nullptr, array), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaFreeArray(array), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaFreeArray(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeMipmappedArray(nullptr), cudaSuccess);
}

TEST_F(RuntimeArrays, WithMemoryOfTheirOwnHaveNoRequirementsAndNoPlanes) {
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements = {};
  cudaArray_t plane = nullptr;
  cudaMipmappedArray_t mipmap = nullptr;
  EXPECT_EQ(cudaArrayGetMemoryRequirements(&requirements, array_, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaArrayGetPlane(&plane, array_, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaArrayGetPlane(nullptr, array_, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaArrayGetPlane(&plane, nullptr, 0), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaMallocMipmappedArray(&mipmap, &channels_, {16, 16, 0}, 3, 0), cudaSuccess);
  EXPECT_EQ(cudaMipmappedArrayGetMemoryRequirements(&requirements, mipmap, 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeMipmappedArray(mipmap), cudaSuccess);
}

TEST_F(RuntimeArrays, WithoutMemoryTellTheirTiles) {
  CUDA_ARRAY_SPARSE_PROPERTIES sparse = {};
  cudaArray_t tiled = nullptr;
  ASSERT_EQ(cudaMalloc3DArray(&tiled, &channels_, {1024, 1024, 0}, kSparse), cudaSuccess);
  EXPECT_EQ(cudaArrayGetSparseProperties(&sparse, tiled), cudaSuccess);
  EXPECT_EQ(sparse.tileExtent.width, 128u);
  EXPECT_EQ(sparse.tileExtent.height, 128u);
  EXPECT_EQ(cudaArrayGetSparseProperties(nullptr, tiled), cudaErrorInvalidValue);
  EXPECT_EQ(cudaArrayGetSparseProperties(&sparse, array_), cudaErrorInvalidValue)
      << "has memory of its own";
  EXPECT_EQ(cudaFreeArray(tiled), cudaSuccess);
  cudaMipmappedArray_t mipmap = nullptr;
  ASSERT_EQ(cudaMallocMipmappedArray(&mipmap, &channels_, {1024, 1024, 0}, 3, kSparse),
            cudaSuccess);
  EXPECT_EQ(cudaMipmappedArrayGetSparseProperties(&sparse, mipmap), cudaSuccess);
  EXPECT_EQ(sparse.miptailFirstLevel, 3u);
  EXPECT_EQ(cudaMipmappedArrayGetSparseProperties(nullptr, mipmap), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeMipmappedArray(mipmap), cudaSuccess);
}

// --- Surfaces and views

TEST_F(RuntimeArrays, AreSeenThroughSurfaces) {
  cudaSurfaceObject_t surface = 0;
  cudaResourceDesc resource = Resource();
  ASSERT_EQ(cudaCreateSurfaceObject(&surface, &resource), cudaSuccess);
  cudaResourceDesc found = {};
  found.resType = 77;
  EXPECT_EQ(cudaGetSurfaceObjectResourceDesc(&found, surface), cudaSuccess);
  EXPECT_EQ(found.resType, cudaResourceTypeArray);
  EXPECT_EQ(found.res.array.array, array_);
  EXPECT_EQ(cudaGetSurfaceObjectResourceDesc(nullptr, surface), cudaErrorInvalidDevice)
      << "as the genuine runtime";
  EXPECT_EQ(cudaDestroySurfaceObject(surface), cudaSuccess);
  EXPECT_EQ(cudaGetSurfaceObjectResourceDesc(&found, surface), cudaErrorInvalidValue);
  EXPECT_EQ(cudaCreateSurfaceObject(nullptr, &resource), cudaErrorInvalidValue);
  EXPECT_EQ(cudaCreateSurfaceObject(&surface, nullptr), cudaErrorInvalidValue);
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {nullptr, channels_, kRow};
  EXPECT_EQ(cudaCreateSurfaceObject(&surface, &resource), cudaErrorInvalidValue) << "no array";
}

TEST_F(RuntimeArrays, AreSeenThroughViewsThatTexturesGiveBack) {
  constexpr int kFloat = 22;  // cudaResViewFormatFloat1
  const cudaResourceDesc resource = Resource();
  const cudaTextureDesc texture = {};
  cudaResourceViewDesc view = {};
  view.format = kFloat;
  view.width = 4;
  view.height = 2;
  cudaTextureObject_t object = 0;
  ASSERT_EQ(cudaCreateTextureObject(&object, &resource, &texture, &view), cudaSuccess);
  cudaResourceViewDesc found = {};
  EXPECT_EQ(cudaGetTextureObjectResourceViewDesc(&found, object), cudaSuccess);
  EXPECT_EQ(found.format, kFloat);
  EXPECT_EQ(found.width, 4u);
  EXPECT_EQ(cudaDestroyTextureObject(object), cudaSuccess);
  view.width = 1000;
  EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &texture, &view), cudaErrorInvalidValue);
}

// cudaChannelFormatKindUnsignedNormalized8X4, ...SignedNormalized16X1 and ...1010102.
TEST_F(RuntimeArrays, OfNormalisedNumbersAreCopiedByTheirElements) {
  const struct {
    cudaChannelFormatDesc channels;
    size_t bytes;  // of an element
  } formats[] = {{{8, 8, 8, 8, 7}, 4}, {{16, 0, 0, 0, 14}, 2}, {{10, 10, 10, 2, 31}, 4}};
  for (const auto& [channels, bytes] : formats) {
    cudaArray_t array = nullptr;
    ASSERT_EQ(cudaMallocArray(&array, &channels, 4, 2, 0), cudaSuccess) << channels.f;
    std::vector<unsigned char> written(8 * bytes, 0x5a);
    std::vector<unsigned char> found(8 * bytes);
    EXPECT_EQ(
        cudaMemcpyToArray(array, 0, 0, written.data(), written.size(), cudaMemcpyHostToDevice),
        cudaSuccess);
    cudaMemcpy3DParms copy = {};
    copy.srcArray = array;
    copy.dstPtr = {found.data(), 4 * bytes, 4, 2};
    copy.extent = {2, 2, 1};
    copy.kind = cudaMemcpyDeviceToHost;
    EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess) << channels.f;
    EXPECT_EQ(found[2 * bytes - 1], 0x5a) << channels.f;
    EXPECT_EQ(found[2 * bytes], 0) << channels.f;
    cudaChannelFormatDesc told = {};
    EXPECT_EQ(cudaArrayGetInfo(&told, nullptr, nullptr, array), cudaSuccess);
    EXPECT_EQ(told.f, channels.f);
    EXPECT_EQ(told.x, channels.x);
    EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
  }
  const cudaChannelFormatDesc wrong = {8, 8, 0, 0, 7};
  cudaArray_t none = nullptr;
  EXPECT_NE(cudaMallocArray(&none, &wrong, 4, 2, 0), cudaSuccess);
}

}  // namespace

// Arrays, copies from and to them, and the descriptions of textures.

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cudart_abi.h"

namespace {

// An array of 4 x 2 floats, which are 0, 1, ...
class RuntimeTextures : public testing::Test {
 protected:
  RuntimeTextures() {
    const cudaChannelFormatDesc channels =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    EXPECT_EQ(cudaMallocArray(&array_, &channels, 4, 2, 0), cudaSuccess);
    for (int i = 0; i < 8; ++i) floats_.push_back(static_cast<float>(i));
    EXPECT_EQ(cudaMemcpy2DToArray(array_, 0, 0, floats_.data(), 16, 16, 2, cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  ~RuntimeTextures() override {
    EXPECT_EQ(cudaFreeArray(array_), cudaSuccess);
    cudaGetLastError();
  }

  cudaArray_t array_ = nullptr;
  std::vector<float> floats_;
};

TEST_F(RuntimeTextures, ArraysKeepWhatIsCopied) {
  std::vector<float> row(3);
  EXPECT_EQ(cudaMemcpy2DFromArray(row.data(), 12, array_, 4, 1, 12, 1, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(row, (std::vector<float>{5, 6, 7}));
}

TEST_F(RuntimeTextures, BoxesOfArraysAreCountedInElements) {
  std::vector<float> box(4);
  cudaMemcpy3DParms copy = {};
  copy.srcArray = array_;
  copy.srcPos = {2, 0, 0};
  copy.dstPtr = {box.data(), 8, 8, 2};
  copy.extent = {2, 2, 1};
  copy.kind = cudaMemcpyDeviceToHost;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  EXPECT_EQ(box, (std::vector<float>{2, 3, 6, 7}));
}

TEST_F(RuntimeTextures, BytesGoOnInTheNextRow) {
  const std::vector<float> nines(5, 9);
  EXPECT_EQ(cudaMemcpyToArray(array_, 8, 0, nines.data(), 20, cudaMemcpyHostToDevice), cudaSuccess);
  std::vector<float> all(8);
  EXPECT_EQ(cudaMemcpyFromArray(all.data(), array_, 0, 0, 32, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(all, (std::vector<float>{0, 1, 9, 9, 9, 9, 9, 7}));
}

TEST_F(RuntimeTextures, BehindARowTheNextOneBegins) {
  const float nine = 9;
  EXPECT_EQ(cudaMemcpyToArray(array_, 16, 0, &nine, 4, cudaMemcpyHostToDevice), cudaSuccess);
  std::vector<float> all(8);
  EXPECT_EQ(cudaMemcpyFromArray(all.data(), array_, 0, 0, 32, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(all, (std::vector<float>{0, 1, 2, 3, 9, 5, 6, 7}));
}

TEST_F(RuntimeTextures, MemoryBesideAnArrayIsCountedInItsElements) {
  std::vector<float> box(6);
  cudaMemcpy3DParms copy = {};
  copy.srcArray = array_;
  copy.dstPtr = {box.data(), 12, 3, 2};
  copy.dstPos = {1, 0, 0};
  copy.extent = {2, 2, 1};
  copy.kind = cudaMemcpyDeviceToHost;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  EXPECT_EQ(box, (std::vector<float>{0, 0, 1, 0, 4, 5}));
  copy.dstPtr = {box.data(), 1, 3, 2};
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidPitchValue);
}

// Its bytes are more than there are numbers for.
TEST_F(RuntimeTextures, APlaceTooFarInARowIsRefused) {
  constexpr size_t kFar = SIZE_MAX / sizeof(float) + 1;
  std::vector<float> memory(4);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = {memory.data(), 16, 4, 1};
  copy.dstArray = array_;
  copy.extent = {1, 1, 1};
  copy.kind = cudaMemcpyHostToDevice;
  ASSERT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  copy.dstPos = {kFar, 0, 0};
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
  copy.dstPos = {0, 0, 0};
  copy.srcPos = {kFar, 0, 0};
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
}

TEST_F(RuntimeTextures, BytesGoFromRowsToRowsOfAnotherLength) {
  const cudaChannelFormatDesc channels =
      cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaArray_t narrow = nullptr;
  ASSERT_EQ(cudaMallocArray(&narrow, &channels, 3, 3, 0), cudaSuccess);
  EXPECT_EQ(cudaMemcpyArrayToArray(narrow, 4, 0, array_, 0, 0, 32, cudaMemcpyDeviceToDevice),
            cudaSuccess);
  std::vector<float> all(8);
  EXPECT_EQ(cudaMemcpyFromArray(all.data(), narrow, 4, 0, 32, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(all, floats_);
  EXPECT_EQ(cudaFreeArray(narrow), cudaSuccess);
}

TEST_F(RuntimeTextures, BytesBehindTheEndAreRefusedWhenThoseBeforeItAreCopied) {
  const std::vector<float> nines(8, 9);
  EXPECT_EQ(cudaMemcpyToArray(array_, 17, 0, nines.data(), 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToArray(array_, 4, 0, nines.data(), 32, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  std::vector<float> all(8);
  EXPECT_EQ(cudaMemcpyFromArray(all.data(), array_, 0, 0, 32, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(all, (std::vector<float>{0, 9, 9, 9, 9, 9, 9, 9}));
}

TEST_F(RuntimeTextures, ACopyMustGoItsWay) {
  EXPECT_EQ(cudaMemcpy2DToArray(array_, 0, 0, floats_.data(), 16, 16, 2, cudaMemcpyDeviceToHost),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy2DFromArray(floats_.data(), 16, array_, 0, 0, 16, 2, cudaMemcpyHostToDevice),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy2DToArray(array_, 0, 0, floats_.data(), 8, 16, 2, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy2DToArray(nullptr, 0, 0, floats_.data(), 16, 16, 2, cudaMemcpyHostToDevice),
            cudaErrorInvalidResourceHandle);
  cudaMemcpy3DParms copy = {};
  copy.srcArray = array_;
  copy.srcPtr = {floats_.data(), 16, 16, 2};
  copy.dstArray = array_;
  copy.extent = {4, 2, 1};
  copy.kind = cudaMemcpyDeviceToDevice;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue) << "memory, or an array";
}

TEST_F(RuntimeTextures, ArraysDescribeThemselves) {
  cudaChannelFormatDesc channels = {};
  cudaExtent extent = {};
  unsigned int flags = 1;
  EXPECT_EQ(cudaArrayGetInfo(&channels, &extent, &flags, array_), cudaSuccess);
  EXPECT_EQ(channels.x, 32);
  EXPECT_EQ(channels.y, 0);
  EXPECT_EQ(channels.f, cudaChannelFormatKindFloat);
  EXPECT_EQ(extent.width, 4u);
  EXPECT_EQ(extent.height, 2u);
  EXPECT_EQ(extent.depth, 0u);
  EXPECT_EQ(flags, 0u);
}

TEST_F(RuntimeTextures, ChannelsHaveOneSize) {
  const cudaChannelFormatDesc channels =
      cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
  cudaArray_t none = nullptr;
  EXPECT_EQ(cudaMallocArray(&none, &channels, 4, 2, 0), cudaErrorInvalidChannelDescriptor);
}

TEST_F(RuntimeTextures, ShapesAreLookedAtBeforeChannels) {
  constexpr unsigned int kLayered = 1;
  constexpr unsigned int kCubemap = 4;
  const struct {
    cudaExtent extent;
    unsigned int flags;
    cudaError_t error;
  } kAsked[] = {{{0, 8, 0}, 0, cudaErrorInvalidValue},
                {{8, 0, 8}, 0, cudaErrorInvalidValue},
                {{8, 0, 8}, kLayered, cudaErrorInvalidChannelDescriptor},
                {{8, 8, 0}, kLayered, cudaErrorInvalidValue},
                {{8, 4, 6}, kCubemap, cudaErrorInvalidValue},
                {{8, 8, 12}, kCubemap, cudaErrorInvalidValue},
                {{8, 8, 12}, kCubemap | kLayered, cudaErrorInvalidChannelDescriptor},
                {{8, 8, 0}, kCubemap | kLayered, cudaErrorInvalidValue}};
  const cudaChannelFormatDesc channels =
      cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
  for (const auto& asked : kAsked) {
    cudaArray_t array = nullptr;
    cudaMipmappedArray_t mipmap = nullptr;
    EXPECT_EQ(cudaMalloc3DArray(&array, &channels, asked.extent, asked.flags), asked.error);
    EXPECT_EQ(cudaMallocMipmappedArray(&mipmap, &channels, asked.extent, 1, asked.flags),
              asked.error);
  }
}

TEST_F(RuntimeTextures, BoxesOfArraysAreOfElementsOfOneSize) {
  const cudaChannelFormatDesc channels =
      cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
  cudaMemcpy3DParms copy = {};
  ASSERT_EQ(cudaMallocArray(&copy.srcArray, &channels, 4, 2, 0), cudaSuccess);
  copy.dstArray = array_;
  copy.extent = {1, 1, 1};
  copy.kind = cudaMemcpyDeviceToDevice;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeArray(copy.srcArray), cudaSuccess);
}

TEST_F(RuntimeTextures, FloatsAreNotNormalized) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array_;
  cudaTextureDesc texture = {};
  texture.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t object = 0;
  EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &texture, nullptr),
            cudaErrorInvalidNormSetting);
  resource.res.array.array = nullptr;
  EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &texture, nullptr),
            cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeTextures, IntegersAreNotBlended) {
  const cudaChannelFormatDesc channels =
      cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  ASSERT_EQ(cudaMallocArray(&resource.res.array.array, &channels, 4, 2, 0), cudaSuccess);
  cudaTextureDesc texture = {};
  texture.filterMode = 1;
  cudaTextureObject_t object = 0;
  EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &texture, nullptr),
            cudaErrorInvalidFilterSetting);
  texture.readMode = cudaReadModeNormalizedFloat;
  EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &texture, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDestroyTextureObject(object), cudaSuccess);
  EXPECT_EQ(cudaFreeArray(resource.res.array.array), cudaSuccess);
}

TEST_F(RuntimeTextures, WhatIsNoModeReadsWhatCanBeNormalizedAsFloats) {
  const cudaChannelFormatDesc bytes =
      cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
  cudaArray_t array = nullptr;
  ASSERT_EQ(cudaMallocArray(&array, &bytes, 4, 2, 0), cudaSuccess);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  cudaTextureDesc texture = {};
  texture.readMode = 2;
  texture.filterMode = 1;
  const auto mode_of = [&](cudaArray_t shown) {
    resource.res.array.array = shown;
    cudaTextureObject_t object = 0;
    EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &texture, nullptr), cudaSuccess);
    cudaTextureDesc told = {};
    EXPECT_EQ(cudaGetTextureObjectTextureDesc(&told, object), cudaSuccess);
    EXPECT_EQ(cudaDestroyTextureObject(object), cudaSuccess);
    return told.readMode;
  };
  EXPECT_EQ(mode_of(array), cudaReadModeNormalizedFloat);
  EXPECT_EQ(mode_of(array_), cudaReadModeElementType) << "floats";
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

TEST_F(RuntimeTextures, NormalizedNumbersAreNotReadAsElements) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypePitch2D;
  constexpr auto kFourBytes = static_cast<cudaChannelFormatKind>(7);  // ...UnsignedNormalized8X4
  resource.res.pitch2D.desc = {8, 8, 8, 8, kFourBytes};
  const cudaTextureDesc texture = {};
  cudaTextureObject_t object = 0;
  EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &texture, nullptr),
            cudaErrorInvalidNormSetting);
}

TEST_F(RuntimeTextures, RowsAndLevelsAreReadByTheirFormatToo) {
  const cudaChannelFormatDesc channels =
      cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
  cudaResourceDesc rows = {};
  rows.resType = cudaResourceTypePitch2D;
  rows.res.pitch2D.desc = channels;
  cudaResourceDesc levels = {};
  levels.resType = cudaResourceTypeMipmappedArray;
  ASSERT_EQ(cudaMallocMipmappedArray(&levels.res.mipmap.mipmap, &channels, {4, 2, 0}, 1, 0),
            cudaSuccess);
  cudaTextureDesc texture = {};
  texture.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t object = 0;
  for (const cudaResourceDesc& resource : {rows, levels}) {
    texture.filterMode = 1;
    EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &texture, nullptr),
              cudaErrorInvalidFilterSetting)
        << "these are not read as floats";
    texture.filterMode = 0;
    EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &texture, nullptr),
              cudaErrorInvalidNormSetting);
  }
  EXPECT_EQ(cudaFreeMipmappedArray(levels.res.mipmap.mipmap), cudaSuccess);
}

TEST_F(RuntimeTextures, TexturesGiveBackWhatTheyWereMadeOf) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array_;
  cudaTextureDesc texture = {};
  texture.addressMode[0] = 1;
  texture.filterMode = 1;
  texture.normalizedCoords = 1;
  cudaTextureObject_t object = 0;
  EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &texture, nullptr), cudaSuccess);
  cudaResourceDesc shown = {};
  EXPECT_EQ(cudaGetTextureObjectResourceDesc(&shown, object), cudaSuccess);
  EXPECT_EQ(shown.resType, cudaResourceTypeArray);
  EXPECT_EQ(shown.res.array.array, array_);
  cudaTextureDesc found = {};
  found.borderColor[3] = 5;
  EXPECT_EQ(cudaGetTextureObjectTextureDesc(&found, object), cudaSuccess);
  EXPECT_EQ(found.borderColor[3], 0) << "a border that no driver gives back";
  EXPECT_EQ(found.addressMode[0], 1);
  EXPECT_EQ(found.filterMode, 1);
  EXPECT_EQ(found.readMode, cudaReadModeElementType);
  EXPECT_EQ(found.normalizedCoords, 1);
  EXPECT_EQ(cudaDestroyTextureObject(object), cudaSuccess);
  EXPECT_EQ(cudaGetTextureObjectResourceDesc(&shown, object), cudaErrorInvalidValue);
}

}  // namespace

// What calls for arrays, textures and surfaces refuse, and what is gone with its object. The codes
// are those of an H100 (driver 580.159).

#include "conformance/abi/textures/texture_fixture.h"

namespace twinmmu::abi {
namespace {

using ArrayErrorsTest = TextureTest;
using TextureErrorsTest = TextureTest;
using SurfaceErrorsTest = TextureTest;

constexpr CUresult kNoHandle = CUDA_ERROR_INVALID_HANDLE;

CUDA_RESOURCE_DESC Linear() {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  return resource;
}

TEST_F(ArrayErrorsTest, ArraysHaveDescriptors) {
  CUDA_ARRAY_DESCRIPTOR descriptor = {};
  CUarray array = nullptr;
  EXPECT_EQ(cuArrayCreate(&array, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayCreate(nullptr, &descriptor), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayCreate(&array, &descriptor), CUDA_ERROR_INVALID_VALUE) << "of nothing";
}

TEST_F(ArrayErrorsTest, NoArrayHasADescriptor) {
  CUDA_ARRAY_DESCRIPTOR descriptor = {};
  CUDA_ARRAY3D_DESCRIPTOR descriptor_3d = {};
  const CUarray array = MakeArray(16);
  EXPECT_EQ(cuArrayGetDescriptor(&descriptor, nullptr), kNoHandle);
  EXPECT_EQ(cuArrayGetDescriptor(nullptr, array), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArray3DGetDescriptor(&descriptor_3d, nullptr), kNoHandle);
  EXPECT_EQ(cuArray3DGetDescriptor(nullptr, array), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayDestroy(nullptr), kNoHandle);
}

TEST_F(ArrayErrorsTest, MipmapsHaveShapesAndLevels) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = 8;
  descriptor.Depth = 8;  // without rows
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 1;
  CUmipmappedArray mipmap = nullptr;
  EXPECT_EQ(cuMipmappedArrayCreate(&mipmap, &descriptor, 2), CUDA_ERROR_INVALID_VALUE);
  CUarray level = nullptr;
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, MakeMipmap(8, 8, 4), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, nullptr, 0), kNoHandle);
  EXPECT_EQ(cuMipmappedArrayDestroy(nullptr), kNoHandle);
}

TEST_F(ArrayErrorsTest, AMipmapNeedsNoCurrentContext) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {8, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  CUmipmappedArray mipmap = nullptr;
  CUarray level = nullptr;
  CUarray again = nullptr;
  ASSERT_EQ(cuMipmappedArrayCreate(&mipmap, &descriptor, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, mipmap, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMipmappedArrayGetLevel(&again, mipmap, 1), CUDA_SUCCESS);
  EXPECT_EQ(again, level);
  EXPECT_EQ(cuMipmappedArrayDestroy(mipmap), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

TEST_F(ArrayErrorsTest, ADestroyedMipmapGivesItsMemoryBack) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = 8192;
  descriptor.Height = 8192;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 1;
  CUmipmappedArray mipmap = nullptr;
  ASSERT_EQ(cuMipmappedArrayCreate(&mipmap, &descriptor, 1), CUDA_SUCCESS);
  size_t before = 0;
  size_t after = 0;
  size_t total = 0;
  EXPECT_EQ(cuMemGetInfo(&before, &total), CUDA_SUCCESS);
  EXPECT_EQ(cuMipmappedArrayDestroy(mipmap), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetInfo(&after, &total), CUDA_SUCCESS);
  EXPECT_GE(after, before + (size_t{256} << 20));
}

TEST_F(TextureErrorsTest, ADestroyedTextureIsNone) {
  const CUDA_TEXTURE_DESC sampling = Sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT);
  const CUDA_RESOURCE_DESC of_array = ResourceOf(MakeArray(16, 16));
  CUtexObject texture = 0;
  ASSERT_EQ(cuTexObjectCreate(&texture, &of_array, &sampling, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_SUCCESS);
  for (const CUtexObject none : {texture, CUtexObject{0}}) {
    CUDA_TEXTURE_DESC texture_found = {};
    CUDA_RESOURCE_VIEW_DESC view = {};
    EXPECT_EQ(cuTexObjectGetTextureDesc(&texture_found, none), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuTexObjectGetResourceViewDesc(&view, none), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(TextureErrorsTest, AViewIsGivenBack) {
  CUDA_RESOURCE_VIEW_DESC view = {};
  view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
  view.width = 16;
  view.height = 16;
  view.lastMipmapLevel = 2;
  const CUDA_TEXTURE_DESC sampling = Sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT);
  const CUtexObject texture = MakeTexture(ResourceOf(MakeMipmap(16, 16, 4)), sampling, &view);
  CUDA_RESOURCE_VIEW_DESC found = {};
  EXPECT_EQ(cuTexObjectGetResourceViewDesc(&found, texture), CUDA_SUCCESS);
  EXPECT_EQ(found.format, view.format);
  EXPECT_EQ(found.width, view.width);
  EXPECT_EQ(found.lastMipmapLevel, view.lastMipmapLevel);
}

TEST_F(SurfaceErrorsTest, SurfacesAreOfArrays) {
  const CUDA_RESOURCE_DESC linear = Linear();
  CUsurfObject surface = 0;
  EXPECT_EQ(cuSurfObjectCreate(&surface, &linear), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SurfaceErrorsTest, ADestroyedSurfaceIsNone) {
  const CUarray array = MakeArray(16, 16, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST);
  const CUDA_RESOURCE_DESC of_array = ResourceOf(array);
  CUsurfObject surface = 0;
  ASSERT_EQ(cuSurfObjectCreate(&surface, &of_array), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC found = {};
  EXPECT_EQ(cuSurfObjectGetResourceDesc(&found, surface), CUDA_SUCCESS);
  EXPECT_EQ(found.res.array.hArray, array);
  EXPECT_EQ(cuSurfObjectDestroy(surface), CUDA_SUCCESS);
  EXPECT_EQ(cuSurfObjectGetResourceDesc(&found, surface), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuSurfObjectGetResourceDesc(&found, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuSurfObjectDestroy(surface), CUDA_SUCCESS) << "as of one that never was";
}

}  // namespace
}  // namespace twinmmu::abi

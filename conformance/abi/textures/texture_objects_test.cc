// Texture and surface objects: which ones a driver makes. The codes are those of an H100 (driver
// 580.159).

#include "conformance/abi/textures/texture_fixture.h"

namespace twinmmu::abi {
namespace {

class TextureObjectsTest : public TextureTest {
 protected:
  static CUresult Create(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& sampling,
                         const CUDA_RESOURCE_VIEW_DESC* view = nullptr) {
    CUtexObject object = 0;
    const CUresult created = cuTexObjectCreate(&object, &resource, &sampling, view);
    if (created == CUDA_SUCCESS) {
      EXPECT_EQ(cuTexObjectDestroy(object), CUDA_SUCCESS);
    }
    return created;
  }
  static CUDA_RESOURCE_DESC Linear(CUdeviceptr address, size_t bytes, unsigned int channels = 1) {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = address;
    resource.res.linear.format = CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = channels;
    resource.res.linear.sizeInBytes = bytes;
    return resource;
  }
  static CUDA_RESOURCE_DESC Pitched(CUdeviceptr address, size_t pitch) {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = address;
    resource.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    resource.res.pitch2D.numChannels = 1;
    resource.res.pitch2D.width = 16;
    resource.res.pitch2D.height = 16;
    resource.res.pitch2D.pitchInBytes = pitch;
    return resource;
  }

  const CUDA_TEXTURE_DESC points_ = Sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT);
};

TEST_F(TextureObjectsTest, GiveBackWhatTheyWereMadeOf) {
  const CUarray array = MakeArray(16, 16);
  CUDA_TEXTURE_DESC made_of = points_;
  made_of.maxAnisotropy = 99;
  made_of.borderColor[0] = 5;
  const CUtexObject texture = MakeTexture(ResourceOf(array), made_of);
  CUDA_RESOURCE_DESC resource = {};
  EXPECT_EQ(cuTexObjectGetResourceDesc(&resource, texture), CUDA_SUCCESS);
  EXPECT_EQ(resource.resType, CU_RESOURCE_TYPE_ARRAY);
  EXPECT_EQ(resource.res.array.hArray, array);
  CUDA_TEXTURE_DESC sampling = {};
  EXPECT_EQ(cuTexObjectGetTextureDesc(&sampling, texture), CUDA_SUCCESS);
  EXPECT_EQ(sampling.addressMode[0], CU_TR_ADDRESS_MODE_CLAMP);
  EXPECT_EQ(sampling.maxAnisotropy, 99u);
  EXPECT_EQ(sampling.borderColor[0], 0) << "all but the border";
  CUDA_RESOURCE_VIEW_DESC view = {};
  view.width = 77;
  EXPECT_EQ(cuTexObjectGetResourceViewDesc(&view, texture), CUDA_SUCCESS);
  EXPECT_EQ(view.width, 77u) << "there is none";
}

TEST_F(TextureObjectsTest, OfNothingGiveNothingBack) {
  CUDA_RESOURCE_DESC resource = {};
  EXPECT_EQ(cuTexObjectGetResourceDesc(&resource, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectDestroy(0), CUDA_SUCCESS);
  const CUarray array = MakeArray(16, 16);
  const CUDA_RESOURCE_DESC of_array = ResourceOf(array);
  CUtexObject texture = 0;
  ASSERT_EQ(cuTexObjectCreate(&texture, &of_array, &points_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectGetResourceDesc(&resource, texture), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureObjectsTest, RefuseWhatTheDescriptorsCannotSay) {
  const CUDA_RESOURCE_DESC array = ResourceOf(MakeArray(16, 16));
  CUDA_TEXTURE_DESC sampling = points_;
  sampling.addressMode[0] = static_cast<CUaddress_mode>(4);
  EXPECT_EQ(Create(array, sampling), CUDA_ERROR_INVALID_VALUE);
  sampling = points_;
  sampling.filterMode = static_cast<CUfilter_mode>(2);
  EXPECT_EQ(Create(array, sampling), CUDA_ERROR_INVALID_VALUE);
  sampling = points_;
  sampling.flags = 0x80;
  EXPECT_EQ(Create(array, sampling), CUDA_ERROR_INVALID_VALUE);
  sampling.flags = CU_TRSF_SEAMLESS_CUBEMAP;
  EXPECT_EQ(Create(array, sampling), CUDA_ERROR_INVALID_VALUE) << "it is no cube";
  sampling = points_;
  sampling.reserved[3] = 1;
  EXPECT_EQ(Create(array, sampling), CUDA_ERROR_INVALID_VALUE);
  CUDA_RESOURCE_DESC resource = array;
  resource.flags = 1;
  EXPECT_EQ(Create(resource, points_), CUDA_ERROR_INVALID_VALUE);
  resource = array;
  resource.resType = static_cast<CUresourcetype>(4);
  EXPECT_EQ(Create(resource, points_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(ResourceOf(CUarray{nullptr}), points_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureObjectsTest, TakeLinearMemoryThatIsAligned) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 65536), CUDA_SUCCESS);
  EXPECT_EQ(Create(Linear(memory, 1024), points_), CUDA_SUCCESS);
  EXPECT_EQ(Create(Linear(memory, 0), points_), CUDA_SUCCESS);
  EXPECT_EQ(Create(Linear(memory + 512, 1024), points_), CUDA_SUCCESS);
  EXPECT_EQ(Create(Linear(memory + 256, 1024), points_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(Linear(0, 1024), points_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(Linear(memory, 1024, 3), points_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(Linear(memory, size_t{1} << 31), points_), CUDA_SUCCESS);
  EXPECT_EQ(Create(Linear(memory, size_t{1} << 33), points_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(Pitched(memory, 64), points_), CUDA_SUCCESS);
  EXPECT_EQ(Create(Pitched(memory, 32), points_), CUDA_SUCCESS) << "rows may overlap";
  EXPECT_EQ(Create(Pitched(memory, 80), points_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(Pitched(memory + 256, 64), points_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(Pitched(memory, 2097152), points_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(TextureObjectsTest, OnlyDimensionsThatAreThereHaveAddressModes) {
  const auto with_mode_4_of = [&](size_t dimension) {
    CUDA_TEXTURE_DESC sampling = points_;
    sampling.addressMode[dimension] = static_cast<CUaddress_mode>(4);
    return sampling;
  };
  const CUDA_RESOURCE_DESC row = ResourceOf(MakeArray(16));
  const CUDA_RESOURCE_DESC rows = ResourceOf(MakeArray(16, 16));
  const CUDA_RESOURCE_DESC layers =
      ResourceOf(MakeArray(16, 0, 4, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED));
  EXPECT_EQ(Create(row, with_mode_4_of(0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(row, with_mode_4_of(1)), CUDA_SUCCESS);
  EXPECT_EQ(Create(layers, with_mode_4_of(1)), CUDA_SUCCESS);
  EXPECT_EQ(Create(rows, with_mode_4_of(1)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(rows, with_mode_4_of(2)), CUDA_SUCCESS);
  EXPECT_EQ(Create(ResourceOf(MakeArray(16, 16, 16)), with_mode_4_of(2)), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 65536), CUDA_SUCCESS);
  EXPECT_EQ(Create(Linear(memory, 1024), with_mode_4_of(0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(Linear(memory, 1024), with_mode_4_of(1)), CUDA_SUCCESS);
  EXPECT_EQ(Create(Pitched(memory, 64), with_mode_4_of(1)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(TextureObjectsTest, AModeThatIsNoneIsToldAsClamp) {
  CUDA_TEXTURE_DESC sampling = points_;
  sampling.addressMode[0] = CU_TR_ADDRESS_MODE_BORDER;
  sampling.addressMode[1] = CU_TR_ADDRESS_MODE_MIRROR;
  sampling.addressMode[2] = static_cast<CUaddress_mode>(4);
  CUDA_TEXTURE_DESC found = {};
  EXPECT_EQ(cuTexObjectGetTextureDesc(&found, MakeTexture(ResourceOf(MakeArray(16)), sampling)),
            CUDA_SUCCESS);
  EXPECT_EQ(found.addressMode[0], CU_TR_ADDRESS_MODE_BORDER);
  EXPECT_EQ(found.addressMode[1], CU_TR_ADDRESS_MODE_MIRROR);
  EXPECT_EQ(found.addressMode[2], CU_TR_ADDRESS_MODE_CLAMP);
}

TEST_F(TextureObjectsTest, OneRowHasNoPitch) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 65536), CUDA_SUCCESS);
  for (const size_t height : {1, 2}) {
    CUDA_RESOURCE_DESC made_of = Pitched(memory, 64);
    made_of.res.pitch2D.height = height;
    CUDA_RESOURCE_DESC found = {};
    EXPECT_EQ(cuTexObjectGetResourceDesc(&found, MakeTexture(made_of, points_)), CUDA_SUCCESS);
    EXPECT_EQ(found.res.pitch2D.height, height);
    EXPECT_EQ(found.res.pitch2D.pitchInBytes, height == 1 ? 0u : 64u);
  }
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(TextureObjectsTest, OnlyMipmapsShowLevelsAndOnlyLayersLayers) {
  CUDA_RESOURCE_VIEW_DESC level = {};
  level.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
  level.width = 12;
  level.height = 12;
  CUDA_RESOURCE_VIEW_DESC layer = level;
  level.lastMipmapLevel = 1;
  layer.lastLayer = 1;
  const CUDA_RESOURCE_DESC plain = ResourceOf(MakeArray(12, 12));
  EXPECT_EQ(Create(plain, points_, &level), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(plain, points_, &layer), CUDA_ERROR_INVALID_VALUE);
  const CUDA_RESOURCE_DESC mipmap = ResourceOf(MakeMipmap(12, 12, 3));
  EXPECT_EQ(Create(mipmap, points_, &level), CUDA_SUCCESS);
  EXPECT_EQ(Create(mipmap, points_, &layer), CUDA_ERROR_INVALID_VALUE);
  level.depth = layer.depth = 6;
  const unsigned int cube = CUDA_ARRAY3D_CUBEMAP;
  EXPECT_EQ(Create(ResourceOf(MakeArray(12, 12, 6, CU_AD_FORMAT_FLOAT, 1, cube)), points_, &layer),
            CUDA_ERROR_INVALID_VALUE)
      << "its faces are no layers";
  const CUDA_RESOURCE_DESC layers =
      ResourceOf(MakeArray(12, 12, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED));
  EXPECT_EQ(Create(layers, points_, &level), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(layers, points_, &layer), CUDA_SUCCESS);
}

TEST_F(TextureObjectsTest, ViewsMayShowWhatIsBehindTheLastLevelAndLayer) {
  CUDA_RESOURCE_VIEW_DESC view = {};
  view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
  view.width = 16;
  view.height = 16;
  view.firstMipmapLevel = 3;
  view.lastMipmapLevel = 3;
  EXPECT_EQ(Create(ResourceOf(MakeMipmap(16, 16, 3)), points_, &view), CUDA_SUCCESS);
  view.depth = 4;
  view.firstMipmapLevel = 0;
  view.lastMipmapLevel = 0;
  view.firstLayer = 4;
  view.lastLayer = 9;
  const CUDA_RESOURCE_DESC layers =
      ResourceOf(MakeArray(16, 16, 4, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED));
  EXPECT_EQ(Create(layers, points_, &view), CUDA_SUCCESS);
  view.firstLayer = 10;
  EXPECT_EQ(Create(layers, points_, &view), CUDA_ERROR_INVALID_VALUE)
      << "the last before the first";
}

TEST_F(TextureObjectsTest, ViewsHaveTheSizeOfTheWholeArray) {
  const CUDA_RESOURCE_DESC mipmap = ResourceOf(MakeMipmap(16, 16, 4));
  CUDA_RESOURCE_VIEW_DESC view = {};
  EXPECT_EQ(Create(mipmap, points_, &view), CUDA_ERROR_INVALID_VALUE);
  view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
  view.width = 16;
  view.height = 16;
  view.firstMipmapLevel = 1;
  view.lastMipmapLevel = 2;
  EXPECT_EQ(Create(mipmap, points_, &view), CUDA_SUCCESS);
  view.lastMipmapLevel = 4;
  EXPECT_EQ(Create(mipmap, points_, &view), CUDA_SUCCESS) << "as far as there are levels";
  view.lastMipmapLevel = 0;
  EXPECT_EQ(Create(mipmap, points_, &view), CUDA_ERROR_INVALID_VALUE);
  view.lastMipmapLevel = 2;
  view.width = 8;
  EXPECT_EQ(Create(mipmap, points_, &view), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureObjectsTest, TellTheWidestLinearTexture) {
  size_t elements = 0;
  EXPECT_EQ(cuDeviceGetTexture1DLinearMaxWidth(&elements, CU_AD_FORMAT_FLOAT, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(elements, size_t{1} << 30);
  EXPECT_EQ(cuDeviceGetTexture1DLinearMaxWidth(&elements, CU_AD_FORMAT_FLOAT, 4, 0), CUDA_SUCCESS);
  EXPECT_EQ(elements, size_t{1} << 28);
  EXPECT_EQ(cuDeviceGetTexture1DLinearMaxWidth(&elements, CU_AD_FORMAT_FLOAT, 3, 0),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi

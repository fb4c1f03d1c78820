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

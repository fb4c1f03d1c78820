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
  const CUDA_TEXTURE_DESC points_ =
      Sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT);
};

TEST_F(TextureObjectsTest, GiveBackWhatTheyWereMadeOf) {
  const CUarray array = MakeArray(16, 16);
  const CUtexObject texture = MakeTexture(ResourceOf(array), points_);
  CUDA_RESOURCE_DESC resource = {};
  EXPECT_EQ(cuTexObjectGetResourceDesc(&resource, texture), CUDA_SUCCESS);
  EXPECT_EQ(resource.resType, CU_RESOURCE_TYPE_ARRAY);
  EXPECT_EQ(resource.res.array.hArray, array);
  CUDA_TEXTURE_DESC sampling = {};
  EXPECT_EQ(cuTexObjectGetTextureDesc(&sampling, texture), CUDA_SUCCESS);
  EXPECT_EQ(sampling.addressMode[0], CU_TR_ADDRESS_MODE_CLAMP);
}

}  // namespace
}  // namespace twinmmu::abi

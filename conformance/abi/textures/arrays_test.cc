// Arrays: which ones a driver makes, and what it says of them. The codes are those of an H100
// (driver 580.159).

#include "conformance/abi/textures/texture_fixture.h"

namespace twinmmu::abi {
namespace {

using ArraysTest = TextureTest;

TEST_F(ArraysTest, DescribeThemselves) {
  CUDA_ARRAY_DESCRIPTOR descriptor = {};
  descriptor.Width = 9;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 2;
  CUarray array = nullptr;
  ASSERT_EQ(cuArrayCreate(&array, &descriptor), CUDA_SUCCESS);
  CUDA_ARRAY3D_DESCRIPTOR found = {};
  EXPECT_EQ(cuArray3DGetDescriptor(&found, array), CUDA_SUCCESS);
  EXPECT_EQ(found.Width, 9u);
  EXPECT_EQ(found.Height, 0u);
  EXPECT_EQ(found.Depth, 0u);
  EXPECT_EQ(found.NumChannels, 2u);
  EXPECT_EQ(found.Flags, 0u);
  EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi

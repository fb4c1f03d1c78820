// What kernels read through textures. The bits are those of an H100 (driver 580.159).

#include "conformance/abi/textures/texture_fixture.h"

namespace twinmmu::abi {
namespace {

using TextureReadsTest = TextureTest;

constexpr char kTex2d[] = "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];";

TEST_F(TextureReadsTest, PointsGiveTheTexelThatTheyAreIn) {
  const CUarray array = MakeFilled<float>({0, 1, 2, 10, 11, 12}, 3, 2);
  const CUtexObject texture =
      MakeTexture(ResourceOf(array), Sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT));
  const std::vector<Words> read =
      Run(kTex2d, texture, {Floats(0.5f, 0.5f), Floats(2.9f, 0), Floats(1, 1), Floats(2, 1.9f)});
  EXPECT_EQ(read[0], Floats(0, 0, 0, 1));
  EXPECT_EQ(read[1], Floats(2, 0, 0, 1));
  EXPECT_EQ(read[2], Floats(11, 0, 0, 1));
  EXPECT_EQ(read[3], Floats(12, 0, 0, 1));
}

}  // namespace
}  // namespace twinmmu::abi

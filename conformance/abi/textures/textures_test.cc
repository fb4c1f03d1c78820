// What kernels read through textures. The bits are those of an H100 (driver 580.159): places
// between texels have 8 bits of fraction, and sums are rounded as its texture units round them.

#include "conformance/abi/textures/texture_fixture.h"

namespace twinmmu::abi {
namespace {

class TextureReadsTest : public TextureTest {
 protected:
  // What is read at each coordinate, as bits, is what is said behind it.
  void ExpectBits1d(CUtexObject texture, const std::vector<std::array<uint32_t, 2>>& pairs) {
    std::vector<Words> in;
    for (const auto& pair : pairs) in.push_back({pair[0], 0, 0, 0});
    const std::vector<Words> out =
        Run("tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}];", texture, in);
    for (size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(out[i][0], pairs[i][1]) << "at " << FloatOf(pairs[i][0]);
    }
  }
  std::vector<float> Read2d(CUtexObject texture, const std::vector<Words>& at) {
    std::vector<float> read;
    for (const Words& words : Run(kTex2d, texture, at)) read.push_back(FloatOf(words[0]));
    return read;
  }

  static constexpr char kTex2d[] = "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];";
  const CUDA_TEXTURE_DESC points_ = Sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT);
  const CUDA_TEXTURE_DESC linear_ = Sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR);
};

TEST_F(TextureReadsTest, PointsGiveTheTexelThatTheyAreIn) {
  const CUarray array = MakeFilled<float>({0, 1, 2, 10, 11, 12}, 3, 2);
  const CUtexObject texture = MakeTexture(ResourceOf(array), points_);
  const std::vector<Words> read =
      Run(kTex2d, texture, {Floats(0.5f, 0.5f), Floats(2.9f, 0), Floats(1, 1), Floats(9, -9)});
  EXPECT_EQ(read[0], Floats(0));
  EXPECT_EQ(read[1], Floats(2));
  EXPECT_EQ(read[2], Floats(11));
  EXPECT_EQ(read[3], Floats(2)) << "the nearest of those at the edges";
}

TEST_F(TextureReadsTest, NormalizedCoordinatesHave21BitsOfFraction) {
  const CUarray array = MakeFilled<float>({0, 1, 2}, 3);
  CUDA_TEXTURE_DESC sampling = points_;
  sampling.flags = CU_TRSF_NORMALIZED_COORDINATES;
  // A little above 2/3, which is where the last texel begins.
  ExpectBits1d(MakeTexture(ResourceOf(array), sampling),
               {{0x3f2aaaaf, BitsOf(1)}, {BitsOf(0.667f), BitsOf(2)}});
}

TEST_F(TextureReadsTest, LinearFiltersRoundOnce) {
  std::vector<uint32_t> texels = {0x3fcf98f8, 0xbf9c8f1e, 0xbfea27fa, 0xbf46bbac,
                                  0x402c4b94, 0xbed366c8, 0x3a83126f, 0x4640e6b6};
  const CUarray array = MakeFilled<uint32_t>(texels, 8);
  ExpectBits1d(MakeTexture(ResourceOf(array), linear_), {{0x3fcb9239, 0xbfa387da},
                                                         {0x40d91bb4, 0x455c072a},
                                                         {0x3fdfb2a8, 0xbfafa7bc},
                                                         {0x40381357, 0xbfb79c2d},
                                                         {0x40cf4e8e, 0xbc0e8d18},
                                                         {0x406574d4, 0xbef4db21}});
}

TEST_F(TextureReadsTest, WeightsOfTwoDimensionsAre256Together) {
  // Channel i of texel i is 1: what is read are the weights.
  const CUarray array = MakeFilled<float>({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, 2, 2, 0,
                                          CU_AD_FORMAT_FLOAT, 4);
  const std::vector<Words> read =
      Run(kTex2d, MakeTexture(ResourceOf(array), linear_),
          {{0x3f6dec96, 0x3fa66b7d}, {0x3f0351cf, 0x3f88959c}, {0x3f99dcee, 0x3fbe6bb9}});
  EXPECT_EQ(read[0], (Words{0x3de80000, 0x3db00000, 0x3eea0000, 0x3eb00000}));
  EXPECT_EQ(read[1], (Words{0x3edc0000, 0x3b800000, 0x3f0f0000, 0x3c000000}));
  EXPECT_EQ(read[2], (Words{0x3b800000, 0x3c000000, 0x3e960000, 0x3f320000}));
}

TEST_F(TextureReadsTest, AddressModesSayWhatLiesBeyondTheEdges) {
  const CUarray array = MakeFilled<float>({10, 20, 30, 40, 50}, 5);
  const std::array<uint32_t, 6> at = {0xc018f5c3, 0xbfdcac08, 0xbcb4395a,
                                      0x3d54fdf3, 0x3fa7ae15, 0x402dd2f2};
  const std::array<std::array<uint32_t, 6>, 4> expected = {
      {{0x420e0800, 0x41965000, 0x42098000, 0x419c4000, 0x41a41000, 0x42232000},
       {0x41200000, 0x41200000, 0x41200000, 0x41200000, 0x42480000, 0x42480000},
       {0x41c3f000, 0x41965000, 0x41200000, 0x41200000, 0x421df800, 0x42232000},
       {0x40e00000, 0x40e00000, 0x40f2c000, 0x41026000, 0x40e00000, 0x40e00000}}};
  for (int mode = CU_TR_ADDRESS_MODE_WRAP; mode <= CU_TR_ADDRESS_MODE_BORDER; ++mode) {
    SCOPED_TRACE(mode);
    CUDA_TEXTURE_DESC sampling = Sampling(static_cast<CUaddress_mode>(mode),
                                          CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES);
    sampling.borderColor[0] = 7;
    std::vector<std::array<uint32_t, 2>> pairs;
    for (size_t i = 0; i < at.size(); ++i) {
      pairs.push_back({at[i], expected[static_cast<size_t>(mode)][i]});
    }
    ExpectBits1d(MakeTexture(ResourceOf(array), sampling), pairs);
  }
}

TEST_F(TextureReadsTest, BytesAreFractionsThatAreFilteredWith16Bits) {
  std::vector<uint8_t> bytes(256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  const CUarray array = MakeFilled<uint8_t>(bytes, 256, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8);
  ExpectBits1d(MakeTexture(ResourceOf(array), linear_),
               {{0x42d8aedf, 0x3ed886d9}, {0x43002182, 0x3f002280}, {0x424b33de, 0x3e49fcca}});
  CUDA_TEXTURE_DESC srgb = points_;
  srgb.flags = CU_TRSF_SRGB;
  ExpectBits1d(MakeTexture(ResourceOf(array), srgb),
               {{BitsOf(3.5f), BitsOf(60 / 65536.0f)}, {BitsOf(255.5f), BitsOf(1)}});
}

TEST_F(TextureReadsTest, IntegersAreReadAsTheyAre) {
  const CUarray array = MakeFilled<int8_t>({3, -56, -1, 0}, 4, 0, 0, CU_AD_FORMAT_SIGNED_INT8);
  CUDA_TEXTURE_DESC sampling = points_;
  sampling.flags = CU_TRSF_READ_AS_INTEGER;
  const std::vector<Words> read =
      Run("tex.1d.v4.s32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}];",
          MakeTexture(ResourceOf(array), sampling), {Floats(0.5f), Floats(1.9f), Floats(2)});
  EXPECT_EQ(read[0][0], 3u);
  EXPECT_EQ(read[1][0], 0xffffffc8u);
  EXPECT_EQ(read[2][0], 0xffffffffu);
}

TEST_F(TextureReadsTest, NumbersOfTexelsGiveNothingBeyondTheEdges) {
  const CUarray array = MakeFilled<float>({1, 2, 3, 4, 5, 6}, 3, 2);
  CUDA_TEXTURE_DESC sampling = Sampling(CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_POINT);
  sampling.borderColor[0] = 7;
  const std::vector<Words> read =
      Run("tex.2d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%x0, %x1}];",
          MakeTexture(ResourceOf(array), sampling), {{2, 1}, {3, 1}, {0xffffffff, 0}});
  EXPECT_EQ(read[0], Floats(6));
  EXPECT_EQ(read[1], Floats(0));
  EXPECT_EQ(read[2], Floats(0));
}

TEST_F(TextureReadsTest, LinearMemoryIsReadByNumbersOfTexels) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 64), CUDA_SUCCESS);
  const float texels[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(cuMemcpyHtoD(memory, texels, sizeof texels), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = memory;
  resource.res.linear.format = CU_AD_FORMAT_FLOAT;
  resource.res.linear.numChannels = 2;
  resource.res.linear.sizeInBytes = 62;
  const std::vector<Words> read = Run("tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%x0}];",
                                      MakeTexture(resource, points_), {{0}, {6}, {7}});
  EXPECT_EQ(read[0], Floats(0, 1));
  EXPECT_EQ(read[1], Floats(12, 13));
  EXPECT_EQ(read[2], Floats(0)) << "an element that is not whole";
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(TextureReadsTest, LevelsAreFilteredToo) {
  const CUmipmappedArray mipmap = MakeMipmap(16, 8, 3);
  for (unsigned int level = 0; level < 3; ++level) {
    CUarray array = nullptr;
    ASSERT_EQ(cuMipmappedArrayGetLevel(&array, mipmap, level), CUDA_SUCCESS);
    const size_t width = 16u >> level;
    const size_t height = 8u >> level;
    const std::vector<float> texels(width * height, 100.0f * static_cast<float>(level));
    TextureTest::Write(array, texels.data(), width * 4, height);
  }
  CUDA_TEXTURE_DESC sampling = linear_;
  sampling.flags = CU_TRSF_NORMALIZED_COORDINATES;
  sampling.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
  sampling.maxMipmapLevelClamp = 10;
  const std::vector<Words> read =
      Run("tex.level.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}], %f2;",
          MakeTexture(ResourceOf(mipmap), sampling),
          {Floats(0.5f, 0.5f, -1), Floats(0.5f, 0.5f, 0.503f), Floats(0.5f, 0.5f, 1.25f),
           Floats(0.5f, 0.5f, 9)});
  EXPECT_EQ(read[0], Floats(0));
  EXPECT_EQ(read[1], Floats(50)) << "levels have 8 bits of fraction, rounded down";
  EXPECT_EQ(read[2], Floats(125));
  EXPECT_EQ(read[3], Floats(200));
}

TEST_F(TextureReadsTest, LayersBeyondTheLastAreTheLast) {
  const CUarray array =
      MakeFilled<float>({1, 2, 3, 4, 5, 6}, 2, 0, 3, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED);
  const std::vector<Words> read =
      Run("tex.a1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%x1, %f0}];",
          MakeTexture(ResourceOf(array), points_),
          {{BitsOf(1.5f), 0}, {BitsOf(0.5f), 2}, {BitsOf(0.5f), 3}, {BitsOf(0.5f), 0xffffffff}});
  EXPECT_EQ(read[0], Floats(2));
  EXPECT_EQ(read[1], Floats(5));
  EXPECT_EQ(read[2], Floats(5));
  EXPECT_EQ(read[3], Floats(5));
}

TEST_F(TextureReadsTest, GathersGiveFourTexelsAgainstTheClock) {
  const CUarray array = MakeFilled<float>({0, 1, 2, 10, 11, 12, 20, 21, 22}, 3, 3, 0,
                                          CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_TEXTURE_GATHER);
  const std::vector<Words> read =
      Run("tld4.r.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];",
          MakeTexture(ResourceOf(array), linear_), {Floats(1, 1), Floats(0, 0)});
  EXPECT_EQ(read[0], Floats(10, 11, 1, 0));
  EXPECT_EQ(read[1], Floats(0, 0, 0, 0));
}

TEST_F(TextureReadsTest, DirectionsMeetTheFacesOfCubes) {
  std::vector<float> faces;
  for (int i = 0; i < 6 * 4; ++i) faces.push_back(static_cast<float>(i / 4 * 10 + i % 4));
  const CUarray array =
      MakeFilled<float>(faces, 2, 2, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP);
  const std::vector<Words> read =
      Run("tex.cube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1, %f2, %f2}];",
          MakeTexture(ResourceOf(array), points_),
          {Floats(1, 0.2f, 0.3f), Floats(-1, 0.2f, 0.3f), Floats(0.1f, -2, 0.3f), Floats(1, 1, 1)});
  EXPECT_EQ(read[0], Floats(0));
  EXPECT_EQ(read[1], Floats(11));
  EXPECT_EQ(read[2], Floats(31));
  EXPECT_EQ(read[3], Floats(41));
}

TEST_F(TextureReadsTest, HandlesAreAskedForTheirSize) {
  const CUarray array = MakeArray(8, 4, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED);
  const std::vector<Words> read =
      Run("txq.width.b32 %o0, [%t]; txq.height.b32 %o1, [%t]; txq.depth.b32 %o2, [%t];",
          MakeTexture(ResourceOf(array), points_), {{}});
  EXPECT_EQ(read[0], (Words{8, 4, 6, 0}));
}

}  // namespace
}  // namespace twinmmu::abi

// What kernels read and write through surfaces.

#include "conformance/abi/textures/texture_fixture.h"

namespace twinmmu::abi {
namespace {

// A surface of 4 x 2 words, which are 0x100, 0x101, ...
class SurfacesTest : public TextureTest {
 protected:
  void SetUp() override {
    TextureTest::SetUp();
    if (HasFatalFailure()) return;
    std::vector<uint32_t> words;
    for (uint32_t i = 0; i < 8; ++i) words.push_back(0x100 + i);
    array_ = MakeFilled<uint32_t>(words, 4, 2, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1,
                                  CUDA_ARRAY3D_SURFACE_LDST);
    surface_ = MakeSurface(array_);
  }
  std::vector<uint32_t> Content() const {
    std::vector<uint32_t> words(8);
    Read(array_, words.data(), 16, 2);
    return words;
  }

  CUarray array_ = nullptr;
  CUsurfObject surface_ = 0;
};

TEST_F(SurfacesTest, LoadsCountBytesInX) {
  const std::vector<Words> read =
      Run("suld.b.2d.b32.zero %o0, [%t, {%x0, %x1}];", surface_, {{0, 0}, {4, 0}, {12, 1}});
  EXPECT_EQ(read[0][0], 0x100u);
  EXPECT_EQ(read[1][0], 0x101u);
  EXPECT_EQ(read[2][0], 0x107u);
}

TEST_F(SurfacesTest, LoadsBeyondTheEdgesGiveZeroOrTheEdge) {
  const std::vector<Words> outside = {{16, 0}, {0, 2}, {0xfffffffc, 0}};
  for (const Words& words : Run("suld.b.2d.b32.zero %o0, [%t, {%x0, %x1}];", surface_, outside)) {
    EXPECT_EQ(words[0], 0u);
  }
  const std::vector<Words> edges =
      Run("suld.b.2d.b32.clamp %o0, [%t, {%x0, %x1}];", surface_, outside);
  EXPECT_EQ(edges[0][0], 0x103u);
  EXPECT_EQ(edges[1][0], 0x104u);
  EXPECT_EQ(edges[2][0], 0x100u);
}

TEST_F(SurfacesTest, LoadsTakePartsOfElementsAndSeveral) {
  const std::vector<Words> bytes = Run(
      "suld.b.2d.b8.zero %h0, [%t, {%x0, %x1}]; cvt.u32.u16 %o0, %h0;", surface_, {{0, 0}, {5, 0}});
  EXPECT_EQ(bytes[0][0], 0u);
  EXPECT_EQ(bytes[1][0], 1u);
  const std::vector<Words> all =
      Run("suld.b.2d.v4.b32.zero {%o0, %o1, %o2, %o3}, [%t, {%x0, %x1}];", surface_, {{0, 1}});
  EXPECT_EQ(all[0], (Words{0x104, 0x105, 0x106, 0x107}));
}

TEST_F(SurfacesTest, StoresChangeWhatIsInside) {
  Run("sust.b.2d.b32.zero [%t, {%x0, %x1}], %x2;", surface_,
      {{4, 0, 0xa0}, {12, 1, 0xa1}, {16, 0, 0xa2}, {0, 2, 0xa3}});
  EXPECT_EQ(Content(),
            (std::vector<uint32_t>{0x100, 0xa0, 0x102, 0x103, 0x104, 0x105, 0x106, 0xa1}));
}

TEST_F(SurfacesTest, ReductionsAreAtomic) {
  Run("sured.b.add.2d.u32.zero [%t, {%x0, %x1}], %x2;", surface_,
      {{4, 0, 1}, {4, 0, 2}, {4, 0, 3}, {8, 1, 5}, {16, 0, 7}});
  EXPECT_EQ(Content(),
            (std::vector<uint32_t>{0x100, 0x107, 0x102, 0x103, 0x104, 0x105, 0x10b, 0x107}));
}

}  // namespace
}  // namespace twinmmu::abi

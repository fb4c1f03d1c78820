// Video instructions: parts of words, and what becomes of the result, as the PTX ISA has it.

#include <string>

#include "sim/ptx/decode/make_program.h"
#include "sim/ptx/text/module.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::HasSubstr;

class VideoTest : public GridTest {
 protected:
  // `instruction` of d = %r5, a = 0x80ff7f01, b = 0x00028003, c = 0x12345678.
  uint32_t Of(const std::string& instruction) {
    RunKernel("mov.u32 %r2, 0x80ff7f01; mov.u32 %r3, 0x00028003; mov.u32 %r4, 0x12345678;\n" +
                  instruction + "; st.global.u32 [%rd1], %r5;",
              1);
    return Read(0);
  }
  static std::string ComplaintOf(const std::string& instruction) {
    const auto parsed = Parse(Module(Kernel(instruction + ";")));
    if (!parsed.ok()) return std::string(parsed.status().message());
    return std::string(MakeProgram(*parsed).status().message());
  }
};

TEST_F(VideoTest, TakesPartsWithTheirSign) {
  EXPECT_EQ(Of("vadd.s32.s32.s32 %r5, %r2.b3, %r3.b0"), 0xffffff83u);
  EXPECT_EQ(Of("vadd.s32.u32.s32 %r5, %r2.b3, %r3.b0"), 0x83u);
  EXPECT_EQ(Of("vsub.s32.s32.s32 %r5, %r2.h0, %r3.h0"), 0x7f01u + 0x7ffdu);
  EXPECT_EQ(Of("vabsdiff.u32.s32.u32 %r5, %r2.h1, %r3.b2"), 0x7f01u + 2);
  EXPECT_EQ(Of("vmin.s32.s32.s32 %r5, %r2.b2, %r3.h1"), 0xffffffffu);
  EXPECT_EQ(Of("vmax.s32.u32.s32 %r5, %r2.b2, %r3.h1"), 0xffu);
}

TEST_F(VideoTest, SaturatesToTheResult) {
  EXPECT_EQ(Of("vadd.s32.s32.s32.sat %r5, %r2, %r2"), 0x80000000u);
  EXPECT_EQ(Of("vadd.u32.u32.u32.sat %r5, %r2, %r2"), 0xffffffffu);
  EXPECT_EQ(Of("vsub.u32.u32.u32.sat %r5, %r3, %r2"), 0u);
  EXPECT_EQ(Of("vadd.s32.u32.u32.sat %r5.b1, %r2.h0, %r3, %r4"), 0x12347f78u);
}

TEST_F(VideoTest, DoesASecondOperation) {
  EXPECT_EQ(Of("vadd.s32.s32.s32.add %r5, %r2.b0, %r3.b0, %r4"), 0x1234567cu);
  EXPECT_EQ(Of("vadd.s32.s32.s32.min %r5, %r2.b3, %r3.b0, %r4"), 0xffffff83u);
  EXPECT_EQ(Of("vadd.u32.s32.s32.min %r5, %r2.b3, %r3.b0, %r4"), 0x12345678u);
  EXPECT_EQ(Of("vadd.s32.s32.s32.max %r5, %r2.b3, %r3.b0, %r4"), 0x12345678u);
}

TEST_F(VideoTest, MergesTheResult) {
  EXPECT_EQ(Of("vadd.s32.s32.s32 %r5.b2, %r2.b0, %r3.b0, %r4"), 0x12045678u);
  EXPECT_EQ(Of("vadd.s32.s32.s32 %r5.h1, %r2.b0, %r3.b0, %r4"), 0x00045678u);
}

TEST_F(VideoTest, Shifts) {
  EXPECT_EQ(Of("vshl.u32.u32.u32.clamp %r5, %r2, %r3.b0"), 0x80ff7f01u << 3);
  EXPECT_EQ(Of("vshl.u32.u32.u32.clamp %r5, %r2, %r3.h0"), 0u);
  EXPECT_EQ(Of("vshl.u32.u32.u32.wrap %r5, %r2, %r3.h0"), 0x80ff7f01u << 3);
  EXPECT_EQ(Of("vshr.s32.s32.u32.clamp %r5, %r2, %r3.b0"), 0xf01fefe0u);
  EXPECT_EQ(Of("vshr.s32.s32.u32.clamp %r5, %r2, %r3"), 0xffffffffu);
}

TEST_F(VideoTest, MultipliesAndAdds) {
  EXPECT_EQ(Of("vmad.u32.u32.u32 %r5, %r2.b0, %r3.b0, %r4"), 0x1234567bu);
  EXPECT_EQ(Of("vmad.u32.u32.u32.po %r5, %r2.b0, %r3.b0, %r4"), 0x1234567cu);
  EXPECT_EQ(Of("vmad.s32.u32.u32 %r5, -%r2.b0, %r3.b0, %r4"), 0x12345675u);
  EXPECT_EQ(Of("vmad.s32.u32.u32 %r5, %r2.b0, %r3.b0, -%r4"), 3u - 0x12345678u);
  EXPECT_EQ(Of("vmad.u32.u32.u32.shr7 %r5, %r2.b0, %r3.b0, %r4"), 0x1234567bu >> 7);
  EXPECT_EQ(Of("vmad.u32.u32.u32.sat %r5, %r2, %r2, %r4"), 0xffffffffu);
}

TEST_F(VideoTest, Compares) {
  EXPECT_EQ(Of("vset.s32.s32.lt %r5, %r2.b3, %r3.b0"), 1u);
  EXPECT_EQ(Of("vset.u32.s32.lt %r5, %r2.b3, %r3.b0"), 0u);
  EXPECT_EQ(Of("vset.u32.u32.ne.add %r5, %r2, %r3, %r4"), 0x12345679u);
  EXPECT_EQ(Of("vset.s32.s32.lt.min %r5, %r2.b3, %r3.b0, %r2"), 0x80ff7f01u);
  EXPECT_EQ(Of("vset.u32.u32.lt.min %r5, %r2.b3, %r3.b1, %r2"), 0u);
  EXPECT_EQ(Of("vset.u32.u32.ge %r5.b3, %r2, %r3, %r4"), 0x01345678u);
}

TEST_F(VideoTest, SelectsPartsOfBothOperands) {
  EXPECT_EQ(Of("vadd2.u32.u32.u32 %r5, %r2.h01, %r3, %r4"), 0x7f030102u);
  EXPECT_EQ(Of("vadd2.u32.u32.u32 %r5.h1, %r2, %r3, %r4"), 0x81015678u);
  EXPECT_EQ(Of("vadd4.u32.u32.u32 %r5.b30, %r2.b7000, %r3.b4444, %r4"), 0x03345604u);
}

// Halves of odd sums go away from zero.
TEST_F(VideoTest, RoundsAverages) {
  EXPECT_EQ(Of("vavrg4.s32.s32.s32 %r5, %r2, %r3, %r4"), 0xc001ff02u);
}

TEST_F(VideoTest, RefusesWhatThereIsNot) {
  for (const char* wrong :
       {"vadd.s32.s32.s32 %r5, %r2.b4, %r3", "vadd.s32.s32.s32 %r5, %r2.h2, %r3",
        "vadd.s32.s32 %r5, %r2, %r3", "vadd2.s32.s32.s32.sat.add %r5, %r2, %r3, %r4",
        "vadd.s32.s32.s32 %r5.b0, %r2, %r3", "vadd.s32.s32.s32.add %r5.b0, %r2, %r3, %r4",
        "vshl.u32.u32.u32 %r5, %r2, %r3", "vshl.u32.u32.s32.wrap %r5, %r2, %r3",
        "vmad.s32.s32.s32.po %r5, -%r2, %r3, %r4", "vadd.s32.s32.s32 %r5, -%r2, %r3",
        "vmad.s32.s32.s32 %r5, -%r2, %r3, -%r4", "vset.s32.s32 %r5, %r2, %r3",
        "vadd2.s32.s32.s32 %r5, %r2.h4, %r3, %r4", "vadd2.s32.s32.s32 %r5.b0, %r2, %r3, %r4",
        "vadd4.s32.s32.s32 %r5.b01, %r2, %r3, %r4", "vadd.s32.s32.s32.min %r5, %r2, %r3, %r4.b0"}) {
    EXPECT_THAT(ComplaintOf(wrong), HasSubstr("line 11")) << wrong;
  }
  EXPECT_THAT(ComplaintOf("add.s32 %r5, %r2.b0, %r3"), HasSubstr("line 11"));
}

}  // namespace
}  // namespace twinmmu::ptx

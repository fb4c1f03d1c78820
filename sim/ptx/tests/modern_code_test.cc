// What today's kernels have besides matrices: values of 128 bits, atomic vectors, a stack, video
// instructions.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST_F(GridTest, MovesLoadsAndStores128Bits) {
  Write<uint64_t>(0, 5);
  Write<uint64_t>(1, 6);
  RunKernel(
      ".reg .b128 q<3>; ld.global.b128 q0, [%rd1]; mov.b128 {%rd3, %rd4}, q0;\n"
      "mov.b128 q1, {%rd4, %rd3}; st.global.b128 [%rd1+16], q1;",
      1);
  EXPECT_EQ(Read<uint64_t>(2), 6u);
  EXPECT_EQ(Read<uint64_t>(3), 5u);
}

// Each thread adds one to both halves, whatever the others do.
TEST_F(GridTest, Compares128BitsAsOne) {
  RunKernel(
      ".reg .b128 q<3>; ld.global.b128 q0, [%rd1];\n"
      "L: mov.b128 {%rd3, %rd4}, q0; add.u64 %rd5, %rd3, 1; add.u64 %rd6, %rd4, 2;\n"
      "mov.b128 q1, {%rd5, %rd6}; atom.global.cas.b128 q2, [%rd1], q0, q1;\n"
      "mov.b128 {%rd7, %rd8}, q2; mov.b128 q0, q2; setp.ne.u64 %p1, %rd7, %rd3; @%p1 bra L;");
  EXPECT_EQ(Read<uint64_t>(0), 32u);
  EXPECT_EQ(Read<uint64_t>(1), 64u);
}

TEST_F(GridTest, Faults128BitsThatAreMisaligned) {
  EXPECT_EQ(FaultOf(".reg .b128 q; ld.global.b128 q, [%rd1+8];", 1), GridFault::kMisalignedAddress);
}

TEST_F(GridTest, ChangesVectorsAtomically) {
  Write<float>(0, 1);
  Write<float>(1, 2);
  RunKernel(
      "atom.global.add.v2.f32 {%f1, %f2}, [%rd1], {0f3F800000, 0f40000000};\n"
      "red.global.v2.f32.add [%rd1+8], {%f1, %f2};",
      32);
  EXPECT_EQ(Read<float>(0), 33);
  EXPECT_EQ(Read<float>(1), 66);
  EXPECT_EQ(Read<float>(2), 32 * 1 + 31 * 32 / 2);
}

TEST_F(GridTest, TakesExtremesOfHalvesAtomically) {
  Write<uint32_t>(0, 0x7fff'3c00);  // 1 and no number
  Write<uint32_t>(1, 0x8000'0000);  // 0 and -0
  RunKernel(
      "mov.b32 {%h1, %h2}, 0xc0004000; mov.b32 {%h3, %h4}, 0x00008000;\n"
      "red.global.max.noftz.v4.f16 [%rd1], {%h1, %h2, %h3, %h4};",
      1);
  EXPECT_THAT(ReadAll(2), ElementsAre(0xc0004000u, 0x00000000u));
}

TEST_F(GridTest, FaultsVectorsThatAreMisaligned) {
  EXPECT_EQ(FaultOf("red.global.v2.f32.add [%rd1+4], {%f1, %f2};", 1),
            GridFault::kMisalignedAddress);
}

// Each thread has memory of its own, as much as it asks for.
TEST_F(GridTest, TakesMemoryFromTheStack) {
  RunKernel(
      "stacksave.u64 %rd9; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd3, 8; alloca.u64 %rd4, %rd3, "
      "64;\n"
      "alloca.u64 %rd5, 8; st.local.u32 [%rd4+4], %r1; st.local.u32 [%rd5], 7;\n"
      "cvta.local.u64 %rd6, %rd4; ld.u32 %r2, [%rd6+4]; and.b64 %rd7, %rd4, 63; cvt.u32.u64 %r3, "
      "%rd7;\n"
      "add.u32 %r2, %r2, %r3; st.global.u32 [%rd2], %r2; stackrestore.u64 %rd9;");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(Read(i), i);
}

// What is taken behind a place that was saved is taken again behind it, by addresses of either
// width.
TEST_F(GridTest, GivesTheStackBackDownToWhereItWasSaved) {
  const auto first_and_second = [&](const char* type, const char* registers) {
    RunKernel(absl::StrReplaceAll(
        "alloca.u $10, 64; stacksave.u $11; alloca.u $12, 64; stackrestore.u $11;\n"
        "alloca.u $13, 64; sub.u $12, $12, $10; sub.u $13, $13, $10; cvt.u32.u %r20, $12;\n"
        "cvt.u32.u %r21, $13; mad.lo.u32 %r20, %r20, 1000, %r21; st.global.u32 [%rd2], %r20;",
        {{".u ", type}, {"$", registers}}));
    return ReadAll(32);
  };
  EXPECT_THAT(first_and_second(".u64 ", "%rd"), Each(64'064u));
  EXPECT_THAT(first_and_second(".u32 ", "%r"), Each(64'064u));
}

// Each lane has its own stack, whatever the others do.
TEST_F(GridTest, GivesTheStackBackInALoopThatLanesLeave) {
  RunKernel(
      "mov.u32 %r2, 0;\n"
      "L: stacksave.u64 %rd9; alloca.u64 %rd4, 16384; st.local.u32 [%rd4], %r1;\n"
      "ld.local.u32 %r3, [%rd4]; stackrestore.u64 %rd9; add.u32 %r2, %r2, 1;\n"
      "mul.lo.u32 %r4, %r1, 8; setp.le.u32 %p1, %r2, %r4; @%p1 bra L;\n"
      "st.global.u32 [%rd2], %r2;");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(Read(i), 8 * i + 1);
}

// What a function has in local memory is aligned, whatever its caller took before.
TEST_F(GridTest, AlignsLocalMemoryBehindTheStack) {
  const std::string function =
      ".func (.param .b32 out) f(.param .b32 in)\n{\n.local .align 16 .b8 d[16];\n"
      ".reg .b32 %r<9>;\n.reg .b64 %rd<3>;\nmov.u64 %rd1, d; ld.param.u32 %r5, [in];\n"
      "st.local.v4.u32 [%rd1], {%r5, %r5, %r5, %r5};\n"
      "ld.local.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];\nadd.u32 %r5, %r1, %r4;\n"
      "st.param.b32 [out], %r5;\nret;\n}\n";
  EXPECT_EQ(Run(function + Kernel("alloca.u64 %rd4, 8; st.local.u64 [%rd4], 0;\n"
                                  "{ .param .b32 p; .param .b32 o; st.param.b32 [p], %r1;\n"
                                  "call (o), f, (p); ld.param.b32 %r2, [o]; }\n"
                                  "st.global.u32 [%rd2], %r2;"),
                Dim3{1, 1, 1}, Dim3{32, 1, 1}),
            Grid::State::kDone)
      << fault_.words;
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(Read(i), 2 * i);
}

TEST_F(GridTest, FaultsWhatIsBehindTheStack) {
  EXPECT_EQ(FaultOf("stacksave.u64 %rd9; alloca.u64 %rd4, 64; stackrestore.u64 %rd9;\n"
                    "st.local.u32 [%rd4], 1;",
                    1),
            GridFault::kIllegalAddress);
  EXPECT_EQ(FaultOf("alloca.u64 %rd4, 0x7fffffffffffffff;", 1), GridFault::kStackOverflow);
}

// As an H200 does it.
TEST_F(GridTest, ComputesPartsOfWords) {
  RunKernel(
      "mov.u32 %r2, 0x7f80017f; mov.u32 %r3, 0xfb32555e; mov.u32 %r4, 0xb9;\n"
      "vabsdiff4.u32.u32.u32 %r5, %r2, %r3, %r4; vabsdiff4.u32.u32.u32.add %r6, %r2, %r3, %r4;\n"
      "vadd4.s32.s32.s32.add %r7, %r2, %r3, %r4; vsub2.u32.u32.u32.add %r8, %r2, %r3, %r4;\n"
      "st.global.v4.u32 [%rd1], {%r5, %r6, %r7, %r8};",
      1);
  EXPECT_THAT(ReadAll(4), ElementsAre(0x7c4e5421u, 0x1f8u, 0x218u, 0xffff3128u));
}

TEST_F(GridTest, TakesHintsAsHints) {
  Write<uint32_t>(0, 3);
  RunKernel(
      "createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %rd3, 0f3F000000;\n"
      "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd4, [%rd1], 64, 128;\n"
      "createpolicy.cvt.L2.b64 %rd5, %rd3; st.global.u64 [%rd1+16], %rd5;\n"
      "ld.global.L2::cache_hint.u32 %r2, [%rd1], %rd3; st.global.u64 [%rd1+8], %rd3;\n"
      "st.global.u32 [%rd1+4], %r2;",
      1);
  EXPECT_EQ(Read(1), 3u);
  EXPECT_EQ(Read<uint64_t>(1), uint64_t{0x12700000} << 32);
  EXPECT_EQ(Read<uint64_t>(2), Read<uint64_t>(1));
}

// Registers of vectors, as a whole and by element.
TEST_F(GridTest, MovesVectorsOfRegisters) {
  Write(0, 7u);
  Write(1, 8u);
  RunKernel(
      ".reg .v2 .b32 v, w; .reg .v4 .u32 n; ld.global.v2.b32 v, [%rd1];\n"
      "mov.v2.b32 w, {v.y, v.x}; mov.v2.b32 {w.x, w.y}, {w.y, w.x}; add.u32 w.y, w.y, 1;\n"
      "st.global.v2.b32 [%rd1+8], w; mov.v4.u32 n, %ntid; st.global.v4.u32 [%rd1+16], n;",
      3);
  EXPECT_THAT(ReadAll(8), ElementsAre(7, 8, 7, 9, 3, 1, 1, 0));
}

// What there is from sm_100 on.
class LaterTargetTest : public GridTest {
 protected:
  void RunLater(absl::string_view body) {
    const std::shared_ptr<const Program> program =
        Load(absl::StrCat(".version 8.8\n.target sm_100a\n.address_size 64\n", Kernel(body)));
    ASSERT_NE(program, nullptr);
    ASSERT_EQ(program->FindKernel("k")->refusal, "");
    grid_ = MakeGrid(program, Dim3(), Dim3{32, 1, 1}, {memory().value()});
    EXPECT_EQ(grid_->Run(kEnough), Grid::State::kDone) << grid_->fault().words;
  }
};

// Of 32 bytes, also into the register of the address.
TEST_F(LaterTargetTest, LoadsAndStoresVectorsOf32Bytes) {
  for (uint64_t i = 0; i < 8; ++i) Write(i, static_cast<uint32_t>(i) + 1);
  RunLater(
      "ld.global.v8.b32 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%rd1];\n"
      "st.global.v8.b32 [%rd1+32], {%r17, %r16, %r15, %r14, %r13, %r12, %r11, %r10};\n"
      "mov.u64 %rd3, %rd1; ld.global.nc.v4.u64 {%rd3, %rd4, %rd5, %rd6}, [%rd3];\n"
      "st.global.v4.b64 [%rd1+64], {%rd6, %rd5, %rd4, %rd3};");
  for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(Read(8 + i), 8 - i);
  EXPECT_EQ(Read<uint64_t>(8), uint64_t{8} << 32 | 7);
  EXPECT_EQ(Read<uint64_t>(11), uint64_t{2} << 32 | 1);
}

TEST_F(LaterTargetTest, FaultsVectorsOf32BytesThatAreMisaligned) {
  const std::shared_ptr<const Program> program =
      Load(absl::StrCat(".version 8.8\n.target sm_100\n.address_size 64\n",
                        Kernel("ld.global.v4.b64 {%rd3, %rd4, %rd5, %rd6}, [%rd1+16];")));
  ASSERT_NE(program, nullptr);
  grid_ = MakeGrid(program, Dim3(), Dim3{1, 1, 1}, {memory().value()});
  ASSERT_EQ(grid_->Run(kEnough), Grid::State::kFaulted);
  EXPECT_EQ(grid_->fault().kind, GridFault::kMisalignedAddress);
}

TEST_F(LaterTargetTest, TakesTheExtremesOfFloatsOfAWarp) {
  for (uint64_t i = 0; i < 32; ++i) Write<float>(i, static_cast<float>(i) - 20);
  Write<uint32_t>(7, 0x7fc00000);
  RunLater(
      "ld.global.f32 %f1, [%rd2]; redux.sync.max.f32 %f2, %f1, -1;\n"
      "redux.sync.min.f32 %f3, %f1, -1; redux.sync.max.abs.f32 %f4, %f1, -1;\n"
      "redux.sync.min.NaN.f32 %f5, %f1, -1;\n"
      "st.global.v4.f32 [%rd1+256], {%f2, %f3, %f4, %f5};");
  EXPECT_EQ(Read<float>(64), 11);
  EXPECT_EQ(Read<float>(65), -20);
  EXPECT_EQ(Read<float>(66), 20);
  EXPECT_EQ(Read(67), 0x7fffffffu);
}

}  // namespace
}  // namespace twinmmu::ptx

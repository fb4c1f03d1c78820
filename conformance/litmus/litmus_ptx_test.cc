#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "conformance/litmus/litmus_task_kernels.h"
#include "conformance/litmus/litmus_thread_kernel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

coherence::LitmusTest Parse(const std::string& threads, const std::string& more = "") {
  const absl::StatusOr<coherence::LitmusTest> test = coherence::ParseLitmus(absl::StrCat(
      R"({"locations": {"x": {"aliases": ["x", "y"]}}, "assert": {"cond": "x == 1"}, "threads": )",
      threads, more, "}"));
  EXPECT_TRUE(test.ok()) << test.status();
  return test.ok() ? *test : coherence::LitmusTest();
}

std::string KernelOf(const coherence::LitmusTest& test) {
  const absl::StatusOr<LitmusKernel> kernel = MakeLitmusKernel(test, LitmusTiming::kClocks);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return kernel.ok() ? kernel->ptx : "";
}

TEST(LitmusPtxTest, WritesInstructionsAsTheyAre) {
  const std::string ptx = KernelOf(
      Parse(R"([["st.release.cta x, 1", "fence.sc.gpu", "atom.acq_rel.sys.cas r0, y, 1, 2"]])"));
  EXPECT_THAT(ptx, HasSubstr("st.release.cta.global.u32 [%b0_0], 1;"));
  EXPECT_THAT(ptx, HasSubstr("fence.sc.gpu;"));
  EXPECT_THAT(ptx, HasSubstr("atom.acq_rel.sys.global.cas.b32 %t0_0, [%b0_2], 1, 2;"));
}

// A compiler that knows that two addresses are one takes the first value for the second load.
TEST(LitmusPtxTest, GivesEachAccessAnAddressOfItsOwn) {
  const std::string ptx = KernelOf(Parse(R"([["ld.weak r0, y", "ld.weak r1, y"]])"));
  EXPECT_THAT(ptx, HasSubstr("ld.weak.global.u32 %t0_0, [%b0_0];"));
  EXPECT_THAT(ptx, HasSubstr("ld.weak.global.u32 %t0_1, [%b0_1];"));
}

TEST(LitmusPtxTest, PutsThreadsOfACtaIntoABlock) {
  const std::string threads = R"([["st.weak x, 1"], ["ld.weak r0, y"]])";
  const absl::StatusOr<LitmusKernel> together = MakeLitmusKernel(
      Parse(threads, R"(, "layout": [{"cta": 0}, {"cta": 0}])"), LitmusTiming::kClocks);
  const absl::StatusOr<LitmusKernel> apart = MakeLitmusKernel(
      Parse(threads, R"(, "layout": [{"cta": 0}, {"cta": 1}])"), LitmusTiming::kClocks);
  ASSERT_TRUE(together.ok() && apart.ok());
  EXPECT_THAT(together->ctas, ElementsAre(1u));
  EXPECT_EQ(together->block_threads, 64u);
  EXPECT_THAT(apart->ctas, ElementsAre(2u));
  EXPECT_EQ(apart->block_threads, 32u);
}

TEST(LitmusPtxTest, MakesAKernelOfEachLaunch) {
  const coherence::LitmusTest test =
      Parse(R"([["launch{st.weak x, 1}", "launch{ld.weak r0, y}"]])");
  const absl::StatusOr<std::string> ptx = MakeTaskKernels(test, 64, LitmusTiming::kClocks);
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, HasSubstr(".entry task0("));
  EXPECT_THAT(*ptx, HasSubstr(".entry task1("));
}

TEST(LitmusPtxTest, WritesMultimem) {
  const std::string ptx = KernelOf(
      Parse(R"([["multimem.st.weak m, 1", "multimem.red.release.gpu.add m, 2",)"
            R"( "multimem.ld_reduce.acquire.sys.max r0, m"], ["ld.relaxed.sys r1, um"]])"));
  EXPECT_THAT(ptx, HasSubstr(".version 8.1\n.target sm_90"));
  EXPECT_THAT(ptx, HasSubstr("multimem.st.weak.global.u32 [%b0_0], 1;"));
  EXPECT_THAT(ptx, HasSubstr("multimem.red.release.gpu.global.add.u32 [%b0_1], 2;"));
  EXPECT_THAT(ptx, HasSubstr("multimem.ld_reduce.acquire.sys.global.max.u32 %t0_0, [%b0_2];"));
  EXPECT_THAT(ptx, HasSubstr("ld.relaxed.sys.global.u32 %t1_0, [%b1_0];"));
}

// What the model knows and PTX does not is said, not written.
TEST(LitmusPtxTest, RefusesMultimemThatPtxHasNot) {
  for (const char* instruction :
       {"multimem.red.acq_rel.sys.add m, 1", "multimem.red.relaxed.sys.exch m, 1"}) {
    const absl::StatusOr<LitmusKernel> kernel =
        MakeLitmusKernel(Parse(absl::StrCat("[[\"", instruction, "\"]]")), LitmusTiming::kClocks);
    EXPECT_EQ(kernel.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(kernel.status().message()), HasSubstr(instruction));
  }
}

// The numbers of CTAs are those within a GPU.
TEST(LitmusPtxTest, PutsThreadsOfTwoDevicesIntoBlocksOfEach) {
  const absl::StatusOr<LitmusKernel> kernel = MakeLitmusKernel(
      Parse(R"([["st x, 1"], ["ld r0, y"], ["ld r1, y"]])",
            R"(, "layout": [{"gpu": 4, "cta": 0}, {"gpu": 1, "cta": 0}, {"gpu": 4, "cta": 1}])"),
      LitmusTiming::kClocks);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_THAT(kernel->ctas, ElementsAre(1u, 2u));
}

// Two devices see each other's operations with the scope of the system only.
TEST(LitmusPtxTest, MeetsOtherDevicesInTheScopeOfTheSystem) {
  const std::string threads = R"([["st x, 1"], ["ld r0, y"]])";
  const char kMeeting[] = "red.release.sys.global.add.u32 [%rd4], 1;";
  EXPECT_THAT(KernelOf(Parse(threads, R"(, "layout": [{"cta": 0}, {"cta": 1}])")),
              Not(HasSubstr(kMeeting)));
  EXPECT_THAT(KernelOf(Parse(threads, R"(, "layout": [{"gpu": 0}, {"gpu": 1}])")),
              HasSubstr(kMeeting));
}

}  // namespace
}  // namespace twinmmu

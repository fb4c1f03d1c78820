// Bulk copies of kernels that lack a fence or a wait: what is said of them.

#include <string>
#include <vector>

#include "api/testing/diagnostic_matchers.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The threads of a block store a word each, and one of them copies these in bulk; a fence in
// between, or none.
const char kKernel[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 to) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<4>;
  .reg .pred %p<2>;
  .shared .align 128 .b8 tile[256];
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  mad.lo.u32 %r3, %r1, 4, %r2;
  st.shared.u32 [%r3], %r1;
  FENCE
  bar.sync 0;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 ret;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
)";

Profile StaleProfile() {
  Profile profile = Profile::ReferenceH200(1);
  profile.alias_policy = coherence::Policy::kStale;
  return profile;
}

class AsyncHazardsTest : public MachineTest {
 protected:
  AsyncHazardsTest() : MachineTest(StaleProfile()) {}

  // The last word that was copied.
  uint32_t Copied(const std::string& fence) {
    std::string text = kKernel;
    text.replace(text.find("FENCE"), 5, fence);
    const auto to = linear().Allocate({kDevice0}, Bytes(256));
    const auto module = executor().LoadModule(kDevice0, text);
    EXPECT_THAT(module, IsOk());
    if (!to.ok() || !module.ok()) return 0;
    EXPECT_THAT(executor().Fill(kDevice0, *to, {0, Bytes(4)}, 64), IsOk());
    const auto kernel = executor().GetKernel(*module, "copy");
    const DeviceAddress at = *to;
    LaunchConfig config;
    config.block.x = 64;
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(executor().Launch(Stream(kDevice0), *kernel, config, {&at}), IsOk());
    }
    EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
    uint32_t word = 0;
    EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, &word, at + Bytes(252), Bytes(4)), IsOk());
    return word;
  }
};

TEST_F(AsyncHazardsTest, AMissingFenceIsNamedWithBothPlaces) {
  EXPECT_EQ(Copied(""), 0u);
  const std::vector<Diagnostic> noticed = simulator_->diagnostics();
  ASSERT_FALSE(noticed.empty());
  EXPECT_THAT(noticed[0],
              AllOf(IsDiagnostic(DiagnosticKind::kMissingAsyncFence),
                    DiagnosticSeverityIs(Severity::kError), DiagnosticCallIs("cuLaunchKernel")));
  EXPECT_THAT(noticed[0].message,
              AllOf(HasSubstr("kernel copy, PTX line 18, cp.async.bulk"),
                    HasSubstr("thread (0, 0, 0) of block (0, 0, 0), reads 0x"),
                    HasSubstr("in shared memory, which kernel copy, PTX line 13, st.shared.u32 has "
                              "written, with no fence.proxy.async in between")));
}

TEST_F(AsyncHazardsTest, NothingIsSaidWhereThereIsAFence) {
  EXPECT_EQ(Copied("fence.proxy.async.shared::cta;"), 63u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

}  // namespace
}  // namespace twinmmu

// Kernels of several blocks and kernels that may start before the one ahead of them has ended: what
// they see of each other.

#include <string>
#include <vector>

#include "conformance/kernel_fixture.h"
#include "conformance/registry.h"

namespace twinmmu::conformance {
namespace {

// `write` lets the kernel behind it start, goes on for a while, and stores `value` to `word`.
// `read` copies `word` to `out`; `read_behind` does so behind a wait.
const char kText[] = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry write(.param .u64 word, .param .u32 value)
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<2>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [word];
  ld.param.u32 %r1, [value];
  griddepcontrol.launch_dependents;
  mov.u64 %rd2, %clock64;
$again:
  mov.u64 %rd3, %clock64;
  sub.s64 %rd3, %rd3, %rd2;
  setp.lt.s64 %p1, %rd3, 40000;
  @%p1 bra $again;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry read(.param .u64 word, .param .u64 out)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [word];
  ld.param.u64 %rd2, [out];
  ld.global.u32 %r1, [%rd1];
  st.global.u32 [%rd2], %r1;
  ret;
}
.visible .entry read_behind(.param .u64 word, .param .u64 out)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [word];
  ld.param.u64 %rd2, [out];
  griddepcontrol.wait;
  ld.global.u32 %r1, [%rd1];
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

// Each block stores its number to shared memory. When all blocks have, which they count at `count`,
// each thread stores what it finds there to its word at `out`.
const char kSharedText[] = R"(.version 7.5
.target sm_70
.address_size 64
.shared .align 4 .b32 number;
.visible .entry share(.param .u64 count, .param .u64 out)
{
  .reg .b64 %rd<5>;
  .reg .b32 %r<8>;
  .reg .pred %p<3>;
  ld.param.u64 %rd1, [count];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %nctaid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra $stored;
  st.shared.u32 [number], %r2;
  atom.add.release.gpu.global.u32 %r5, [%rd1], 1;
$again:
  ld.acquire.gpu.global.u32 %r5, [%rd1];
  setp.lt.u32 %p2, %r5, %r4;
  @%p2 bra $again;
$stored:
  bar.sync 0;
  ld.shared.u32 %r6, [number];
  mad.lo.u32 %r7, %r2, %r3, %r1;
  mul.wide.u32 %rd3, %r7, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r6;
  ret;
}
)";

class ProgrammaticTest : public KernelTest {
 protected:
  // False: the device has no such kernels, which is asserted, or the test has failed.
  bool LoadText() {
    const auto major = vmm().GetDeviceAttribute(DeviceAttribute::kComputeCapabilityMajor, device());
    EXPECT_THAT(major, IsOk());
    const auto module = executor().LoadModule(device(), kText);
    if (major.ok() && *major < 9) {
      EXPECT_FALSE(module.ok());
      RecordProperty(kUnsupportedProperty, "");
      return false;
    }
    if (IsTooOldForPtx(11080, module.status())) return false;
    EXPECT_THAT(module, IsOk());
    if (module.ok()) module_ = *module;
    return module.ok();
  }
  void TearDown() override {
    if (module_ != Module()) {
      EXPECT_THAT(executor().UnloadModule(module_), IsOk());
    }
    KernelTest::TearDown();
  }
  // What the kernel `reader` finds behind one that writes `value`.
  absl::StatusOr<uint32_t> FoundBy(const char* reader, bool early, uint32_t value) {
    const Stream stream(device());
    const DeviceAddress word = Granules(0, 1).base;
    const DeviceAddress out = Granules(1, 1).base;
    const auto write = executor().GetKernel(module_, "write");
    const auto read = executor().GetKernel(module_, reader);
    absl::Status status = write.status();
    status.Update(read.status());
    if (!status.ok()) return status;
    const void* const of_write[] = {&word, &value};
    const void* const of_read[] = {&word, &out};
    LaunchConfig config;
    status.Update(executor().Launch(stream, *write, config, of_write));
    config.programmatic_stream_serialization = early;
    status.Update(executor().Launch(stream, *read, config, of_read));
    status.Update(executor().SynchronizeDevice(device()));
    uint32_t found = 0;
    status.Update(executor().CopyDeviceToHost(device(), &found, out, Bytes(4)));
    if (!status.ok()) return status;
    return found;
  }

 private:
  Module module_;
};

}  // namespace

CONFORMANCE_TEST(ProgrammaticTest, KERNEL_15, AWaitSeesWhatTheKernelAheadWrote) {
  if (!LoadText()) return;
  for (uint32_t round = 1; round <= 20; ++round) {
    ASSERT_THAT(FoundBy("read_behind", true, round), IsOkAndHolds(round));
  }
}

CONFORMANCE_TEST(ProgrammaticTest, KERNEL_16, WithoutTheAttributeKernelsRunInOrder) {
  if (!LoadText()) return;
  for (uint32_t round = 1; round <= 20; ++round) {
    ASSERT_THAT(FoundBy("read", false, 2 * round), IsOkAndHolds(2 * round));
    ASSERT_THAT(FoundBy("read_behind", false, 2 * round + 1), IsOkAndHolds(2 * round + 1));
  }
}

CONFORMANCE_TEST(KernelTest, KERNEL_17, EachBlockHasItsSharedMemory) {
  constexpr uint32_t kBlocks = 4;
  constexpr uint32_t kThreads = 64;
  const auto loaded = executor().LoadModule(device(), kSharedText);
  if (IsTooOldForPtx(kKernelsSince, loaded.status())) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Module module, loaded);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Kernel share, executor().GetKernel(module, "share"));
  const DeviceAddress count = Granules(0, 1).base;
  const DeviceAddress out = Granules(1, 1).base;
  ASSERT_THAT(executor().Fill(device(), count, {0, Bytes(4)}, 1), IsOk());
  ASSERT_THAT(executor().Fill(device(), out, {~0u, Bytes(4)}, kBlocks * kThreads), IsOk());
  LaunchConfig config;
  config.grid.x = kBlocks;
  config.block.x = kThreads;
  const void* const arguments[] = {&count, &out};
  ASSERT_THAT(executor().Launch(Stream(device()), share, config, arguments), IsOk());
  ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
  std::vector<uint32_t> found(kBlocks * kThreads);
  ASSERT_THAT(executor().CopyDeviceToHost(device(), found.data(), out, Bytes(4 * found.size())),
              IsOk());
  for (uint32_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], i / kThreads) << i;
  EXPECT_THAT(executor().UnloadModule(module), IsOk());
}

}  // namespace twinmmu::conformance

// Reads of memory that nothing has written, where the profile asks for them.

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "api/testing/diagnostic_matchers.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Each thread from `first` on copies its word from one place to another.
constexpr char kCopyWords[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 to, .param .u64 from, .param .u32 first) {
  .reg .b64 %rd<5>;
  .reg .b32 %r<4>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  ld.param.u32 %r3, [first];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, %r3;
  @%p1 ret;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd1, %rd1, %rd3;
  add.s64 %rd2, %rd2, %rd3;
  ld.global.u32 %r2, [%rd2];
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

Profile Checked() {
  Profile profile = Profile::ReferenceH200(1);
  profile.init_check = true;
  return profile;
}

class InitCheckTest : public MachineTest {
 protected:
  InitCheckTest() : MachineTest(Checked()) {}

  DeviceAddress Allocate(Bytes size) {
    const auto made = linear().Allocate({kDevice0}, size);
    EXPECT_THAT(made, IsOk());
    return *made;
  }
  void Fill(DeviceAddress at, uint64_t size) {
    EXPECT_THAT(executor().Fill(kDevice0, at, {0, Bytes(1)}, size), IsOk());
  }
  // Each of the blocks does the same.
  void Copy(DeviceAddress to, DeviceAddress from, uint32_t words, uint32_t first = 0,
            uint32_t blocks = 1) {
    const auto module = executor().LoadModule(kDevice0, kCopyWords);
    ASSERT_THAT(module, IsOk());
    const auto kernel = executor().GetKernel(*module, "copy");
    ASSERT_THAT(kernel, IsOk());
    LaunchConfig config;
    config.grid = {blocks, 1, 1};
    config.block = {words, 1, 1};
    const void* const arguments[] = {&to, &from, &first};
    ASSERT_THAT(executor().Launch(Stream(kDevice0), *kernel, config, arguments), IsOk());
  }
  std::vector<Diagnostic> Found() {
    EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
    return simulator_->diagnostics();
  }
};

// With the place of what a warp reads together; once of each instruction.
TEST_F(InitCheckTest, AReadOfFreshMemoryIsTold) {
  const DeviceAddress from = Allocate(KiB(4));
  const DeviceAddress to = Allocate(KiB(4));
  Fill(from, 124);
  Copy(to, from, 32, 0, /*blocks=*/3);
  const std::vector<Diagnostic> found = Found();
  ASSERT_THAT(found, ElementsAre(IsDiagnostic(DiagnosticKind::kUninitializedRead)));
  EXPECT_THAT(found[0].message, AllOf(HasSubstr("kernel copy, PTX line 17, ld.global.u32"),
                                      HasSubstr(" reads 128 B at " + ToString(from) +
                                                ", and nothing has written all of them")));
}

TEST_F(InitCheckTest, WhatWasWrittenMayBeRead) {
  const DeviceAddress from = Allocate(KiB(4));
  const DeviceAddress to = Allocate(KiB(4));
  Fill(from, 128);
  Copy(to, from, 32);
  Copy(from, to, 32);
  uint32_t words[32];
  EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, words, from, Bytes(128)), IsOk());
  EXPECT_THAT(Found(), IsEmpty());
}

// What lies behind the bytes of the lanes that run does not matter, nor is it written then.
TEST_F(InitCheckTest, LanesThatDoNotRunReadAndWriteNothing) {
  const DeviceAddress from = Allocate(KiB(4));
  const DeviceAddress to = Allocate(KiB(4));
  EXPECT_THAT(executor().Fill(kDevice0, from + Bytes(64), {0, Bytes(1)}, 64), IsOk());
  Copy(to, from, 32, /*first=*/16);
  EXPECT_THAT(Found(), IsEmpty());
  uint32_t word = 0;
  EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, &word, to + Bytes(124), Bytes(4)), IsOk());
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, &word, to + Bytes(128), Bytes(4)), IsOk());
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kUninitializedRead)));
}

TEST_F(InitCheckTest, ACopyOfFreshMemoryIsTold) {
  uint32_t word = 0;
  EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, &word, Ready(1).base, Bytes(4)), IsOk());
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kUninitializedRead)));
}

// Memory that was unmapped keeps what it holds.
TEST_F(InitCheckTest, WhatIsMappedAgainIsNotFresh) {
  const AddressRange range = Reserve(1);
  const AllocationHandle handle = MapNew(range.base, 1);
  Grant(range, For(kDevice0, Access::kReadWrite));
  Fill(range.base, 4096);
  ASSERT_THAT(vmm().Unmap(range), IsOk());
  ASSERT_THAT(vmm().Map(range, handle), IsOk());
  Grant(range, For(kDevice0, Access::kReadWrite));
  uint32_t word = 0;
  EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, &word, range.base, Bytes(4)), IsOk());
  EXPECT_THAT(Found(), IsEmpty());
}

// Another process may have written there.
TEST_F(InitCheckTest, ExportedMemoryIsNotFresh) {
  const AddressRange range = Reserve(1);
  const AllocationHandle handle = MapNew(range.base, 1, Shareable());
  Grant(range, For(kDevice0, Access::kReadWrite));
  const auto exported = vmm().ExportShareableHandle(handle, HandleType::kPosixFileDescriptor);
  ASSERT_THAT(exported, IsOk());
  uint32_t word = 0;
  EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, &word, range.base, Bytes(4)), IsOk());
  EXPECT_THAT(Found(), IsEmpty());
  close(exported->file_descriptor);
}

TEST_F(InitCheckTest, AtomicOperationsReadToo) {
  const DeviceAddress at = Allocate(KiB(4));
  const auto module = executor().LoadModule(
      kDevice0,
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry add(.param .u64 at) {\n"
      ".reg .b64 %rd1;\nld.param.u64 %rd1, [at];\nred.global.add.u32 [%rd1], 1;\nret;\n}\n");
  ASSERT_THAT(module, IsOk());
  const void* const argument = &at;
  ASSERT_THAT(executor().Launch(Stream(kDevice0), *executor().GetKernel(*module, "add"), {},
                                {&argument, 1}),
              IsOk());
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kUninitializedRead)));
}

// Races are another matter.
TEST_F(InitCheckTest, RacesAreNotTold) {
  const DeviceAddress at = Allocate(KiB(4));
  const Stream a = *executor().CreateStream(kDevice0);
  const Stream b = *executor().CreateStream(kDevice0);
  EXPECT_THAT(executor().Fill(a, at, {0, Bytes(1)}, 4096), IsOk());
  EXPECT_THAT(executor().Fill(b, at, {0, Bytes(1)}, 4096), IsOk());
  EXPECT_THAT(Found(), IsEmpty());
}

// And what aliases lack is told in any case.
TEST_F(InitCheckTest, AMissingAliasFenceIsTold) {
  const AddressRange first = Reserve(1);
  const AllocationHandle handle = MapNew(first.base, 1);
  const AddressRange second = Reserve(1);
  ASSERT_THAT(vmm().Map(second, handle), IsOk());
  for (const AddressRange& range : {first, second}) {
    Grant(range, For(kDevice0, Access::kReadWrite));
  }
  Fill(first.base, 4096);
  Copy(second.base, first.base, 32);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kMissingAliasFence)));
}

}  // namespace
}  // namespace twinmmu

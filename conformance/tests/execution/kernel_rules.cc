// Kernels in mapped memory: seen by the device itself, not by a copy.

#include <string>
#include <vector>

#include "conformance/fixtures/child_checks.h"
#include "conformance/fixtures/kernel_fixture.h"
#include "conformance/fixtures/queue_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {

CONFORMANCE_TEST(KernelTest, KERNEL_1, FillsAndVerifiesAcrossMappings) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapTheRest());
  const AddressRange range = traits().interprets_kernels ? Granules(3, 2) : work();
  const Stream stream(device());
  ASSERT_THAT(kernels().Fill(stream, range, 1), IsOk());
  ExpectVerified(stream, range, 1);
  ExpectHolds(range, 1);
  // And it does notice: one word on the far side of the seam is changed.
  const Bytes at = range.size - granule() + Bytes(64);
  ASSERT_THAT(kernels().Store32(stream, range.base + at, ~FillWord(1, at / Bytes(4))), IsOk());
  ASSERT_THAT(kernels().Verify(stream, range, 1, result()), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const VerifyResult changed, ReadResult<VerifyResult>());
  EXPECT_EQ(changed.mismatches, 1u);
  EXPECT_EQ(changed.first_index, at / Bytes(4));
}

CONFORMANCE_TEST(KernelTest, KERNEL_2, LoadsStoresAndAdds) {
  if (!LoadKernels()) return;
  const Stream stream(device());
  // Words of which each byte counts, and neighbours that stay as they are.
  uint32_t words[] = {0x01020304, 0, 0x05060708};
  ASSERT_THAT(executor().CopyHostToDevice(device(), work().base, words, Bytes(sizeof(words))),
              IsOk());
  const DeviceAddress word = work().base + Bytes(4);
  ASSERT_THAT(kernels().Store32(stream, word, 0x89ABCDE0), IsOk());
  ASSERT_THAT(kernels().AtomicAdd32(stream, word, 0x10000002, result()), IsOk());
  EXPECT_THAT(ReadResult<uint32_t>(), IsOkAndHolds(0x89ABCDE0u));
  ASSERT_THAT(kernels().Load32(stream, word, result()), IsOk());
  EXPECT_THAT(ReadResult<uint32_t>(), IsOkAndHolds(0x99ABCDE2u));
  ASSERT_THAT(executor().CopyDeviceToHost(device(), words, work().base, Bytes(sizeof(words))),
              IsOk());
  EXPECT_THAT(words, ::testing::ElementsAre(0x01020304u, 0x99ABCDE2u, 0x05060708u));
}

CONFORMANCE_TEST(KernelTest, KERNEL_3, TheFirstKernelSeesAFreshMapping) {
  if (!LoadKernels()) return;
  const Stream stream(device());
  for (uint32_t round = 0; round < 20; ++round) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle fresh,
                                 vmm().Create(2 * granule(), properties()));
    ASSERT_THAT(MapGranted(Granules(6, 2), fresh), IsOk());
    ASSERT_THAT(kernels().Store32(stream, Granules(6, 2).base, round), IsOk());
    ASSERT_THAT(kernels().Load32(stream, Granules(6, 2).base, result()), IsOk());
    ASSERT_THAT(ReadResult<uint32_t>(), IsOkAndHolds(round));
    ASSERT_THAT(vmm().Unmap(Granules(6, 2)), IsOk());
    ASSERT_THAT(vmm().Release(fresh), IsOk());
  }
}

CONFORMANCE_TEST(KernelTest, KERNEL_4, RefusesWhatIsNotPtx) {
  if (!LoadKernels()) return;
  EXPECT_THAT(executor().LoadModule(device(), "this is no PTX"),
              HasDriverCode(DriverCode::kInvalidImage));
  const auto broken =
      executor().LoadModule(device(), ".version 7.5\n.target sm_70\n.address_size 64\nnonsense\n");
  EXPECT_THAT(broken, HasDriverCode(DriverCode::kInvalidPtx));
  EXPECT_THAT(std::string(broken.status().message()), ::testing::HasSubstr("nonsense"));
}

CONFORMANCE_TEST(KernelTest, KERNEL_5, AMissingKernelIsNotFound) {
  if (!LoadKernels()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Module module,
                               executor().LoadModule(device(), Kernels::PtxTexts()[0]));
  EXPECT_THAT(executor().GetKernel(module, "no_such_kernel"), HasDriverCode(DriverCode::kNotFound));
  EXPECT_THAT(executor().UnloadModule(module), IsOk());
}

CONFORMANCE_TEST(KernelTest, KERNEL_6, RefusesAnEmptyGridAndAnEmptyBlock) {
  if (!LoadKernels()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Module module, executor().LoadModule(device(),
                                                 ".version 7.5\n.target sm_70\n.address_size 64\n"
                                                 ".visible .entry nothing() { ret; }\n"));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Kernel nothing, executor().GetKernel(module, "nothing"));
  const Stream stream(device());
  LaunchConfig config;
  EXPECT_THAT(executor().Launch(stream, nothing, config, {}), IsOk());
  config.grid.x = 0;
  EXPECT_THAT(executor().Launch(stream, nothing, config, {}),
              HasDriverCode(DriverCode::kInvalidValue));
  config = LaunchConfig();
  config.block.y = 0;
  EXPECT_THAT(executor().Launch(stream, nothing, config, {}),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().SynchronizeDevice(device()), IsOk());
  EXPECT_THAT(executor().UnloadModule(module), IsOk());
}

CONFORMANCE_TEST(KernelTest, KERNEL_7, WorksInHostMemory) {
  if (!LoadKernels()) return;
  const auto host = vmm().Create(2 * granule(), properties(Location::HostNuma(0)));
  if (!IsHostMemoryCreated(Location::HostNuma(0), host.status())) return;
  const AddressRange range = Granules(4, 2);
  ASSERT_THAT(MapGranted(range, *host), IsOk());
  ASSERT_THAT(kernels().Fill(Stream(device()), range, 7), IsOk());
  ExpectVerified(Stream(device()), range, 7);
  ExpectHolds(range, 7);
}

namespace {

// Several mappings, one behind the other, that together are as large as given.
class LargeTest : public KernelTest {
 protected:
  void MapLarge(Bytes size, uint64_t pieces) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(large_, vmm().AddressReserve(size));
    const Bytes piece(size.value() / pieces);
    for (Bytes at; at < size; at = at + piece) {
      ASSERT_THAT(MapNew(large_.subrange(at, piece)), IsOk());
    }
    ASSERT_THAT(Grant(large_, Access::kReadWrite), IsOk());
  }
  const AddressRange& large() const { return large_; }

 private:
  AddressRange large_;
};

}  // namespace

CONFORMANCE_TEST(LargeTest, KERNEL_8, FillsAndVerifiesGigabytes) {
  if (!LoadKernels()) return;
  // More than a thread for each 16 bytes: threads make several rounds.
  const Bytes some = 12 * granule();
  ASSERT_NO_FATAL_FAILURE(MapLarge(traits().interprets_kernels ? some : GiB(4), 4));
  const Stream stream(device());
  ASSERT_THAT(kernels().Fill(stream, large(), 8), IsOk());
  ExpectVerified(stream, large(), 8);
  // What the CPU gets from the last word, and what is noticed when it is another.
  const uint64_t last = large().size / Bytes(4) - 1;
  const DeviceAddress at = large().base + last * Bytes(4);
  uint32_t word = 0;
  ASSERT_THAT(executor().CopyDeviceToHost(device(), &word, at, Bytes(4)), IsOk());
  EXPECT_EQ(word, FillWord(8, last));
  ASSERT_THAT(kernels().Store32(stream, at, ~word), IsOk());
  ASSERT_THAT(kernels().Verify(stream, large(), 8, result()), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const VerifyResult changed, ReadResult<VerifyResult>());
  EXPECT_EQ(changed.mismatches, 1u);
  EXPECT_EQ(changed.first_index, last);
  // Each word is looked at, and once: where all are 0, none is as it should be, or one.
  const uint64_t words = some / Bytes(4);
  ASSERT_THAT(executor().Fill(device(), large().base, {0, Bytes(4)}, words), IsOk());
  ASSERT_THAT(kernels().Verify(stream, large().subrange(Bytes(0), some), 8, result()), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const VerifyResult zeros, ReadResult<VerifyResult>());
  EXPECT_THAT(zeros.mismatches, ::testing::AnyOf(words, words - 1));
}

CONFORMANCE_TEST(KernelTest, KERNEL_9, TheFirstKernelUsesARaisedRight) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapTheRest());  // the results lie elsewhere
  ExpectInChild([this](ChildChecks& checks) {
    const Stream stream(device());
    for (uint32_t round = 1; round <= 20; ++round) {
      checks.Expect("lower", Grant(mapping(), Access::kRead));
      checks.Expect("load", kernels().Load32(stream, mapping().base, result()));
      checks.Expect("synchronise", executor().SynchronizeDevice(device()));
      checks.Expect("raise", Grant(mapping(), Access::kReadWrite));
      checks.Expect("store", kernels().Store32(stream, mapping().base, round));
      checks.Expect("load again", kernels().Load32(stream, mapping().base, result()));
      checks.ExpectValue("word", ReadResult<uint32_t>(), round);
    }
  });
}

CONFORMANCE_TEST(KernelTest, KERNEL_10, TheFirstKernelSeesAnotherAllocation) {
  if (!LoadKernels()) return;
  constexpr uint32_t kCount = 3;
  const AddressRange place = Granules(6, 2);
  const Stream stream(device());
  std::vector<AllocationHandle> handles;
  for (uint32_t i = 0; i < kCount; ++i) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                                 vmm().Create(2 * granule(), properties()));
    handles.push_back(handle);
  }
  // The first time around, what a kernel stores is the data; later it has to be there.
  for (uint32_t round = 0; round < 10 * kCount; ++round) {
    const uint32_t which = round % kCount;
    ASSERT_THAT(MapGranted(place, handles[which]), IsOk());
    const uint32_t data = 100 + which;
    if (round < kCount) {
      ASSERT_THAT(kernels().Store32(stream, place.base, data), IsOk());
    }
    ASSERT_THAT(kernels().Load32(stream, place.base, result()), IsOk());
    ASSERT_THAT(ReadResult<uint32_t>(), IsOkAndHolds(data));
    ASSERT_THAT(vmm().Unmap(place), IsOk());
  }
}

CONFORMANCE_TEST(QueuedWorkTest, KERNEL_11, RunInOrderWithCopies) {
  if (!LoadKernels()) return;
  const AddressRange kept = Granules(5, 1);
  const AddressRange behind = Granules(6, 1);
  ASSERT_THAT(KeepBusy(stream()), IsOk());
  ASSERT_THAT(FillAll(stream(), memory(), 1), IsOk());
  ASSERT_THAT(executor().CopyDeviceToDevice(stream(), behind.base, memory().base, behind.size),
              IsOk());
  ASSERT_THAT(kernels().Fill(stream(), memory(), 11), IsOk());
  ASSERT_THAT(executor().CopyDeviceToDevice(stream(), kept.base, memory().base, kept.size), IsOk());
  ASSERT_THAT(kernels().Fill(stream(), memory(), 12), IsOk());
  ExpectVerified(stream(), kept, 11);
  ExpectFilled(behind, 1);
  ExpectHolds(kept, 11);
  ExpectHolds(memory(), 12);
}

CONFORMANCE_TEST(QueuedWorkTest, KERNEL_12, AnEventOrdersKernelsAndCopies) {
  if (!LoadKernels()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream other, executor().CreateStream(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event event, executor().CreateEvent(device()));
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    ASSERT_THAT(KeepBusy(stream()), IsOk());
    ASSERT_THAT(kernels().Fill(stream(), memory(), seed), IsOk());
    ASSERT_THAT(executor().RecordEvent(event, stream()), IsOk());
    ASSERT_THAT(executor().WaitEvent(other, event), IsOk());
    ASSERT_THAT(executor().CopyDeviceToDevice(other, spare().base, memory().base, spare().size),
                IsOk());
    ASSERT_THAT(executor().RecordEvent(event, other), IsOk());
    ASSERT_THAT(executor().WaitEvent(stream(), event), IsOk());
    ExpectVerified(stream(), spare(), seed);
  }
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
  EXPECT_THAT(executor().DestroyStream(other), IsOk());
}

CONFORMANCE_TEST(QueuedWorkTest, KERNEL_13, TheDefaultStreamOrdersKernelsAndCopies) {
  if (!LoadKernels()) return;
  const Stream by_default(device());
  ASSERT_THAT(KeepBusy(by_default), IsOk());
  ASSERT_THAT(kernels().Fill(by_default, memory(), 21), IsOk());
  ExpectHolds(memory(), 21);
  ASSERT_THAT(KeepBusy(by_default), IsOk());
  ASSERT_THAT(executor().Fill(device(), memory().base, {5, Bytes(1)}, memory().size.value()),
              IsOk());
  ASSERT_THAT(executor().CopyDeviceToDevice(device(), spare().base, memory().base, spare().size),
              IsOk());
  ASSERT_THAT(kernels().Fill(by_default, memory(), 22), IsOk());
  ExpectHolds(memory(), 22);
  ExpectFilled(spare(), 5);
}

CONFORMANCE_TEST(KernelTest, KERNEL_14, NoAtomicAdditionIsLost) {
  if (!LoadKernels()) return;
  const Stream stream(device());
  ASSERT_THAT(kernels().Store32(stream, work().base, 7), IsOk());
  ASSERT_THAT(kernels().Count(stream, work().base, work().base, 64, 64), IsOk());
  ASSERT_THAT(kernels().Load32(stream, work().base, result()), IsOk());
  EXPECT_THAT(ReadResult<uint32_t>(), IsOkAndHolds(7u + 64 * Kernels::kThreadsPerBlock * 64));
}

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

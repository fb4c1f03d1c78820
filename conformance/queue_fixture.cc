#include "conformance/queue_fixture.h"

#include <vector>

namespace twinmmu::conformance {

void QueuedWorkTest::SetUp() {
  KernelTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_NO_FATAL_FAILURE(MapTheRest());
  if (!LoadKernels()) {
    ASSERT_FALSE(HasFailure());
    GTEST_SKIP() << "the driver is too old for the kernels";
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(stream_, executor().CreateStream(device()));
  // The first of its kind may wait for the device, to load what it needs.
  ASSERT_THAT(FillAll(stream_, memory(), 0), IsOk());
  ASSERT_THAT(executor().CopyDeviceToDevice(stream_, spare().base, memory().base, granule()),
              IsOk());
  ASSERT_THAT(executor().SynchronizeStream(stream_), IsOk());
}

void QueuedWorkTest::TearDown() {
  if (stream_.value() != 0) {
    EXPECT_THAT(executor().SynchronizeDevice(device()), IsOk());
    EXPECT_THAT(executor().DestroyStream(stream_), IsOk());
  }
  KernelTest::TearDown();
}

absl::Status QueuedWorkTest::KeepBusy(Stream stream) {
  if (traits().work_timing != WorkTiming::kWhenever) return absl::OkStatus();
  // Tenths of a second: the calls of a test behind it take some milliseconds.
  constexpr uint64_t kRounds = 200000;
  const DeviceAddress word = Granules(4, 1).base;
  return kernels().AliasWriteThenRead(stream, word, word, kRounds, false, true, word + Bytes(64));
}

QueuedWorkTest::Certainty QueuedWorkTest::certainty() const {
  switch (traits().work_timing) {
    case WorkTiming::kAtTheCall:
      return Certainty::kDone;
    case WorkTiming::kAtTheLatestMoment:
      return Certainty::kQueued;
    case WorkTiming::kWhenever:
      break;
  }
  return Certainty::kQueued;
}

void QueuedWorkTest::ExpectQueued(Stream stream) {
  const absl::StatusOr<bool> done = executor().QueryStream(stream);
  ASSERT_THAT(done, IsOk());
  EXPECT_EQ(*done, certainty() == Certainty::kDone);
}

DriverCode QueuedWorkTest::Fate() const {
  return certainty() == Certainty::kQueued ? DriverCode::kIllegalAddress : DriverCode::kSuccess;
}

absl::Status QueuedWorkTest::FillAll(Stream stream, const AddressRange& range, uint32_t byte) {
  return executor().Fill(stream, range.base, {byte, Bytes(1)}, range.size.value());
}

void QueuedWorkTest::ExpectFilled(const AddressRange& range, uint8_t byte) {
  std::vector<uint8_t> bytes(range.size.value());
  ASSERT_THAT(executor().CopyDeviceToHost(device(), bytes.data(), range.base, range.size), IsOk());
  ExpectAllBytes(bytes, byte);
}

void QueuedWorkTest::CheckContext(ChildChecks& checks, DriverCode expected) {
  uint32_t word = 0;
  const DeviceAddress at = spare().base;
  checks.Expect("synchronise stream", executor().SynchronizeStream(stream()), expected);
  checks.Expect("synchronise device", executor().SynchronizeDevice(device()), expected);
  checks.Expect("copy", executor().CopyDeviceToHost(device(), &word, at, Bytes(4)), expected);
  checks.Expect("fill", executor().Fill(Stream(device()), at, {}, 4), expected);
  checks.Expect("create stream", executor().CreateStream(device()).status(), expected);
  checks.Expect("create event", executor().CreateEvent(device()).status(), expected);
  checks.Expect("memory info", vmm().GetMemoryInfo(device()).status(), expected);
  checks.Expect("address range", vmm().GetAddressRange(device(), at).status(), expected);
  constexpr DriverCode kFine = DriverCode::kSuccess;
  checks.Expect("get access", vmm().GetAccess(here(), at).status(), kFine);
  checks.Expect("set access", Grant(Granules(4, 4), Access::kRead), kFine);
  checks.Expect("unmap", vmm().Unmap(Granules(4, 4)), kFine);
}

}  // namespace twinmmu::conformance

// Streams and events, and threads.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "conformance/registry.h"

namespace twinmmu::conformance {

CONFORMANCE_TEST(MappedTest, STREAM_1, ASynchronisedStreamIsDone) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  ASSERT_THAT(executor().Fill(stream, mapping().base, {0x5a, Bytes(1)}, mapping().size.value()),
              IsOk());
  ASSERT_THAT(executor().SynchronizeStream(stream), IsOk());
  EXPECT_THAT(executor().QueryStream(stream), IsOkAndHolds(true));
  uint8_t last = 0;
  ASSERT_THAT(executor().CopyDeviceToHost(device(), &last, mapping().end() - Bytes(1), Bytes(1)),
              IsOk());
  EXPECT_EQ(last, 0x5a);
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

CONFORMANCE_TEST(MappedTest, STREAM_2, AnEventOrdersTwoStreams) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream writer, executor().CreateStream(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream reader, executor().CreateStream(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event written, executor().CreateEvent(device()));
  std::vector<uint8_t> bytes(mapping().size.value());
  for (uint32_t round = 1; round <= 8; ++round) {
    ASSERT_THAT(executor().Fill(writer, mapping().base, {round, Bytes(1)}, mapping().size.value()),
                IsOk());
    ASSERT_THAT(executor().RecordEvent(written, writer), IsOk());
    ASSERT_THAT(executor().WaitEvent(reader, written), IsOk());
    ASSERT_THAT(executor().CopyDeviceToHost(reader, bytes.data(), mapping().base, mapping().size),
                IsOk());
    ASSERT_THAT(executor().SynchronizeStream(reader), IsOk());
    ExpectAllBytes(bytes, static_cast<uint8_t>(round));
    EXPECT_THAT(executor().QueryEvent(written), IsOkAndHolds(true));
    EXPECT_THAT(executor().SynchronizeEvent(written), IsOk());
  }
  EXPECT_THAT(executor().DestroyEvent(written), IsOk());
  EXPECT_THAT(executor().DestroyStream(reader), IsOk());
  EXPECT_THAT(executor().DestroyStream(writer), IsOk());
}

CONFORMANCE_TEST(DeviceTest, STREAM_3, AnEventNeverRecordedIsDone) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event event, executor().CreateEvent(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  EXPECT_THAT(executor().QueryEvent(event), IsOkAndHolds(true));
  EXPECT_THAT(executor().SynchronizeEvent(event), IsOk());
  EXPECT_THAT(executor().WaitEvent(stream, event), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(stream), IsOk());
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
}

CONFORMANCE_TEST(MappedTest, STREAM_4, RefusesAnUnknownDevice) {
  const DeviceOrdinal bad(9999);
  uint64_t word = 0;
  EXPECT_THAT(executor().CreateStream(bad), HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(executor().CreateEvent(bad), HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(executor().SynchronizeDevice(bad), HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(executor().CopyDeviceToHost(bad, &word, mapping().base, Bytes(8)),
              HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(executor().Fill(bad, mapping().base, {}, 8),
              HasDriverCode(DriverCode::kInvalidDevice));
}

namespace {

// What one thread does, on its own reservation and allocation; the first error, or OK.
absl::Status MapAndUnmapOften(Vmm& vmm, Executor& executor, Bytes granule, uint32_t seed) {
  const absl::StatusOr<AddressRange> range = vmm.AddressReserve(granule);
  if (!range.ok()) return range.status();
  const absl::StatusOr<AllocationHandle> handle = vmm.Create(granule, AllocationProperties());
  if (!handle.ok()) return handle.status();
  absl::Status status;
  const DeviceOrdinal device(0);
  const AccessGrant grant{Location::Device(device), Access::kReadWrite};
  for (uint32_t round = 0; round < 50; ++round) {
    status.Update(vmm.Map(*range, *handle));
    status.Update(vmm.SetAccess(*range, absl::MakeConstSpan(&grant, 1)));
    uint32_t word = seed + round;
    status.Update(executor.CopyHostToDevice(device, range->base, &word, Bytes(4)));
    word = 0;
    status.Update(executor.CopyDeviceToHost(device, &word, range->base, Bytes(4)));
    if (status.ok() && word != seed + round) status = absl::InternalError("read another's data");
    status.Update(vmm.Unmap(*range));
  }
  status.Update(vmm.Release(*handle));
  status.Update(vmm.AddressFree(*range));
  return status;
}

}  // namespace

CONFORMANCE_TEST(ConformanceTest, THREAD_1, PrivateRangesDoNotDisturbEachOther) {
  constexpr size_t kThreads = 4;
  std::vector<absl::Status> results(kThreads);
  std::vector<std::thread> threads;
  std::atomic<size_t> ready = 0;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, &results, &ready, i] {
      for (++ready; ready < kThreads;) std::this_thread::yield();
      results[i] =
          MapAndUnmapOften(unbooked_vmm(), executor(), granule(), static_cast<uint32_t>(i) << 16);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, ::testing::Each(IsOk()));
}

}  // namespace twinmmu::conformance

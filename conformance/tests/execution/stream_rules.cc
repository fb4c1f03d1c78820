// Streams and events.

#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/fixtures/child_checks.h"
#include "conformance/fixtures/queue_fixture.h"
#include "conformance/framework/registry.h"

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

CONFORMANCE_TEST(QueuedWorkTest, STREAM_5, TheDefaultStreamHasManyNames) {
  const DeviceAddress at = memory().base;
  const DeviceAddress kept = spare().base;
  uint32_t expected = 1;
  ASSERT_THAT(executor().Fill(device(), at, {expected, Bytes(4)}, 1), IsOk());
  for (const uint64_t name : {0, 1, 2}) {  // CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
    SCOPED_TRACE(name);
    const Stream named(device(), name);
    ASSERT_THAT(executor().CopyDeviceToDevice(named, kept, at, Bytes(4)), IsOk());
    ASSERT_THAT(executor().Fill(named, at, {expected + 1, Bytes(4)}, 1), IsOk());
    ASSERT_THAT(executor().CopyDeviceToDevice(device(), at + Bytes(8), at, Bytes(4)), IsOk());
    ASSERT_THAT(executor().Fill(device(), at, {expected + 2, Bytes(4)}, 1), IsOk());
    uint32_t seen = 0;
    ASSERT_THAT(executor().CopyDeviceToHost(device(), &seen, kept, Bytes(4)), IsOk());
    EXPECT_EQ(seen, expected);
    ASSERT_THAT(executor().CopyDeviceToHost(device(), &seen, at + Bytes(8), Bytes(4)), IsOk());
    EXPECT_EQ(seen, expected + 1);
    expected += 2;
  }
}

CONFORMANCE_TEST(QueuedWorkTest, STREAM_6, StreamsDoNotWaitForTheDefaultStream) {
  const Stream by_default(device());
  for (const auto& [busy, free] :
       {std::pair(by_default, stream()), std::pair(stream(), by_default)}) {
    ASSERT_THAT(KeepBusy(busy), IsOk());
    ASSERT_THAT(FillAll(busy, memory(), 1), IsOk());
    ASSERT_THAT(FillAll(free, spare(), 2), IsOk());
    ASSERT_THAT(executor().SynchronizeStream(free), IsOk());
    EXPECT_THAT(executor().QueryStream(free), IsOkAndHolds(true));
    ExpectQueued(busy);
    ASSERT_THAT(executor().SynchronizeStream(busy), IsOk());
    ExpectFilled(spare(), 2);
    ExpectFilled(memory(), 1);
    ASSERT_THAT(FillAll(free, memory(), 0), IsOk());
    ASSERT_THAT(FillAll(free, spare(), 0), IsOk());
    ASSERT_THAT(executor().SynchronizeStream(free), IsOk());
  }
}

CONFORMANCE_TEST(QueuedWorkTest, STREAM_7, AnEventStandsForTheWorkBeforeIt) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event event, executor().CreateEvent(device()));
  ASSERT_THAT(FillAll(stream(), memory(), 1), IsOk());
  ASSERT_THAT(executor().RecordEvent(event, stream()), IsOk());
  ASSERT_THAT(KeepBusy(stream()), IsOk());
  ASSERT_THAT(FillAll(stream(), spare(), 2), IsOk());
  ASSERT_THAT(executor().SynchronizeEvent(event), IsOk());
  EXPECT_THAT(executor().QueryEvent(event), IsOkAndHolds(true));
  ExpectFilled(memory(), 1);
  ExpectQueued(stream());
  ASSERT_THAT(FillAll(stream(), spare(), 3), IsOk());
  ASSERT_THAT(executor().RecordEvent(event, stream()), IsOk());
  ASSERT_THAT(executor().SynchronizeEvent(event), IsOk());
  ExpectFilled(spare(), 3);
  EXPECT_THAT(executor().QueryStream(stream()), IsOkAndHolds(true));
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
}

CONFORMANCE_TEST(QueuedWorkTest, STREAM_8, AWaitKeepsToItsRecord) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event event, executor().CreateEvent(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream reader, executor().CreateStream(device()));
  ASSERT_THAT(FillAll(stream(), memory(), 1), IsOk());
  ASSERT_THAT(executor().RecordEvent(event, stream()), IsOk());
  ASSERT_THAT(executor().WaitEvent(reader, event), IsOk());
  ASSERT_THAT(executor().CopyDeviceToDevice(reader, spare().base, memory().base, spare().size),
              IsOk());
  ASSERT_THAT(KeepBusy(stream()), IsOk());
  ASSERT_THAT(FillAll(stream(), Granules(2, 1), 2), IsOk());
  ASSERT_THAT(executor().RecordEvent(event, stream()), IsOk());
  ASSERT_THAT(executor().SynchronizeStream(reader), IsOk());
  ExpectQueued(stream());
  ExpectFilled(spare(), 1);
  ASSERT_THAT(executor().SynchronizeEvent(event), IsOk());
  ExpectFilled(Granules(2, 1), 2);
  EXPECT_THAT(executor().DestroyStream(reader), IsOk());
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
}

CONFORMANCE_TEST(QueuedWorkTest, STREAM_9, ADestroyedStreamFinishes) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream other, executor().CreateStream(device()));
  ASSERT_THAT(KeepBusy(other), IsOk());
  ASSERT_THAT(FillAll(other, memory(), 9), IsOk());
  ASSERT_THAT(executor().DestroyStream(other), IsOk());
  ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
  ExpectFilled(memory(), 9);
}

CONFORMANCE_TEST(QueuedWorkTest, STREAM_10, ASynchronisedDeviceIsDone) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream other, executor().CreateStream(device()));
  ASSERT_THAT(KeepBusy(other), IsOk());
  ASSERT_THAT(FillAll(other, spare(), 3), IsOk());
  ASSERT_THAT(FillAll(stream(), memory(), 4), IsOk());
  ASSERT_THAT(executor().Fill(device(), Granules(2, 1).base, {5, Bytes(1)}, granule().value()),
              IsOk());
  ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
  for (const Stream each : {other, stream(), Stream(device())}) {
    EXPECT_THAT(executor().QueryStream(each), IsOkAndHolds(true));
  }
  ExpectFilled(spare(), 3);
  ExpectFilled(memory(), 4);
  ExpectFilled(Granules(2, 1), 5);
  EXPECT_THAT(executor().DestroyStream(other), IsOk());
}

CONFORMANCE_TEST(QueuedWorkTest, STREAM_11, QueriesEndInYes) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event event, executor().CreateEvent(device()));
  ASSERT_THAT(KeepBusy(stream()), IsOk());
  ASSERT_THAT(FillAll(stream(), memory(), 1), IsOk());
  ASSERT_THAT(executor().RecordEvent(event, stream()), IsOk());
  ASSERT_THAT(FillAll(stream(), memory(), 2), IsOk());
  ExpectQueued(stream());
  // Yes stays yes. The number is far beyond what a kernel of tenths of a second needs.
  const auto ask = [](const auto& query) {
    absl::StatusOr<bool> done = query();
    for (int i = 0; i < 10000000 && done.ok() && !*done; ++i) done = query();
    EXPECT_THAT(done, IsOkAndHolds(true));
    EXPECT_THAT(query(), IsOkAndHolds(true));
  };
  ask([&] { return executor().QueryEvent(event); });
  ask([&] { return executor().QueryStream(stream()); });
  ExpectFilled(memory(), 2);
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
}

CONFORMANCE_TEST(QueuedWorkTest, STREAM_12, VirtualMemoryCallsDoNotWait) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange other, vmm().AddressReserve(granule()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle unused,
                               vmm().Create(granule(), properties()));
  ASSERT_THAT(vmm().Map(other, unused), IsOk());
  ASSERT_THAT(KeepBusy(stream()), IsOk());
  ASSERT_THAT(FillAll(stream(), memory(), 6), IsOk());
  EXPECT_THAT(vmm().Release(handle()), IsOk());
  EXPECT_THAT(Grant(other, Access::kReadWrite), IsOk());
  EXPECT_THAT(vmm().Unmap(other), IsOk());
  EXPECT_THAT(vmm().Release(unused), IsOk());
  EXPECT_THAT(vmm().AddressFree(other), IsOk());
  ExpectQueued(stream());
  EXPECT_THAT(executor().SynchronizeStream(stream()), IsOk());
  ExpectFilled(memory(), 6);
}

CONFORMANCE_TEST(MappedTest, STREAM_13, ADestroyedStreamIsRefusedOrEndsTheProcess) {
  constexpr char kLegalPartDone[] = "the legal part is done";
  for (const bool invented : {false, true}) {
    SCOPED_TRACE(invented ? "invented" : "destroyed");
    ExpectInChildOrEnd(kLegalPartDone, [&](ChildChecks& checks) {
      Stream stream(device(), 0x12345670);
      if (!invented) {
        const auto created = executor().CreateStream(device());
        checks.Expect("create", created.status());
        checks.Expect("destroy", executor().DestroyStream(*created));
        stream = *created;
      }
      std::cerr << kLegalPartDone << std::endl;
      const absl::Status filled = executor().Fill(stream, mapping().base, {}, 16);
      checks.Expect("fill", filled, DriverCode::kInvalidHandle);
      checks.Expect("write elsewhere", Write(mapping(), 13));
    });
  }
}

}  // namespace twinmmu::conformance

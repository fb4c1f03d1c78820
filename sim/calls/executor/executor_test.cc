// Copies, fills, streams, events, and the kernels that there are not.

#include <cstring>
#include <vector>

#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ExecutorTest = MachineTest;
constexpr auto kInvalid = DriverCode::kInvalidValue;

// A copy crosses the border between two mappings.
TEST_F(ExecutorTest, CopiesAcrossMappings) {
  const AddressRange range = Reserve(2);
  MapNew(range.base, 1);
  MapNew(range.base + kGranule, 1);
  Grant(range, For(kDevice0, Access::kReadWrite));
  const DeviceAddress border = range.base + kGranule - Bytes(2);
  EXPECT_THAT(Write(kDevice0, border, 0x12345678), IsOk());
  EXPECT_THAT(Read(kDevice0, border), IsOkAndHolds(0x12345678u));
  EXPECT_THAT(executor().CopyDeviceToDevice(kDevice0, range.base, border, Bytes(4)), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(0x12345678u));
}

// Writing needs read-write, reading needs read, of the device that does it.
TEST_F(ExecutorTest, NeedsTheAccessOfTheActingDevice) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  EXPECT_THAT(Read(kDevice0, range.base), HasDriverCode(kInvalid));
  Grant(range, For(kDevice0, Access::kRead));
  EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(0u));
  EXPECT_THAT(Write(kDevice0, range.base, 1), HasDriverCode(kInvalid));
  EXPECT_THAT(Read(kDevice1, range.base), HasDriverCode(kInvalid));
  Grant(range, For(kDevice1, Access::kReadWrite));
  EXPECT_THAT(Write(kDevice1, range.base, 2), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(2u));
}

// A range that is not accessible to its end is refused before a byte is written.
TEST_F(ExecutorTest, WritesNothingOfARangeWithAHole) {
  const AddressRange range = Reserve(3);
  MapNew(range.base, 1);
  MapNew(range.base + 2 * kGranule, 1);
  Grant(At(range.base, kGranule), For(kDevice0, Access::kReadWrite));
  Grant(At(range.base + 2 * kGranule, kGranule), For(kDevice0, Access::kReadWrite));
  const std::vector<char> data(range.size.value(), 'x');
  EXPECT_THAT(executor().CopyHostToDevice(kDevice0, range.base, data.data(), range.size),
              HasDriverCode(kInvalid));
  EXPECT_THAT(executor().Fill(kDevice0, range.base, {7, Bytes(1)}, range.size.value()),
              HasDriverCode(kInvalid));
  EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(0u));
}

// Ranges that wrap, huge ones and null pointers are refused; nothing at all is always fine.
TEST_F(ExecutorTest, RefusesImpossibleRanges) {
  const AddressRange range = Ready(1);
  char byte = 0;
  EXPECT_THAT(executor().CopyHostToDevice(kDevice0, range.base, &byte, Bytes(0) - Bytes(8)),
              HasDriverCode(kInvalid));
  EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, &byte, range.base, GiB(1 << 20)),
              HasDriverCode(kInvalid));
  EXPECT_THAT(executor().CopyHostToDevice(kDevice0, range.base, nullptr, Bytes(4)),
              HasDriverCode(kInvalid));
  EXPECT_THAT(executor().CopyHostToDevice(kDevice0, DeviceAddress(0), nullptr, Bytes(0)), IsOk());
  EXPECT_THAT(executor().Fill(kDevice0, DeviceAddress(0), {}, 0), IsOk());
}

// A host pointer into the window is memory of the machine: it needs the access of the device, or
// that of the host.
TEST_F(ExecutorTest, ProtectsTheWindowFromHostPointers) {
  if (!profile().window.claimed) GTEST_SKIP() << "needs a claimed window";
  const AddressRange device = Ready(1);
  const AddressRange closed = Reserve(1);
  MapNew(closed.base, 1);
  const AddressRange host = Reserve(1);
  MapNew(host.base, 1, On(Location::Host()));
  const auto from = [&](DeviceAddress source) {
    return executor().CopyHostToDevice(kDevice0, device.base + KiB(4),
                                       reinterpret_cast<const void*>(source.value()), Bytes(4));
  };
  EXPECT_THAT(from(device.base), IsOk());
  EXPECT_THAT(from(closed.base), HasDriverCode(kInvalid));
  EXPECT_THAT(from(device.end()), HasDriverCode(kInvalid));
  EXPECT_THAT(from(host.base), HasDriverCode(kInvalid));
  Grant(host, ForHost(Access::kRead));
  EXPECT_THAT(from(host.base), IsOk());
}

// Fills repeat a value of 1, 2 or 4 bytes at an address that is a multiple of that.
TEST_F(ExecutorTest, FillsWithPatterns) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(executor().Fill(kDevice0, range.base, {0x1ab, Bytes(1)}, 4), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(0xababababu));
  EXPECT_THAT(executor().Fill(kDevice0, range.base + Bytes(2), {0x1234, Bytes(2)}, 1), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(0x1234ababu));
  EXPECT_THAT(executor().Fill(kDevice0, range.base, {0xdeadbeef, Bytes(4)}, 2), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base + Bytes(4)), IsOkAndHolds(0xdeadbeefu));
  EXPECT_THAT(executor().Fill(kDevice0, range.base + Bytes(2), {1, Bytes(4)}, 1),
              HasDriverCode(kInvalid));
  EXPECT_THAT(executor().Fill(kDevice0, range.base, {1, Bytes(3)}, 1), HasDriverCode(kInvalid));
}

// The byte count of a fill wraps, as the driver's does.
TEST_F(ExecutorTest, FillSizeWraps) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(executor().Fill(kDevice0, range.base, {5, Bytes(4)}, (uint64_t{1} << 62) + 1),
              IsOk());
  EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(5u));
  EXPECT_THAT(Read(kDevice0, range.base + Bytes(4)), IsOkAndHolds(0u));
}

// Memory of the host is reached with the access of the device or with that of the host.
TEST_F(ExecutorTest, ReachesHostMemory) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1, On(Location::HostNuma(0)));
  EXPECT_THAT(Read(kDevice0, range.base), HasDriverCode(kInvalid));
  Grant(range, ForHost(Access::kReadWrite));
  EXPECT_THAT(Write(kDevice0, range.base, 4), IsOk());
  EXPECT_THAT(Read(kDevice1, range.base), IsOkAndHolds(4u));
}

// Work on a stream is done when the call returns; the stream and an event say so.
TEST_F(ExecutorTest, RunsStreamsEagerly) {
  const AddressRange range = Ready(1);
  const Stream stream = *executor().CreateStream(kDevice0);
  const Event event = *executor().CreateEvent(kDevice0);
  const uint32_t value = 21;
  EXPECT_THAT(executor().QueryEvent(event), IsOkAndHolds(true));
  EXPECT_THAT(executor().CopyHostToDevice(stream, range.base, &value, Bytes(4)), IsOk());
  EXPECT_THAT(executor().RecordEvent(event, stream), IsOk());
  EXPECT_THAT(executor().WaitEvent(Stream(kDevice0), event), IsOk());
  EXPECT_THAT(executor().SynchronizeEvent(event), IsOk());
  EXPECT_THAT(executor().QueryStream(stream), IsOkAndHolds(true));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(21u));
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

// Dead, invented and foreign streams and events are invalid handles, never a crash.
TEST_F(ExecutorTest, KnowsDeadStreamsAndEvents) {
  constexpr auto kHandle = DriverCode::kInvalidHandle;
  const Stream stream = *executor().CreateStream(kDevice0);
  const Event event = *executor().CreateEvent(kDevice0);
  EXPECT_THAT(executor().SynchronizeStream(Stream(kDevice1, stream.value())),
              HasDriverCode(kHandle));
  EXPECT_THAT(executor().RecordEvent(event, Stream(kDevice1)), HasDriverCode(kHandle));
  EXPECT_THAT(executor().QueryEvent(Event(kDevice1, event.value())), HasDriverCode(kHandle));
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
  for (const Stream dead : {stream, Stream(kDevice0, 0x1234)}) {
    EXPECT_THAT(executor().QueryStream(dead), HasDriverCode(kHandle));
    EXPECT_THAT(executor().Fill(dead, DeviceAddress(0), {}, 0), HasDriverCode(kHandle));
    EXPECT_THAT(executor().DestroyStream(dead), HasDriverCode(kHandle));
  }
  EXPECT_THAT(executor().QueryEvent(event), HasDriverCode(kHandle));
  EXPECT_THAT(executor().DestroyEvent(Event(kDevice0, 0)), HasDriverCode(kHandle));
  EXPECT_THAT(executor().DestroyStream(Stream(kDevice0)), HasDriverCode(kHandle));
}

// Everything that names a device looks whether there is one.
TEST_F(ExecutorTest, KnowsItsDevices) {
  constexpr auto kDevice = DriverCode::kInvalidDevice;
  const DeviceOrdinal none(2);
  EXPECT_THAT(Write(none, DeviceAddress(0), 1), HasDriverCode(kDevice));
  EXPECT_THAT(executor().CreateStream(none), HasDriverCode(kDevice));
  EXPECT_THAT(executor().CreateEvent(DeviceOrdinal(-1)), HasDriverCode(kDevice));
  EXPECT_THAT(executor().SynchronizeDevice(none), HasDriverCode(kDevice));
}

}  // namespace
}  // namespace twinmmu

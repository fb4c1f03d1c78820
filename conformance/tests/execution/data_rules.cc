// Copies and fills through mapped memory.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iostream>
#include <vector>

#include "conformance/fixtures/child_checks.h"
#include "conformance/fixtures/host_memory_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr char kAboutToCopy[] = "about to copy";

using ::testing::Each;

// Two mappings of 4 granules side by side, read-write.
class TwoMappingsTest : public MappedTest {
 protected:
  void SetUp() override {
    MappedTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    TWINMMU_ASSERT_OK_AND_ASSIGN(second_, vmm().Create(allocation_size(), properties()));
    ASSERT_THAT(MapGranted(Granules(4, 4), second_), IsOk());
  }
  AddressRange second() const { return Granules(4, 4); }
  DeviceAddress seam() const { return second().base; }

 private:
  AllocationHandle second_;
};

// Eight bytes that a refused call must not have touched.
constexpr uint64_t kUntouched = 0x1122334455667788u;

}  // namespace

CONFORMANCE_TEST(TwoMappingsTest, DATA_1, CopiesCrossTheSeam) {
  ASSERT_THAT(Write(reservation(), 1), IsOk());
  ExpectHolds(reservation(), 1);
  const AddressRange across{seam() - KiB(4), KiB(8), Bytes(0)};
  ASSERT_THAT(Write(across, 2), IsOk());
  ExpectHolds(across, 2);
  ExpectHolds({reservation().base, KiB(4), Bytes(0)}, 1);
}

CONFORMANCE_TEST(TwoMappingsTest, DATA_2, FillsCrossTheSeam) {
  const DeviceAddress start = seam() - Bytes(16);
  for (const uint64_t width : {1, 2, 4}) {
    SCOPED_TRACE(width);
    const FillPattern pattern{0xa1b2c3d4u + static_cast<uint32_t>(width), Bytes(width)};
    ASSERT_THAT(executor().Fill(device(), start, pattern, 32 / width), IsOk());
    std::vector<uint8_t> bytes(32);
    ASSERT_THAT(executor().CopyDeviceToHost(device(), bytes.data(), start, Bytes(32)), IsOk());
    for (uint64_t i = 0; i < bytes.size(); ++i) {
      ASSERT_EQ(bytes[i], static_cast<uint8_t>(pattern.value >> (8 * (i % width)))) << "byte " << i;
    }
  }
}

CONFORMANCE_TEST(TwoMappingsTest, DATA_3, CopiesBetweenMappings) {
  ASSERT_THAT(Write(mapping(), 3), IsOk());
  ASSERT_THAT(
      executor().CopyDeviceToDevice(device(), second().base, mapping().base, allocation_size()),
      IsOk());
  ExpectHolds(second(), 3);
}

CONFORMANCE_TEST(TwoMappingsTest, DATA_4, RefusesWithoutARight) {
  ASSERT_THAT(Grant(mapping(), Access::kNone), IsOk());
  uint64_t word = kUntouched;
  const DeviceAddress at = mapping().base;
  EXPECT_THAT(executor().CopyHostToDevice(device(), at, &word, Bytes(8)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().CopyDeviceToHost(device(), &word, at, Bytes(8)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_EQ(word, kUntouched);
  EXPECT_THAT(executor().Fill(device(), at, {}, 8), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().CopyDeviceToDevice(device(), at, seam(), Bytes(8)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().CopyDeviceToDevice(device(), seam(), at, Bytes(8)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().SynchronizeDevice(device()), IsOk());
  ASSERT_THAT(Write(second(), 4), IsOk());
  ExpectHolds(second(), 4);
}

CONFORMANCE_TEST(TwoMappingsTest, DATA_5, ReadOnlyIsReadAndNotWritten) {
  ASSERT_THAT(Write(mapping(), 5), IsOk());
  ASSERT_THAT(Grant(mapping(), Access::kRead), IsOk());
  const uint64_t word = kUntouched;
  const DeviceAddress at = mapping().base;
  EXPECT_THAT(executor().CopyHostToDevice(device(), at, &word, Bytes(8)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().Fill(device(), at, {}, 8), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().CopyDeviceToDevice(device(), at, seam(), Bytes(8)),
              HasDriverCode(DriverCode::kInvalidValue));
  ExpectHolds(mapping(), 5);
  EXPECT_THAT(executor().CopyDeviceToDevice(device(), seam(), at, KiB(4)), IsOk());
  ExpectHolds({seam(), KiB(4), Bytes(0)}, 5);
}

CONFORMANCE_TEST(MappedTest, DATA_6, RefusesToRunIntoAHole) {
  ASSERT_THAT(Write(mapping(), 6), IsOk());
  const DeviceAddress before_the_end = mapping().end() - Bytes(8);
  uint64_t words[2] = {kUntouched, kUntouched};
  EXPECT_THAT(executor().CopyHostToDevice(device(), before_the_end, words, Bytes(16)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().Fill(device(), before_the_end, {}, 16),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().Fill(device(), mapping().base, {}, uint64_t{1} << 40),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().CopyDeviceToHost(device(), words, before_the_end, Bytes(16)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(words, Each(kUntouched));
  EXPECT_THAT(executor().CopyDeviceToDevice(device(), before_the_end, mapping().base, Bytes(16)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().CopyDeviceToDevice(device(), mapping().base, before_the_end, Bytes(16)),
              HasDriverCode(DriverCode::kInvalidValue));
  ExpectHolds(mapping(), 6);
}

CONFORMANCE_TEST(TwoMappingsTest, DATA_7, RefusesAGapOfRightInTheMiddle) {
  ASSERT_THAT(vmm().Unmap(second()), IsOk());
  for (const uint64_t first : {4, 6}) {
    ASSERT_THAT(MapNew(Granules(first, 2)), IsOk());
    ASSERT_THAT(Grant(Granules(first, 2), Access::kReadWrite), IsOk());
  }
  ASSERT_THAT(Write(reservation(), 7), IsOk());
  ASSERT_THAT(Grant(Granules(4, 2), Access::kRead), IsOk());
  EXPECT_THAT(Write(reservation(), 8), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().Fill(device(), reservation().base, {}, reservation().size.value()),
              HasDriverCode(DriverCode::kInvalidValue));
  ExpectHolds(reservation(), 7);
  ASSERT_THAT(Grant(Granules(4, 2), Access::kNone), IsOk());
  std::vector<uint8_t> bytes(reservation().size.value());
  EXPECT_THAT(
      executor().CopyDeviceToHost(device(), bytes.data(), reservation().base, reservation().size),
      HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(MappedTest, DATA_8, RefusesWhatIsNotMapped) {
  ASSERT_THAT(Write(mapping(), 8), IsOk());
  for (const DeviceAddress at :
       {Granules(5, 1).base, reservation().base + TiB(1), DeviceAddress(0), DeviceAddress(4096)}) {
    SCOPED_TRACE(at);
    uint64_t word = kUntouched;
    EXPECT_THAT(executor().CopyHostToDevice(device(), at, &word, Bytes(8)),
                HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(executor().CopyDeviceToHost(device(), &word, at, Bytes(8)),
                HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(executor().Fill(device(), at, {}, 8), HasDriverCode(DriverCode::kInvalidValue));
  }
  ASSERT_THAT(vmm().Unmap(mapping()), IsOk());
  EXPECT_THAT(executor().Fill(device(), mapping().base, {}, 8),
              HasDriverCode(DriverCode::kInvalidValue));
  ASSERT_THAT(MapGranted(mapping(), handle()), IsOk());
  ExpectHolds(mapping(), 8);
}

CONFORMANCE_TEST(MappedTest, DATA_9, NoBytesGoAnywhere) {
  uint64_t word = kUntouched;
  for (const DeviceAddress at : {DeviceAddress(0), mapping().end(), mapping().base}) {
    EXPECT_THAT(executor().CopyHostToDevice(device(), at, &word, Bytes(0)), IsOk());
    EXPECT_THAT(executor().CopyDeviceToHost(device(), &word, at, Bytes(0)), IsOk());
    EXPECT_THAT(executor().Fill(device(), at, {}, 0), IsOk());
    EXPECT_THAT(executor().CopyDeviceToDevice(device(), at, mapping().base, Bytes(0)), IsOk());
  }
  EXPECT_EQ(word, kUntouched);
}

CONFORMANCE_TEST(MappedTest, DATA_10, RefusesAMisalignedFill) {
  ASSERT_THAT(Write(mapping(), 10), IsOk());
  for (const auto& [width, off] : {std::pair(4, 1), std::pair(4, 2), std::pair(2, 1)}) {
    const FillPattern pattern{0, Bytes(static_cast<uint64_t>(width))};
    EXPECT_THAT(
        executor().Fill(device(), mapping().base + Bytes(static_cast<uint64_t>(off)), pattern, 4),
        HasDriverCode(DriverCode::kInvalidValue));
  }
  ExpectHolds(mapping(), 10);
}

CONFORMANCE_TEST(TwoMappingsTest, DATA_11, AStreamRefusesAtTheCall) {
  const uint64_t sent = 0x99aabbccddeeff00u;
  ASSERT_THAT(executor().CopyHostToDevice(device(), mapping().base, &sent, Bytes(8)), IsOk());
  ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
  ASSERT_THAT(Grant(mapping(), Access::kRead), IsOk());
  ASSERT_THAT(Grant(second(), Access::kNone), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  uint64_t word = kUntouched;
  for (const DeviceAddress at : {mapping().base, second().base, second().end() + GiB(512)}) {
    EXPECT_THAT(executor().CopyHostToDevice(stream, at, &word, Bytes(8)),
                HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(executor().Fill(stream, at, {}, 8), HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(executor().CopyDeviceToDevice(stream, at, mapping().base, Bytes(8)),
                HasDriverCode(DriverCode::kInvalidValue));
  }
  EXPECT_THAT(executor().CopyDeviceToHost(stream, &word, second().base, Bytes(8)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_EQ(word, kUntouched);
  EXPECT_THAT(executor().CopyDeviceToHost(stream, &word, mapping().base, Bytes(8)), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(stream), IsOk());
  EXPECT_EQ(word, sent);
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

CONFORMANCE_TEST(TwoMappingsTest, DATA_12, AStreamRunsInOrder) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  const Bytes size = allocation_size();
  std::vector<uint8_t> bytes(size.value());
  for (uint32_t round = 0; round < 8; ++round) {
    const FillPattern pattern{round + 1, Bytes(1)};
    ASSERT_THAT(executor().Fill(stream, mapping().base, pattern, size.value()), IsOk());
    ASSERT_THAT(executor().CopyDeviceToDevice(stream, second().base, mapping().base, size), IsOk());
    ASSERT_THAT(executor().Fill(stream, mapping().base, {}, size.value()), IsOk());
    ASSERT_THAT(executor().CopyDeviceToHost(stream, bytes.data(), second().base, size), IsOk());
    ASSERT_THAT(executor().SynchronizeStream(stream), IsOk());
    ExpectAllBytes(bytes, static_cast<uint8_t>(round + 1));
  }
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

CONFORMANCE_TEST(ConformanceTest, DATA_13, HeadAndTailOfALargeMappingAreApart) {
  const Bytes size = RoundUp(GiB(5), granule());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle large, vmm().Create(size, properties()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(size));
  ASSERT_THAT(MapGranted(range, large), IsOk());
  const AddressRange head = range.subrange(Bytes(0), KiB(64));
  const AddressRange tail = range.subrange(size - KiB(64), KiB(64));
  ASSERT_THAT(Write(head, 13), IsOk());
  // Where an offset of 32 bits would be back at the head.
  const AddressRange beyond = range.subrange(GiB(4), KiB(64));
  ASSERT_THAT(Write(tail, 14), IsOk());
  ASSERT_THAT(Write(beyond, 15), IsOk());
  ExpectHolds(head, 13);
  ExpectHolds(beyond, 15);
  ExpectHolds(tail, 14);
}

CONFORMANCE_TEST(ReservedTest, DATA_14, CopiesCrossManySeamsAtOddOffsets) {
  uint64_t first = 0;
  for (const uint64_t count : {1, 1, 2, 1, 1, 2}) {
    ASSERT_THAT(MapNew(Granules(first, count)), IsOk());
    first += count;
  }
  ASSERT_THAT(Grant(reservation(), Access::kReadWrite), IsOk());
  std::vector<uint8_t> sent(3 * granule().value() + 5);
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint8_t>(i * 31 + (i >> 12));
  const Bytes size(sent.size());
  // Over the seams behind granules 1 and 2, and from there over those behind 5 and 6.
  const DeviceAddress from = Granules(0, 1).base + Bytes(1);
  const DeviceAddress to = Granules(4, 1).base + Bytes(7);
  ASSERT_THAT(executor().CopyHostToDevice(device(), from, sent.data(), size), IsOk());
  ASSERT_THAT(executor().CopyDeviceToDevice(device(), to, from, size), IsOk());
  for (const DeviceAddress copy : {from, to}) {
    std::vector<uint8_t> received(sent.size());
    ASSERT_THAT(executor().CopyDeviceToHost(device(), received.data(), copy, size), IsOk());
    EXPECT_TRUE(received == sent) << "at " << copy;
  }
  std::vector<uint8_t> across(13);
  const DeviceAddress before_the_seam = Granules(2, 1).base - Bytes(5);
  ASSERT_THAT(executor().CopyDeviceToHost(device(), across.data(), before_the_seam, Bytes(13)),
              IsOk());
  const auto expected = sent.begin() + static_cast<std::ptrdiff_t>((2 * granule()).value() - 6);
  EXPECT_TRUE(std::equal(across.begin(), across.end(), expected));
}

CONFORMANCE_TEST(MappedTest, DATA_15, RefusesASizeThatNoMemoryHas) {
  ASSERT_THAT(Write(mapping(), 15), IsOk());
  std::vector<uint8_t> bytes(KiB(4).value());
  const DeviceAddress at = mapping().base;
  for (const int bit : {40, 47, 63}) {
    const Bytes huge(uint64_t{1} << bit);
    SCOPED_TRACE(huge);
    EXPECT_THAT(executor().CopyHostToDevice(device(), at, bytes.data(), huge),
                HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(executor().CopyDeviceToHost(device(), bytes.data(), at, huge),
                HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(executor().CopyDeviceToDevice(device(), at, at + granule(), huge),
                HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(executor().Fill(device(), at, {}, huge.value()),
                HasDriverCode(DriverCode::kInvalidValue));
  }
  EXPECT_THAT(executor().SynchronizeDevice(device()), IsOk());
  ExpectHolds(mapping(), 15);
}

CONFORMANCE_TEST(MappedTest, DATA_16, ARangeThatWrapsIsNoSuccess) {
  std::vector<uint8_t> bytes(KiB(4).value());
  const DeviceAddress at = mapping().base;
  const Bytes wraps = Bytes(0) - granule();
  const std::vector<std::function<absl::Status()>> calls = {
      [&] { return executor().CopyHostToDevice(device(), at, bytes.data(), wraps); },
      [&] { return executor().CopyDeviceToHost(device(), bytes.data(), at, wraps); },
      [&] { return executor().CopyDeviceToDevice(device(), at, at + granule(), wraps); },
      [&] { return executor().Fill(device(), at, {}, wraps.value()); }};
  for (size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectInChildOrEnd(kAboutToCopy, [&](ChildChecks& checks) {
      std::cerr << kAboutToCopy << std::endl;
      const absl::Status called = calls[i]();
      if (called.ok()) {
        checks.Expect("synchronise", executor().SynchronizeDevice(device()),
                      DriverCode::kIllegalAddress);
      } else {
        const bool faults = GetDriverCode(called) == DriverCode::kLaunchFailed;
        checks.Expect("call", called,
                      faults ? DriverCode::kLaunchFailed : DriverCode::kInvalidValue);
      }
    });
  }
}

CONFORMANCE_TEST(MappedTest, DATA_17, RefusesACountWhoseBytesWrap) {
  ASSERT_THAT(Write(mapping(), 17), IsOk());
  const FillPattern words{0, Bytes(4)};
  for (const int bit : {62, 63}) {
    const absl::Status status =
        executor().Fill(device(), mapping().base, words, uint64_t{1} << bit);
    if (Deviates(Deviation::kFillSizeWraps)) {
      EXPECT_THAT(status, IsOk());
    } else {
      EXPECT_THAT(status, HasDriverCode(DriverCode::kInvalidValue));
    }
  }
  ExpectHolds(mapping(), 17);
}

CONFORMANCE_TEST(MappedTest, DATA_23, RefusesACountWhoseBytesWrapToNoneAtABadAddress) {
  const auto fill = [&](DeviceAddress address) {
    return executor().Fill(device(), address, FillPattern{0, Bytes(4)}, uint64_t{1} << 62);
  };
  for (const DeviceAddress address :
       {DeviceAddress(0), mapping().base + Bytes(1), mapping().base + Bytes(2), mapping().end()}) {
    EXPECT_THAT(fill(address), HasDriverCode(DriverCode::kInvalidValue)) << address;
  }
  ASSERT_THAT(Grant(mapping(), Access::kNone), IsOk());
  EXPECT_THAT(fill(mapping().base), HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(HostMemoryTest, DATA_18, CopiesGoByTheRightOfTheHost) {
  ASSERT_THAT(Grant(range(), Access::kReadWrite, kHost), IsOk());
  ASSERT_THAT(Write(half(0), 18), IsOk());
  ASSERT_THAT(Move(half(1), half(0)), IsOk());
  ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
  ASSERT_THAT(Grant(range(), Access::kRead, kHost), IsOk());
  ExpectHolds(half(0), 18);
  ExpectHolds(half(1), 18);
  // What the device may do behind the first mapping does not count.
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange both, vmm().AddressReserve(4 * granule()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                               vmm().RetainAllocationHandle(range().base));
  const AddressRange second = both.subrange(2 * granule(), 2 * granule());
  ASSERT_THAT(vmm().Map(both.subrange(Bytes(0), 2 * granule()), handle), IsOk());
  ASSERT_THAT(vmm().Map(second, handle), IsOk());
  ASSERT_THAT(Grant(both, Access::kReadWrite, kHost), IsOk());
  ASSERT_THAT(Grant(second, Access::kRead), IsOk());
  const AddressRange across{second.base - KiB(4), KiB(8), Bytes(0)};
  ASSERT_THAT(Write(across, 19), IsOk());
  ExpectHolds(across, 19);
}

CONFORMANCE_TEST(HostMemoryTest, DATA_19, ReadOnlyForTheDeviceIsReadOnlyForItsCopies) {
  ASSERT_THAT(Grant(range(), Access::kReadWrite), IsOk());
  ASSERT_THAT(Grant(range(), Access::kReadWrite, kHost), IsOk());
  ASSERT_THAT(Write(range(), 19), IsOk());
  ASSERT_THAT(Grant(range(), Access::kRead), IsOk());
  EXPECT_THAT(Write(range(), 20), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Move(range(), of_device()), HasDriverCode(DriverCode::kInvalidValue));
  ExpectHolds(range(), 19);
}

CONFORMANCE_TEST(HostMemoryTest, DATA_20, AFillNeedsTheRightOfTheDevice) {
  ASSERT_THAT(Grant(range(), Access::kReadWrite, kHost), IsOk());
  ASSERT_THAT(Write(range(), 20), IsOk());
  const auto fill = [&](uint32_t value) {
    return executor().Fill(device(), range().base, FillPattern{value, Bytes(1)},
                           range().size.value());
  };
  EXPECT_THAT(fill(7), HasDriverCode(DriverCode::kInvalidValue));
  ExpectHolds(range(), 20);
  ASSERT_THAT(Grant(range(), Access::kReadWrite), IsOk());
  ASSERT_THAT(fill(7), IsOk());
  std::vector<uint8_t> bytes(range().size.value());
  ASSERT_THAT(executor().CopyDeviceToHost(device(), bytes.data(), range().base, range().size),
              IsOk());
  ExpectAllBytes(bytes, 7);
}

CONFORMANCE_TEST(HostMemoryTest, DATA_24, AFillCrossesToWhatTheHostSees) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange both, vmm().AddressReserve(4 * granule()));
  const AddressRange second = both.subrange(2 * granule(), 2 * granule());
  for (const auto& [to, from] : {std::pair(both.subrange(Bytes(0), 2 * granule()), of_device()),
                                 std::pair(second, range())}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                                 vmm().RetainAllocationHandle(from.base));
    ASSERT_THAT(vmm().Map(to, handle), IsOk());
  }
  ASSERT_THAT(Grant(both, Access::kReadWrite), IsOk());
  const AddressRange across{second.base - KiB(4), KiB(8), Bytes(0)};
  const auto fill = [&](uint32_t value) {
    return executor().Fill(device(), across.base, FillPattern{value, Bytes(1)},
                           across.size.value());
  };
  ASSERT_THAT(fill(5), IsOk()) << "the host has no access yet";
  ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
  ASSERT_THAT(Grant(second, Access::kRead, kHost), IsOk());
  ASSERT_THAT(executor().Fill(device(), second.base, FillPattern{6, Bytes(1)}, 8), IsOk());
  const absl::Status filled = fill(7);
  uint32_t word = 0;
  // Read by the device alone: where the CPU sees a part, a short copy may be its work.
  ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
  ASSERT_THAT(Grant(second, Access::kNone, kHost), IsOk());
  ASSERT_THAT(executor().CopyDeviceToHost(device(), &word, second.base - Bytes(4), Bytes(4)),
              IsOk());
  if (Deviates(Deviation::kFillRefusesWhatTheHostSeesBehindABorder)) {
    EXPECT_THAT(filled, HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_EQ(word, 0x05050505u);
  } else {
    EXPECT_THAT(filled, IsOk());
    EXPECT_EQ(word, 0x07070707u);
  }
}

CONFORMANCE_TEST(HostMemoryTest, DATA_21, ACopyWithoutAnyRightIsNoSuccess) {
  std::vector<uint8_t> bytes(KiB(4).value());
  const Bytes size(bytes.size());
  const std::vector<std::function<absl::Status()>> calls = {
      [&] { return executor().CopyHostToDevice(device(), range().base, bytes.data(), size); },
      [&] { return executor().CopyDeviceToHost(device(), bytes.data(), range().base, size); },
      [&] { return Move(range(), of_device()); }, [&] { return Move(of_device(), range()); }};
  for (size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectInChildOrEnd(kAboutToCopy, [&](ChildChecks& checks) {
      std::cerr << kAboutToCopy << std::endl;
      checks.Expect("copy", calls[i](), DriverCode::kInvalidValue);
    });
  }
}

CONFORMANCE_TEST(HostMemoryTest, DATA_22, ACopyToWhatTheHostMayOnlyReadIsDoneOrEnds) {
  ASSERT_THAT(Grant(range(), Access::kReadWrite), IsOk());
  ASSERT_THAT(Grant(range(), Access::kRead, kHost), IsOk());
  ExpectInChildOrEnd(kAboutToCopy, [&](ChildChecks& checks) {
    std::cerr << kAboutToCopy << std::endl;
    const int sent = 22;
    int received = 0;
    const Bytes size(sizeof(int));
    checks.Expect("copy", executor().CopyHostToDevice(device(), range().base, &sent, size));
    checks.Expect("read", executor().CopyDeviceToHost(device(), &received, range().base, size));
    if (received != sent) checks.Expect("data", absl::DataLossError("lost"));
  });
}

}  // namespace twinmmu::conformance

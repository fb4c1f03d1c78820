// Memory of the host: who may do what with it. What the CPU sees of it is in host.cc.

#include <functional>
#include <iostream>
#include <vector>

#include "conformance/child_checks.h"
#include "conformance/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr Location kHost = Location::HostNuma(0);
constexpr char kAboutToCopy[] = "about to copy";

// Two granules of host NUMA node 0 are mapped, and two of device 0. Nobody has a right to the
// former; device 0 may read and write the latter.
class HostMemoryTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto handle = vmm().Create(2 * granule(), properties(kHost));
    if (!IsHostMemoryCreated(kHost, handle.status())) {
      GTEST_SKIP() << "there is no memory of the host";
    }
    TWINMMU_ASSERT_OK_AND_ASSIGN(range_, vmm().AddressReserve(2 * granule()));
    ASSERT_THAT(vmm().Map(range_, *handle), IsOk());
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle plain,
                                 vmm().Create(2 * granule(), properties()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(of_device_, vmm().AddressReserve(2 * granule()));
    ASSERT_THAT(vmm().Map(of_device_, plain), IsOk());
    ASSERT_THAT(Grant(of_device_, Access::kReadWrite), IsOk());
  }
  const AddressRange& range() const { return range_; }
  AddressRange half(uint64_t number) const {
    return range_.subrange(number * granule(), granule());
  }
  const AddressRange& of_device() const { return of_device_; }
  absl::Status Move(const AddressRange& destination, const AddressRange& source) {
    return executor().CopyDeviceToDevice(device(), destination.base, source.base, source.size);
  }

 private:
  AddressRange range_;
  AddressRange of_device_;
};

}  // namespace

CONFORMANCE_TEST(HostMemoryTest, ACC_24, TheHostHasOneRightUnderAllItsNames) {
  const std::vector<Location> names = {Location::Host(), Location{LocationType::kHost, 7}, kHost,
                                       Location::HostNuma(1000)};
  const auto expect = [&](Access access) {
    for (const Location& name : names) {
      EXPECT_THAT(vmm().GetAccess(name, range().base), IsOkAndHolds(access)) << name;
    }
  };
  for (size_t i = 0; i < names.size(); ++i) {
    SCOPED_TRACE(names[i]);
    ASSERT_THAT(Grant(range(), Access::kRead, names[i]), IsOk());
    expect(Access::kRead);
    ASSERT_THAT(Grant(range(), Access::kReadWrite, names[i]), IsOk());
    expect(Access::kReadWrite);
    ASSERT_THAT(Grant(range(), Access::kNone, names[(i + 1) % names.size()]), IsOk());
    expect(Access::kNone);
  }
}

CONFORMANCE_TEST(HostMemoryTest, ACC_16, MappingByMappingUpToTheUnsupportedGrant) {
  // Memory of the host, then of the device, side by side.
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange both, vmm().AddressReserve(4 * granule()));
  const AddressRange first = both.subrange(Bytes(0), 2 * granule());
  const AddressRange second = both.subrange(2 * granule(), 2 * granule());
  for (const auto& [to, from] : {std::pair(first, range()), std::pair(second, of_device())}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                                 vmm().RetainAllocationHandle(from.base));
    ASSERT_THAT(vmm().Map(to, handle), IsOk());
  }
  const auto expect = [&](const AddressRange& mapping, Access of_device, Access of_host) {
    EXPECT_THAT(vmm().GetAccess(here(), mapping.base), IsOkAndHolds(of_device));
    EXPECT_THAT(vmm().GetAccess(kHost, mapping.base), IsOkAndHolds(of_host));
  };
  const AccessGrant device_reads{here(), Access::kRead};
  const AccessGrant host_writes{kHost, Access::kReadWrite};
  for (const bool host_first : {true, false}) {
    SCOPED_TRACE(host_first);
    ASSERT_THAT(Grant(both, Access::kNone), IsOk());
    ASSERT_THAT(Grant(both, Access::kNone, kHost), IsOk());
    const std::vector<AccessGrant> grants = host_first ? std::vector{host_writes, device_reads}
                                                       : std::vector{device_reads, host_writes};
    EXPECT_THAT(vmm().SetAccess(both, grants), HasDriverCode(DriverCode::kNotSupported));
    if (Deviates(Deviation::kSetAccessAppliesWhatPrecedesAnUnsupportedGrant)) {
      expect(first, Access::kRead, Access::kReadWrite);
      expect(second, host_first ? Access::kNone : Access::kRead, Access::kNone);
    } else {
      expect(first, Access::kNone, Access::kNone);
      expect(second, Access::kNone, Access::kNone);
    }
  }
}

CONFORMANCE_TEST(HostMemoryTest, GETACC_6, TheHostIsAnsweredItsOwnRight) {
  const bool confused = Deviates(Deviation::kHostIsNotToldFromDevice0);
  const auto expect = [&](Access own, Access last) {
    EXPECT_THAT(vmm().GetAccess(kHost, range().base), IsOkAndHolds(own));
    EXPECT_THAT(vmm().GetAccess(Location::Host(), range().base),
                IsOkAndHolds(confused ? last : own));
  };
  ASSERT_THAT(Grant(range(), Access::kRead, kHost), IsOk());
  expect(Access::kRead, Access::kRead);
  ASSERT_THAT(Grant(range(), Access::kReadWrite), IsOk());
  expect(Access::kRead, Access::kReadWrite);
  ASSERT_THAT(Grant(range(), Access::kRead, kHost), IsOk()) << "which is no change";
  expect(Access::kRead, Access::kReadWrite);
  ASSERT_THAT(Grant(range(), Access::kReadWrite, kHost), IsOk());
  ASSERT_THAT(Grant(range(), Access::kRead), IsOk());
  expect(Access::kReadWrite, Access::kRead);
  const AccessGrant grants[] = {{here(), Access::kReadWrite}, {kHost, Access::kRead}};
  ASSERT_THAT(vmm().SetAccess(range(), grants), IsOk());
  expect(Access::kRead, Access::kRead);
  ASSERT_THAT(Grant(range(), Access::kNone), IsOk());
  expect(Access::kRead, Access::kRead);
}

CONFORMANCE_TEST(HostMemoryTest, RANGE_4, HostMemoryHasARange) {
  ASSERT_THAT(Grant(range(), Access::kRead), IsOk());
  const auto found = vmm().GetAddressRange(device(), range().base + granule() + Bytes(5));
  if (Deviates(Deviation::kAddressRangeOfHostMemoryBeginsAtZero)) {
    EXPECT_THAT(found, IsOkAndHolds(AddressRange{DeviceAddress(0), range().size, Bytes(0)}));
  } else {
    EXPECT_THAT(found, IsOkAndHolds(range()));
  }
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
  ASSERT_THAT(fill(5), IsOk()) << "the host has no right yet";
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

CONFORMANCE_TEST(HostMemoryTest, PTR_8, SyncMemopsIsZero) {
  for (const AddressRange& mapped : {range(), of_device()}) {
    for (const Access access : {Access::kNone, Access::kReadWrite}) {
      ASSERT_THAT(Grant(mapped, access), IsOk());
      EXPECT_THAT(vmm().GetPointerAttribute(device(), PointerAttribute::kSyncMemops, mapped.base),
                  IsOkAndHolds(0u));
    }
    EXPECT_THAT(vmm().GetPointerAttribute(device(), PointerAttribute::kMapped, mapped.base),
                IsOkAndHolds(1u));
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
    const auto child = [&] {
      std::cerr << kAboutToCopy << std::endl;
      ChildChecks checks;
      checks.Expect("copy", calls[i](), DriverCode::kInvalidValue);
      checks.Exit();
    };
    EXPECT_EXIT(child(), ChildChecks::PassedOrEnded, kAboutToCopy);
  }
}

CONFORMANCE_TEST(HostMemoryTest, DATA_22, ACopyToWhatTheHostMayOnlyReadIsDoneOrEnds) {
  ASSERT_THAT(Grant(range(), Access::kReadWrite), IsOk());
  ASSERT_THAT(Grant(range(), Access::kRead, kHost), IsOk());
  const auto child = [&] {
    std::cerr << kAboutToCopy << std::endl;
    ChildChecks checks;
    const int sent = 22;
    int received = 0;
    const Bytes size(sizeof(int));
    checks.Expect("copy", executor().CopyHostToDevice(device(), range().base, &sent, size),
                  DriverCode::kSuccess);
    checks.Expect("read", executor().CopyDeviceToHost(device(), &received, range().base, size),
                  DriverCode::kSuccess);
    if (received != sent) checks.Expect("data", absl::DataLossError("lost"), DriverCode::kSuccess);
    checks.Exit();
  };
  EXPECT_EXIT(child(), ChildChecks::PassedOrEnded, kAboutToCopy);
}

}  // namespace twinmmu::conformance

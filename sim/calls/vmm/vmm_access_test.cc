// SetAccess and GetAccess.

#include <array>
#include <random>
#include <vector>

#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::Not;
using AccessTest = MachineTest;
constexpr auto kInvalid = DriverCode::kInvalidValue;
constexpr auto kNotSupported = DriverCode::kNotSupported;
constexpr AccessGrant kReadWrite = For(kDevice0, Access::kReadWrite);

// A new mapping is nobody's, its owner's neither; a grant is for the device that it names.
TEST_F(AccessTest, BeginsWithNobodyAndIsPerDevice) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  EXPECT_EQ(AccessOf(kDevice0, range.base), 0);
  Grant(range, For(kDevice1, Access::kRead));
  EXPECT_EQ(AccessOf(kDevice0, range.base), 0);
  EXPECT_EQ(AccessOf(kDevice1, range.end() - Bytes(1)), 1);
}

// The access ends with the mapping.
TEST_F(AccessTest, EndsWithTheMapping) {
  const AddressRange range = Reserve(1);
  const AllocationHandle handle = MapNew(range.base, 1);
  Grant(range, kReadWrite);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().Map(range, handle), IsOk());
  EXPECT_EQ(AccessOf(kDevice0, range.base), 0);
}

// Several grants in one call all hold, and of two for one device the last.
TEST_F(AccessTest, TakesSeveralGrants) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  const std::array grants{For(kDevice1, Access::kRead), kReadWrite, For(kDevice0, Access::kRead)};
  EXPECT_THAT(vmm().SetAccess(range, grants), IsOk());
  EXPECT_EQ(AccessOf(kDevice0, range.base), 1);
  EXPECT_EQ(AccessOf(kDevice1, range.base), 1);
}

// The range is whole mappings: it begins where one begins and ends where one ends.
TEST_F(AccessTest, CoversWholeMappings) {
  const AddressRange range = Reserve(8);
  MapNew(range.base, 2);
  MapNew(range.base + 2 * kGranule, 2);
  for (const auto& [first, size] : {std::pair{0, 1}, {1, 1}, {0, 3}, {1, 3}, {0, 5}, {4, 1}}) {
    EXPECT_THAT(
        vmm().SetAccess(At(range.base + first * kGranule, size * kGranule), std::array{kReadWrite}),
        HasDriverCode(kInvalid));
  }
  for (const Bytes size : {Bytes(0), kGranule + Bytes(1), Bytes(0) - kGranule}) {
    EXPECT_THAT(vmm().SetAccess(At(range.base, size), std::array{kReadWrite}),
                HasDriverCode(kInvalid));
  }
  EXPECT_EQ(AccessOf(kDevice0, range.base), 0);
  EXPECT_THAT(vmm().SetAccess(At(range.base, 4 * kGranule), std::array{kReadWrite}), IsOk());
  EXPECT_EQ(AccessOf(kDevice0, range.base + 3 * kGranule), 3);
}

// Over a hole the driver reports success, but grants only up to it.
TEST_F(AccessTest, StopsAtAHole) {
  const AddressRange range = Reserve(8);
  MapNew(range.base, 1);
  MapNew(range.base + 2 * kGranule, 1);
  EXPECT_THAT(vmm().SetAccess(At(range.base, 3 * kGranule), std::array{kReadWrite}), IsOk());
  EXPECT_EQ(AccessOf(kDevice0, range.base), 3);
  EXPECT_EQ(AccessOf(kDevice0, range.base + 2 * kGranule), 0);
}

// Accesses and locations that do not exist are found before anything is granted.
TEST_F(AccessTest, ChecksAllGrantsFirst) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  for (const AccessGrant& bad :
       {For(kDevice0, static_cast<Access>(2)), For(DeviceOrdinal(2), Access::kRead),
        For(DeviceOrdinal(-1), Access::kNone),
        AccessGrant{Location::HostNumaCurrent(), Access::kRead},
        AccessGrant{Location{LocationType::kInvalid, 0}, Access::kRead}}) {
    EXPECT_THAT(vmm().SetAccess(range, std::array{kReadWrite, bad}), HasDriverCode(kInvalid));
    EXPECT_EQ(AccessOf(kDevice0, range.base), 0);
  }
  EXPECT_THAT(vmm().SetAccess(range, {}), HasDriverCode(kInvalid));
}

// The host gets no access to memory of a device; the grants before that one have taken effect.
TEST_F(AccessTest, KeepsGrantsBeforeARefusal) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  const AccessGrant host = ForHost(Access::kReadWrite);
  EXPECT_THAT(vmm().SetAccess(range, std::array{host, kReadWrite}), HasDriverCode(kNotSupported));
  EXPECT_EQ(AccessOf(kDevice0, range.base), 0);
  EXPECT_THAT(vmm().SetAccess(range, std::array{kReadWrite, host}), HasDriverCode(kNotSupported));
  EXPECT_EQ(AccessOf(kDevice0, range.base), 3);
  EXPECT_THAT(vmm().SetAccess(range, std::array{ForHost(Access::kNone)}), IsOk());
}

// GetAccess looks at the address 0 first, then at the location, then at the mapping.
TEST_F(AccessTest, GetReportsTheFirstMistake) {
  const Location nowhere = Location::Device(DeviceOrdinal(9));
  const DeviceAddress reserved = Reserve(1).base;
  EXPECT_THAT(vmm().GetAccess(nowhere, DeviceAddress(0)), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().GetAccess(nowhere, reserved), HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(vmm().GetAccess(Location::HostNumaCurrent(), reserved),
              HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(vmm().GetAccess(Location::Host(), reserved), HasDriverCode(kInvalid));
}

// Asked for the host, the driver answers for device 0 where the host has no access of its own,
// whoever owns the memory.
TEST_F(AccessTest, GetForTheHostFallsBackToDevice0) {
  const AddressRange device = Ready(1);
  const AddressRange peers = Ready(1, On(Location::Device(kDevice1)));
  Grant(peers, For(kDevice0, Access::kNone));
  Grant(peers, For(kDevice1, Access::kReadWrite));
  EXPECT_THAT(vmm().GetAccess(Location::Host(), peers.base), IsOkAndHolds(Access::kNone));
  EXPECT_THAT(vmm().GetAccess(Location::Host(), device.base), IsOkAndHolds(Access::kReadWrite));
  EXPECT_THAT(vmm().GetAccess(Location::HostNuma(0), device.base), IsOkAndHolds(Access::kNone));
  const AddressRange host = Ready(1, On(Location::HostNuma(0)));
  Grant(host, ForHost(Access::kRead));
  EXPECT_THAT(vmm().GetAccess(Location::Host(), host.base), IsOkAndHolds(Access::kRead));
  EXPECT_THAT(vmm().GetAccess(Location::HostNuma(5), host.base), IsOkAndHolds(Access::kRead));
}

// Of the host and device 0 the one whose access changed last answers, whatever other devices got.
TEST_F(AccessTest, GetForTheHostIsOfWhoChangedLast) {
  const AddressRange host = Ready(1, On(Location::HostNuma(0)));
  Grant(host, ForHost(Access::kRead));
  Grant(host, For(kDevice1, Access::kRead));
  EXPECT_THAT(vmm().GetAccess(Location::Host(), host.base), IsOkAndHolds(Access::kRead));
  Grant(host, For(kDevice0, Access::kRead));
  Grant(host, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(vmm().GetAccess(Location::Host(), host.base), IsOkAndHolds(Access::kReadWrite));
  Grant(host, For(kDevice1, Access::kNone));
  EXPECT_THAT(vmm().GetAccess(Location::Host(), host.base), IsOkAndHolds(Access::kReadWrite));
  EXPECT_THAT(vmm().GetAccess(Location::HostNuma(0), host.base), IsOkAndHolds(Access::kRead));
}

// A range that wraps is refused as such: the program is not told of a mapping that is missing.
TEST_F(AccessTest, ARangeThatWrapsIsNoMisuse) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(vmm().SetAccess(At(range.base, Bytes(0) - kGranule), std::array{kReadWrite}),
              HasDriverCode(kInvalid));
  EXPECT_THAT(simulator_->diagnostics(), testing::IsEmpty());
}

// The CPU reads and writes host memory at its device address once the host has the access, and sees
// what a device wrote.
TEST_F(AccessTest, TheCpuSeesHostMemory) {
  if (!profile().window.claimed) GTEST_SKIP() << "needs a claimed window";
  const AddressRange range = Ready(2, On(Location::Host()));
  EXPECT_THAT(Write(kDevice0, range.base + kGranule, 0x55), IsOk());
  Grant(range, ForHost(Access::kReadWrite));
  auto* cpu = reinterpret_cast<uint32_t*>((range.base + kGranule).value());
  EXPECT_EQ(*cpu, 0x55u);
  *cpu = 0x66;
  EXPECT_THAT(Read(kDevice0, range.base + kGranule), IsOkAndHolds(0x66u));
  Grant(range, ForHost(Access::kRead));
  EXPECT_EQ(*cpu, 0x66u);
}

// Access that is taken and given again shows the same memory; in between the CPU faults.
TEST_F(AccessTest, TheCpuSeesHostMemoryAgain) {
  if (!profile().window.claimed) GTEST_SKIP() << "needs a claimed window";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const AddressRange range = Ready(1, On(Location::Host()));
  auto* cpu = reinterpret_cast<volatile uint32_t*>(range.base.value());
  Grant(range, ForHost(Access::kReadWrite));
  *cpu = 0x77;
  Grant(range, ForHost(Access::kNone));
  EXPECT_DEATH(*cpu = 1, "");
  Grant(range, ForHost(Access::kReadWrite));
  EXPECT_EQ(*cpu, 0x77u);
  EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(0x77u));
}

// Without access, or on memory of a device, a CPU access faults.
TEST_F(AccessTest, TheCpuFaultsWithoutAccess) {
  if (!profile().window.claimed) GTEST_SKIP() << "needs a claimed window";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const AddressRange device = Ready(1);
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(device.base.value()), "");
  const AddressRange host = Ready(1, On(Location::Host()));
  Grant(host, ForHost(Access::kRead));
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(host.base.value()) = 1, "");
  EXPECT_THAT(vmm().Unmap(host), IsOk());
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(host.base.value()), "");
}

// Only peers can be granted memory of another device.
TEST(AccessPeerTest, NeedsAPeer) {
  Profile profile = Profile::ReferenceH200(2);
  profile.peers[1][0] = false;
  const auto simulator = *Simulator::Create(profile);
  Vmm& vmm = **simulator->vmm();
  const AddressRange range = *vmm.AddressReserve(kGranule);
  ASSERT_THAT(vmm.Map(range, *vmm.Create(kGranule, {})), IsOk());
  EXPECT_THAT(vmm.CanAccessPeer(kDevice1, kDevice0), IsOkAndHolds(false));
  EXPECT_THAT(vmm.SetAccess(range, std::array{For(kDevice1, Access::kRead)}),
              HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(vmm.SetAccess(range, std::array{kReadWrite}), IsOk());
}

// Whatever the matrix of peers says, in each direction by itself, is what is told and granted.
TEST(AccessPeerTest, FollowsAnyMatrix) {
  std::mt19937 random(1);
  for (size_t count = 2; count <= 8; ++count) {
    Profile profile = Profile::ReferenceH200(static_cast<int>(count));
    for (std::vector<bool>& row : profile.peers) {
      for (size_t i = 0; i < count; ++i) row[i] = random() % 2 == 0;
    }
    const auto simulator = *Simulator::Create(profile);
    Vmm& vmm = **simulator->vmm();
    const AddressRange range = *vmm.AddressReserve(kGranule);
    for (size_t owner = 0; owner < count; ++owner) {
      const DeviceOrdinal of(static_cast<int>(owner));
      ASSERT_THAT(vmm.Map(range, *vmm.Create(kGranule, On(Location::Device(of)))), IsOk());
      for (size_t user = 0; user < count; ++user) {
        SCOPED_TRACE(testing::Message() << user << " of " << owner << " of " << count);
        const DeviceOrdinal by(static_cast<int>(user));
        const bool can = user != owner && profile.peers[user][owner];
        EXPECT_THAT(vmm.CanAccessPeer(by, of), IsOkAndHolds(can));
        EXPECT_EQ(vmm.SetAccess(range, std::array{For(by, Access::kReadWrite)}).ok(),
                  can || user == owner);
        EXPECT_THAT(vmm.GetAccess(Location::Device(by), range.base),
                    IsOkAndHolds(can || user == owner ? Access::kReadWrite : Access::kNone));
      }
      ASSERT_THAT(vmm.Unmap(range), IsOk());
    }
  }
}

// Without the quirks a hole is an error, and a refused list changes nothing.
TEST(AccessDocumentedTest, KeepsToTheDocumentation) {
  Profile profile = Profile::ReferenceH200();
  profile.quirks.set_access_stops_at_hole = false;
  profile.quirks.set_access_keeps_grants_before_refusal = false;
  profile.quirks.host_access_falls_back_to_device = false;
  const auto simulator = *Simulator::Create(profile);
  Vmm& vmm = **simulator->vmm();
  const AddressRange range = *vmm.AddressReserve(3 * kGranule);
  ASSERT_THAT(vmm.Map(At(range.base, kGranule), *vmm.Create(kGranule, {})), IsOk());
  ASSERT_THAT(vmm.Map(At(range.base + 2 * kGranule, kGranule), *vmm.Create(kGranule, {})), IsOk());
  EXPECT_THAT(vmm.SetAccess(range, std::array{kReadWrite}), HasDriverCode(kInvalid));
  const AddressRange first = At(range.base, kGranule);
  EXPECT_THAT(vmm.SetAccess(first, std::array{kReadWrite, ForHost(Access::kRead)}), Not(IsOk()));
  EXPECT_THAT(vmm.GetAccess(Location::Device(kDevice0), range.base), IsOkAndHolds(Access::kNone));
  EXPECT_THAT(vmm.SetAccess(first, std::array{kReadWrite}), IsOk());
  EXPECT_THAT(vmm.GetAccess(Location::Host(), range.base), IsOkAndHolds(Access::kNone));
}

}  // namespace
}  // namespace twinmmu

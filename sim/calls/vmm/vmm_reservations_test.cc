// AddressReserve and AddressFree.

#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ReservationsTest = MachineTest;
constexpr auto kInvalid = DriverCode::kInvalidValue;

absl::StatusOr<AddressRange> Try(Vmm& vmm, Bytes size, ReserveOptions options = {}) {
  return vmm.AddressReserve(size, options);
}

// Without a hint, reservations follow each other upwards.
TEST_F(ReservationsTest, AreAdjacentUpwards) {
  const AddressRange a = Reserve(3);
  EXPECT_EQ(Reserve(1).base, a.end());
}

// A free hint is honoured, an occupied one and one outside the window lead elsewhere.
TEST_F(ReservationsTest, HonourAHintThatIsFree) {
  const AddressRange a = Reserve(1);
  EXPECT_EQ(Reserve(1, a.base + 16 * kGranule).base, a.base + 16 * kGranule);
  EXPECT_NE(Reserve(1, a.base).base, a.base);
  EXPECT_NE(Reserve(1, DeviceAddress(kGranule.value())).base, DeviceAddress(kGranule.value()));
}

// A freed address can be had again by hint.
TEST_F(ReservationsTest, GiveAFreedAddressAgain) {
  const AddressRange a = Reserve(2);
  EXPECT_THAT(vmm().AddressFree(a), IsOk());
  EXPECT_EQ(Reserve(2, a.base).base, a.base);
}

// An alignment beyond the granularity is honoured, one below it is raised.
TEST_F(ReservationsTest, HonourTheAlignment) {
  Reserve(1);
  const auto range = Try(vmm(), kGranule, {GiB(64), DeviceAddress(0), 0});
  ASSERT_THAT(range, IsOk());
  EXPECT_TRUE(range->base.IsAligned(GiB(64)));
  EXPECT_THAT(Try(vmm(), kGranule, {Bytes(1), DeviceAddress(0), 0}), IsOk());
}

// Sizes, alignments, flags and hints that are wrong are invalid values.
TEST_F(ReservationsTest, RefuseWrongArguments) {
  EXPECT_THAT(Try(vmm(), Bytes(0)), HasDriverCode(kInvalid));
  EXPECT_THAT(Try(vmm(), kGranule + Bytes(1)), HasDriverCode(kInvalid));
  EXPECT_THAT(Try(vmm(), Bytes(~uint64_t{0})), HasDriverCode(kInvalid));
  EXPECT_THAT(Try(vmm(), kGranule, {Bytes(3), {}, 0}), HasDriverCode(kInvalid));
  EXPECT_THAT(Try(vmm(), kGranule, {Bytes(uint64_t{1} << 63), {}, 0}), HasDriverCode(kInvalid));
  EXPECT_THAT(Try(vmm(), kGranule, {{}, {}, 1}), HasDriverCode(kInvalid));
  EXPECT_THAT(Try(vmm(), kGranule, {{}, DeviceAddress(4096), 0}), HasDriverCode(kInvalid));
  EXPECT_THAT(Try(vmm(), kGranule, {GiB(1), DeviceAddress(kGranule.value()), 0}),
              HasDriverCode(kInvalid));
}

// A machine whose addresses are numbers has all of those that 47 bits can name.
TEST(FullAddressSpaceTest, ReservesHalfOfAllAddresses) {
  const auto simulator = Simulator::Create(*Profile::Named("full-address-space"));
  ASSERT_THAT(simulator, IsOk());
  Vmm& vmm = **(*simulator)->vmm();
  const auto range = vmm.AddressReserve(TiB(64));
  ASSERT_THAT(range, IsOk());
  EXPECT_THAT(vmm.AddressReserve(TiB(64)), HasDriverCode(DriverCode::kOutOfMemory));
  const auto handle = vmm.Create(kGranule, AllocationProperties());
  ASSERT_THAT(handle, IsOk());
  EXPECT_THAT(vmm.Map(At(range->end() - kGranule, kGranule), *handle), IsOk());
}

// What is well-formed and too big, or beyond the last address, is out of memory.
TEST_F(ReservationsTest, RunOutOfAddresses) {
  constexpr auto kOut = DriverCode::kOutOfMemory;
  EXPECT_THAT(Try(vmm(), Bytes(uint64_t{1} << 47)), HasDriverCode(kOut));
  EXPECT_THAT(Try(vmm(), Bytes(0) - kGranule), HasDriverCode(kOut));
  EXPECT_THAT(Try(vmm(), kGranule, {Bytes(uint64_t{1} << 48), {}, 0}), HasDriverCode(kOut));
  EXPECT_THAT(Try(vmm(), kGranule, {{}, DeviceAddress(uint64_t{1} << 47), 0}), HasDriverCode(kOut));
}

// Of two mistakes the invalid value is reported before the lack of addresses.
TEST_F(ReservationsTest, ReportInvalidBeforeOutOfMemory) {
  EXPECT_THAT(Try(vmm(), Bytes(uint64_t{1} << 50), {{}, DeviceAddress(4096), 0}),
              HasDriverCode(kInvalid));
}

// Only exactly one reservation can be freed, and only once.
TEST_F(ReservationsTest, AreFreedExactly) {
  const AddressRange a = Reserve(4);
  const AddressRange b = Reserve(4, a.end());
  ASSERT_EQ(b.base, a.end());
  EXPECT_THAT(vmm().AddressFree(At(a.base, 2 * kGranule)), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().AddressFree(At(a.base, 8 * kGranule)), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().AddressFree(At(a.base + kGranule, 3 * kGranule)), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().AddressFree(At(a.base, Bytes(0))), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().AddressFree(a), IsOk());
  EXPECT_THAT(vmm().AddressFree(a), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().AddressFree(b), IsOk());
}

// A reservation with a mapping in it cannot be freed, and stays as it was.
TEST_F(ReservationsTest, AreNotFreedWhileMapped) {
  const AddressRange range = Reserve(4);
  MapNew(range.base, 1);
  EXPECT_THAT(vmm().AddressFree(range), HasDriverCode(kInvalid));
  EXPECT_EQ(AccessOf(kDevice0, range.base), 0);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().AddressFree(range), IsOk());
}

}  // namespace
}  // namespace twinmmu

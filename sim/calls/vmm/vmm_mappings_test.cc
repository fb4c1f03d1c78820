// Map and Unmap.

#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using MappingsTest = MachineTest;
constexpr auto kInvalid = DriverCode::kInvalidValue;
constexpr auto kNotSupported = DriverCode::kNotSupported;

// One allocation at two places is the same memory.
TEST_F(MappingsTest, AliasesAreCoherent) {
  const AddressRange range = Reserve(4);
  const AllocationHandle handle = MapNew(range.base, 2);
  EXPECT_THAT(vmm().Map(At(range.base + 2 * kGranule, 2 * kGranule), handle), IsOk());
  Grant(range, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Write(kDevice0, range.base + kGranule, 11), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base + 3 * kGranule), IsOkAndHolds(11u));
}

// Data stays with the allocation: unmapped and mapped elsewhere, it is still there.
TEST_F(MappingsTest, DataSurvivesUnmap) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = MapNew(range.base, 1);
  Grant(At(range.base, kGranule), For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Write(kDevice0, range.base, 5), IsOk());
  EXPECT_THAT(vmm().Unmap(At(range.base, kGranule)), IsOk());
  const AddressRange second = At(range.base + kGranule, kGranule);
  EXPECT_THAT(vmm().Map(second, handle), IsOk());
  Grant(second, For(kDevice0, Access::kRead));
  EXPECT_THAT(Read(kDevice0, second.base), IsOkAndHolds(5u));
}

// Only the whole allocation can be mapped, and that is looked at before the address.
TEST_F(MappingsTest, MapTakesWholeAllocationsOnly) {
  const AddressRange range = Reserve(8);
  const AllocationHandle handle = Create(4);
  const auto map = [&](DeviceAddress base, Bytes size, Bytes offset) {
    return vmm().Map(At(base, size), handle, offset, 0);
  };
  EXPECT_THAT(map(range.base, 2 * kGranule, Bytes(0)), HasDriverCode(kNotSupported));
  EXPECT_THAT(map(range.base, 8 * kGranule, Bytes(0)), HasDriverCode(kNotSupported));
  EXPECT_THAT(map(range.base, 4 * kGranule, kGranule), HasDriverCode(kNotSupported));
  EXPECT_THAT(map(range.base + Bytes(1), Bytes(1), Bytes(0)), HasDriverCode(kNotSupported));
  EXPECT_THAT(map(range.base, 4 * kGranule, Bytes(0) - kGranule), HasDriverCode(kNotSupported));
  EXPECT_THAT(map(DeviceAddress(0), 2 * kGranule, Bytes(0)), HasDriverCode(kInvalid));
  EXPECT_THAT(map(range.base, Bytes(0), Bytes(0)), HasDriverCode(kInvalid));
}

// Flags, misaligned and unreserved addresses, and addresses that are none, are invalid.
TEST_F(MappingsTest, MapRefusesWrongArguments) {
  const AddressRange range = Reserve(8);
  const AllocationHandle handle = Create(4);
  const Bytes size = 4 * kGranule;
  EXPECT_THAT(vmm().Map(At(range.base, size), handle, Bytes(0), 1), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Map(At(range.base + KiB(64), size), handle), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Map(At(range.end() + GiB(1), size), handle), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Map(At(DeviceAddress(uint64_t{1} << 63), size), handle),
              HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Map(At(DeviceAddress(0) - kGranule, size), handle), HasDriverCode(kInvalid));
  EXPECT_EQ(AccessOf(kDevice0, range.base), -1);
}

// A mapping that would overlap another is refused, and the other stays.
TEST_F(MappingsTest, MapRefusesOverlap) {
  const AddressRange range = Reserve(8);
  const AllocationHandle old = MapNew(range.base + 2 * kGranule, 2);
  const AllocationHandle handle = Create(2);
  for (const uint64_t at : {1, 2, 3}) {
    EXPECT_THAT(vmm().Map(At(range.base + at * kGranule, 2 * kGranule), handle),
                HasDriverCode(kInvalid));
  }
  EXPECT_EQ(AccessOf(kDevice0, range.base + kGranule), -1);
  EXPECT_THAT(vmm().RetainAllocationHandle(range.base + 2 * kGranule), IsOkAndHolds(old));
  EXPECT_THAT(vmm().Map(At(range.base, 2 * kGranule), handle), IsOk());
}

// The end of a mapping may leave the reservation; what lies beyond works, but is no reservation: it
// has no handle to retain, and others may reserve it, but not free it as long as it is mapped.
TEST_F(MappingsTest, MapMayOverhangItsReservation) {
  const AddressRange range = Reserve(4);
  const AddressRange overhang = At(range.base + 2 * kGranule, 4 * kGranule);
  MapNew(overhang.base, 4);
  Grant(overhang, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Write(kDevice0, range.end() + kGranule, 3), IsOk());
  EXPECT_THAT(vmm().RetainAllocationHandle(range.end()), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().AddressFree(range), HasDriverCode(kInvalid));
  const AddressRange behind = Reserve(4, range.end());
  EXPECT_EQ(behind.base, range.end());
  EXPECT_THAT(vmm().Map(behind, Create(4)), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().RetainAllocationHandle(range.end()), IsOk());
  EXPECT_THAT(
      vmm().GetPointerAttribute(kDevice0, PointerAttribute::kRangeStartAddress, behind.base),
      IsOkAndHolds(behind.base.value()));
  EXPECT_THAT(vmm().AddressFree(behind), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Unmap(overhang), IsOk());
  EXPECT_THAT(vmm().Map(behind, Create(4)), IsOk());
  EXPECT_THAT(vmm().AddressFree(range), IsOk());
  EXPECT_THAT(vmm().Unmap(behind), IsOk());
  EXPECT_THAT(vmm().AddressFree(behind), IsOk());
}

// A mapping may lie across two adjacent reservations, and far beyond the last.
TEST_F(MappingsTest, MapMayCrossReservations) {
  const AddressRange a = Reserve(64);
  const AddressRange b = Reserve(64, a.end());
  ASSERT_EQ(b.base, a.end());
  const AddressRange both = At(a.base, 128 * kGranule);
  EXPECT_THAT(vmm().Map(both, Create(128)), IsOk());
  EXPECT_THAT(vmm().Unmap(both), IsOk());
  const AddressRange far = At(b.base, 512 * kGranule);
  EXPECT_THAT(vmm().Map(far, Create(512)), IsOk());
  EXPECT_THAT(vmm().Unmap(far), IsOk());
  EXPECT_THAT(vmm().AddressFree(a), IsOk());
  EXPECT_THAT(vmm().AddressFree(b), IsOk());
}

// Unmap takes several whole mappings and passes over holes; twice is as good as once.
TEST_F(MappingsTest, UnmapPassesOverHoles) {
  const AddressRange range = Reserve(8);
  MapNew(range.base + kGranule, 2);
  MapNew(range.base + 4 * kGranule, 1);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_EQ(AccessOf(kDevice0, range.base + kGranule), -1);
  EXPECT_EQ(AccessOf(kDevice0, range.base + 4 * kGranule), -1);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().Unmap(At(range.base + Bytes(5), Bytes(1))), IsOk());
}

// Unmap never cuts a mapping: nothing changes then, not even what it could have taken.
TEST_F(MappingsTest, UnmapNeverCutsAMapping) {
  const AddressRange range = Reserve(8);
  MapNew(range.base, 2);
  MapNew(range.base + 2 * kGranule, 2);
  for (const auto& [first, size] : {std::pair{0, 1}, {0, 3}, {1, 3}, {3, 5}}) {
    EXPECT_THAT(vmm().Unmap(At(range.base + first * kGranule, size * kGranule)),
                HasDriverCode(kInvalid));
  }
  EXPECT_THAT(vmm().Unmap(At(range.base, 2 * kGranule + Bytes(1))), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Unmap(At(range.base, 2 * kGranule - Bytes(1))), HasDriverCode(kInvalid));
  EXPECT_EQ(AccessOf(kDevice0, range.base), 0);
  EXPECT_EQ(AccessOf(kDevice0, range.base + 3 * kGranule), 0);
}

// Unmap needs a reserved base; an end that wraps leaves nothing to do, a huge one takes all.
TEST_F(MappingsTest, UnmapWithImpossibleRanges) {
  const AddressRange range = Reserve(4);
  MapNew(range.base, 2);
  EXPECT_THAT(vmm().Unmap(At(range.base - kGranule, 8 * kGranule)), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Unmap(At(DeviceAddress(0), 8 * kGranule)), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Unmap(At(range.base, Bytes(0))), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Unmap(At(range.base, Bytes(0) - kGranule)), IsOk());
  EXPECT_EQ(AccessOf(kDevice0, range.base), 0);
  EXPECT_THAT(vmm().Unmap(At(range.base, Bytes(uint64_t{1} << 63))), IsOk());
  EXPECT_EQ(AccessOf(kDevice0, range.base), -1);
}

// Without the quirks, parts of allocations can be mapped, but holes not unmapped, nor borders left.
TEST(MappingsDocumentedTest, KeepToTheDocumentation) {
  Profile profile = Profile::ReferenceH200();
  profile.quirks.map_takes_whole_allocations_only = false;
  profile.map_takes_offsets = true;
  profile.quirks.map_reaches_beyond_reservation = false;
  profile.quirks.unmap_passes_over_holes = false;
  const auto simulator = *Simulator::Create(profile);
  Vmm& vmm = **simulator->vmm();
  const AddressRange range = *vmm.AddressReserve(4 * kGranule);
  const AllocationHandle handle = *vmm.Create(2 * kGranule, {});
  const auto granule = [&](uint64_t i) { return range.subrange(i * kGranule, kGranule); };
  EXPECT_THAT(vmm.Map(granule(0), handle, kGranule, 0), IsOk());
  EXPECT_THAT(vmm.Map(granule(1), handle, 2 * kGranule, 0),
              HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(vmm.Map(At(range.base + 3 * kGranule, 2 * kGranule), handle),
              HasDriverCode(kInvalid));
  EXPECT_THAT(vmm.Unmap(At(range.base, 2 * kGranule)), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm.Unmap(granule(0)), IsOk());
  EXPECT_THAT(vmm.Unmap(granule(0)), HasDriverCode(kInvalid));
}

}  // namespace
}  // namespace twinmmu

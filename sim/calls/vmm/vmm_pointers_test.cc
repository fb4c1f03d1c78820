// GetPointerAttribute and GetAddressRange.

#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using PointersTest = MachineTest;
using A = PointerAttribute;
constexpr auto kInvalid = DriverCode::kInvalidValue;

// Of memory of a device: what it is, where the reservation and the mapping are.
TEST_F(PointersTest, DescribeDeviceMemory) {
  const AddressRange range = Reserve(4);
  MapNew(range.base + kGranule, 2, Shareable());
  const DeviceAddress address = range.base + 2 * kGranule + Bytes(5);
  const auto get = [&](A attribute) {
    return vmm().GetPointerAttribute(kDevice0, attribute, address);
  };
  EXPECT_THAT(get(A::kMemoryType), IsOkAndHolds(2u));
  EXPECT_THAT(get(A::kRangeStartAddress), IsOkAndHolds(range.base.value()));
  EXPECT_THAT(get(A::kRangeSize), IsOkAndHolds(range.size.value()));
  EXPECT_THAT(get(A::kMappingBaseAddress), IsOkAndHolds((range.base + kGranule).value()));
  EXPECT_THAT(get(A::kMappingSize), IsOkAndHolds((2 * kGranule).value()));
  EXPECT_THAT(get(A::kMapped), IsOkAndHolds(1u));
  EXPECT_THAT(get(A::kAllowedHandleTypes), IsOkAndHolds(1u));
  EXPECT_THAT(get(A::kIsManaged), IsOkAndHolds(0u));
  EXPECT_THAT(get(A::kHostPointer), HasDriverCode(kInvalid));
  EXPECT_THAT(get(static_cast<A>(99)), HasDriverCode(kInvalid));
}

// The device pointer and the access flags are those of the device that asks.
TEST_F(PointersTest, DependOnTheDeviceThatAsks) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(vmm().GetPointerAttribute(kDevice0, A::kDevicePointer, range.base),
              IsOkAndHolds(range.base.value()));
  EXPECT_THAT(vmm().GetPointerAttribute(kDevice0, A::kAccessFlags, range.base), IsOkAndHolds(3u));
  EXPECT_THAT(vmm().GetPointerAttribute(kDevice1, A::kDevicePointer, range.base),
              HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().GetPointerAttribute(kDevice1, A::kAccessFlags, range.base), IsOkAndHolds(0u));
  EXPECT_THAT(vmm().GetPointerAttribute(DeviceOrdinal(2), A::kAccessFlags, range.base),
              HasDriverCode(DriverCode::kInvalidDevice));
}

// Host memory has a host pointer, the same address, once the host has access.
TEST_F(PointersTest, DescribeHostMemory) {
  if (!profile().window.claimed) GTEST_SKIP() << "needs a claimed window";
  const AddressRange range = Ready(1, On(Location::Host()));
  const auto get = [&](A attribute) {
    return vmm().GetPointerAttribute(kDevice0, attribute, range.base);
  };
  EXPECT_THAT(get(A::kMemoryType), IsOkAndHolds(1u));
  EXPECT_THAT(get(A::kHostPointer), HasDriverCode(kInvalid));
  Grant(range, ForHost(Access::kRead));
  EXPECT_THAT(get(A::kHostPointer), IsOkAndHolds(range.base.value()));
}

// Buffers are numbered by mapping, blocks by allocation.
TEST_F(PointersTest, NumberBuffersAndBlocks) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = MapNew(range.base, 1);
  const DeviceAddress alias = range.base + kGranule;
  EXPECT_THAT(vmm().Map(At(alias, kGranule), handle), IsOk());
  const auto get = [&](A attribute, DeviceAddress address) {
    return *vmm().GetPointerAttribute(kDevice0, attribute, address);
  };
  EXPECT_NE(get(A::kBufferId, range.base), get(A::kBufferId, alias));
  EXPECT_EQ(get(A::kMemoryBlockId, range.base), get(A::kMemoryBlockId, alias));
  EXPECT_NE(get(A::kMemoryBlockId, range.base), 0u);
}

// Nothing is known of addresses where nothing is mapped.
TEST_F(PointersTest, KnowNothingOfUnmappedAddresses) {
  for (const DeviceAddress address :
       {Reserve(1).base, DeviceAddress(0), DeviceAddress(~uint64_t{0})}) {
    EXPECT_THAT(vmm().GetPointerAttribute(kDevice0, A::kMapped, address), HasDriverCode(kInvalid));
    EXPECT_THAT(vmm().GetAddressRange(kDevice0, address), HasDriverCode(DriverCode::kNotFound));
  }
}

// The address range is the mapping, for a device that can access it.
TEST_F(PointersTest, AddressRangeIsTheMapping) {
  const AddressRange range = Reserve(4);
  MapNew(range.base + kGranule, 2);
  const AddressRange mapping = At(range.base + kGranule, 2 * kGranule);
  EXPECT_THAT(vmm().GetAddressRange(kDevice0, mapping.base), HasDriverCode(DriverCode::kNotFound));
  Grant(mapping, For(kDevice0, Access::kRead));
  EXPECT_THAT(vmm().GetAddressRange(kDevice0, mapping.end() - Bytes(1)), IsOkAndHolds(mapping));
  EXPECT_THAT(vmm().GetAddressRange(kDevice1, mapping.base), HasDriverCode(DriverCode::kNotFound));
}

}  // namespace
}  // namespace twinmmu

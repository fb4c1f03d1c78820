// cuPointerGetAttribute.

#include "conformance/fixtures/host_memory_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {

CONFORMANCE_TEST(MappedTest, PTR_1, RangeIsTheReservationAndMappingTheMapping) {
  ASSERT_THAT(MapNew(Granules(5, 2)), IsOk());
  for (const AddressRange& mapped : {mapping(), Granules(5, 2)}) {
    const auto ask = [&](PointerAttribute attribute) {
      return vmm().GetPointerAttribute(device(), attribute, mapped.base + granule() + Bytes(5));
    };
    EXPECT_THAT(ask(PointerAttribute::kRangeStartAddress),
                IsOkAndHolds(reservation().base.value()));
    EXPECT_THAT(ask(PointerAttribute::kRangeSize), IsOkAndHolds(reservation().size.value()));
    EXPECT_THAT(ask(PointerAttribute::kMappingBaseAddress), IsOkAndHolds(mapped.base.value()));
    EXPECT_THAT(ask(PointerAttribute::kMappingSize), IsOkAndHolds(mapped.size.value()));
    EXPECT_THAT(ask(PointerAttribute::kMapped), IsOkAndHolds(1u));
  }
}

CONFORMANCE_TEST(MappedTest, PTR_2, NothingMappedHasNoAttributes) {
  const int on_stack = 0;
  for (const DeviceAddress address :
       {mapping().end(), reservation().base + TiB(1), DeviceAddress(0),
        DeviceAddress(reinterpret_cast<uint64_t>(&on_stack))}) {
    for (const PointerAttribute attribute :
         {PointerAttribute::kDeviceOrdinal, PointerAttribute::kMemoryType,
          PointerAttribute::kMappingSize, PointerAttribute::kAccessFlags}) {
      EXPECT_THAT(vmm().GetPointerAttribute(device(), attribute, address),
                  HasDriverCode(DriverCode::kInvalidValue))
          << attribute << " at " << address;
    }
  }
}

CONFORMANCE_TEST(MappedTest, PTR_7, ReservedAndNotMappedReadsSo) {
  const auto ask = [&](PointerAttribute attribute) {
    return vmm().GetPointerAttribute(device(), attribute, mapping().end());
  };
  const auto expect_as_reserved = [&] {
    if (Deviates(Deviation::kNoAttributesWhereNothingIsMapped)) {
      for (const PointerAttribute attribute :
           {PointerAttribute::kMapped, PointerAttribute::kRangeStartAddress,
            PointerAttribute::kRangeSize}) {
        EXPECT_THAT(ask(attribute), HasDriverCode(DriverCode::kInvalidValue)) << attribute;
      }
      return;
    }
    EXPECT_THAT(ask(PointerAttribute::kMapped), IsOkAndHolds(0u));
    EXPECT_THAT(ask(PointerAttribute::kRangeStartAddress),
                IsOkAndHolds(reservation().base.value()));
    EXPECT_THAT(ask(PointerAttribute::kRangeSize), IsOkAndHolds(reservation().size.value()));
  };
  expect_as_reserved();
  ASSERT_THAT(vmm().Map(Granules(4, 4), handle()), IsOk());
  EXPECT_THAT(ask(PointerAttribute::kMapped), IsOkAndHolds(1u));
  ASSERT_THAT(vmm().Unmap(Granules(4, 4)), IsOk());
  expect_as_reserved();
}

CONFORMANCE_TEST(MappedTest, PTR_3, AccessFlagsFollowTheRight) {
  for (const Access access : {Access::kRead, Access::kReadWrite, Access::kNone}) {
    ASSERT_THAT(Grant(mapping(), access), IsOk());
    EXPECT_THAT(vmm().GetPointerAttribute(device(), PointerAttribute::kAccessFlags, mapping().base),
                IsOkAndHolds(static_cast<uint64_t>(access)));
  }
}

CONFORMANCE_TEST(MappedTest, PTR_4, DescribesTheAllocation) {
  AllocationProperties special;
  special.requested_handle_types = HandleType::kPosixFileDescriptor;
  const bool rdma = Tells(DeviceAttribute::kGpuDirectRdmaWithCudaVmmSupported);
  if (rdma) special.gpu_direct_rdma = 1;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle other, vmm().Create(2 * granule(), special));
  ASSERT_THAT(vmm().Map(Granules(4, 2), other), IsOk());
  ASSERT_THAT(vmm().Map(Granules(6, 2), other), IsOk());
  const auto ask = [&](PointerAttribute attribute, uint64_t granule_index) {
    return vmm().GetPointerAttribute(device(), attribute, Granules(granule_index, 1).base);
  };
  constexpr uint64_t kDeviceMemory = 2;  // CU_MEMORYTYPE_DEVICE
  for (const uint64_t at : {0, 4}) {
    EXPECT_THAT(ask(PointerAttribute::kMemoryType, at), IsOkAndHolds(kDeviceMemory));
    EXPECT_THAT(ask(PointerAttribute::kDeviceOrdinal, at), IsOkAndHolds(0u));
    EXPECT_THAT(ask(PointerAttribute::kIsManaged, at), IsOkAndHolds(0u));
    EXPECT_THAT(ask(PointerAttribute::kIsLegacyCudaIpcCapable, at), IsOkAndHolds(0u));
  }
  EXPECT_THAT(ask(PointerAttribute::kAllowedHandleTypes, 0), IsOkAndHolds(0u));
  EXPECT_THAT(ask(PointerAttribute::kAllowedHandleTypes, 4), IsOkAndHolds(1u));
  EXPECT_THAT(ask(PointerAttribute::kIsGpuDirectRdmaCapable, 0), IsOkAndHolds(0u));
  EXPECT_THAT(ask(PointerAttribute::kIsGpuDirectRdmaCapable, 4), IsOkAndHolds(rdma ? 1u : 0u));
  // A buffer id names a mapping, a memory block id the memory behind it.
  EXPECT_NE(*ask(PointerAttribute::kBufferId, 4), *ask(PointerAttribute::kBufferId, 6));
  EXPECT_EQ(*ask(PointerAttribute::kMemoryBlockId, 4), *ask(PointerAttribute::kMemoryBlockId, 6));
  EXPECT_NE(*ask(PointerAttribute::kMemoryBlockId, 0), *ask(PointerAttribute::kMemoryBlockId, 4));
}

CONFORMANCE_TEST(MappedTest, PTR_5, RefusesAnUnknownAttribute) {
  for (const int number : {0, 99}) {
    EXPECT_THAT(
        vmm().GetPointerAttribute(device(), static_cast<PointerAttribute>(number), mapping().base),
        HasDriverCode(DriverCode::kInvalidValue))
        << number;
  }
}

CONFORMANCE_TEST(MappedTest, PTR_6, DevicePointerNeedsARight) {
  const DeviceAddress inside = mapping().base + Bytes(5);
  EXPECT_THAT(vmm().GetPointerAttribute(device(), PointerAttribute::kDevicePointer, inside),
              IsOkAndHolds(inside.value()));
  ASSERT_THAT(Grant(mapping(), Access::kNone), IsOk());
  EXPECT_THAT(vmm().GetPointerAttribute(device(), PointerAttribute::kDevicePointer, inside),
              HasDriverCode(DriverCode::kInvalidValue));
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

}  // namespace twinmmu::conformance

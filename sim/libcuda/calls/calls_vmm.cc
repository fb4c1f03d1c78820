// Virtual memory management.

#include <unistd.h>

#include <cstring>
#include <new>
#include <vector>

#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/given_descriptor.h"

namespace twinmmu::libcuda {
namespace {

// More descriptors than that are no list of grants, whatever lies there.
constexpr size_t kMaxGrants = 4096;

// The descriptors need not be aligned.
std::vector<AccessGrant> GrantsOf(const CUmemAccessDesc* descriptors, size_t count) {
  std::vector<AccessGrant> grants(count);
  for (size_t i = 0; i < count; ++i) {
    CUmemAccessDesc descriptor;
    std::memcpy(&descriptor, reinterpret_cast<const char*>(descriptors) + i * sizeof(descriptor),
                sizeof(descriptor));
    grants[i] = {FromAbi(descriptor.location), static_cast<Access>(descriptor.flags)};
  }
  return grants;
}

// Which is told first, before that there is something for handles of Windows.
bool IsOfUnknownDevice(const DriverState& driver, const CUmemAllocationProp& prop) {
  const int device = prop.location.id;
  return FromAbi(prop.location).type == LocationType::kDevice &&
         (device < 0 || device >= driver.simulator->profile().device_count());
}

}  // namespace

void GiveDescriptor(DriverState& driver, int descriptor, void* result) {
  bool again = false;
  try {
    again = driver.exported.Add(descriptor);
  } catch (const std::bad_alloc&) {
    close(descriptor);
    throw;
  }
  std::memcpy(result, &descriptor, sizeof(int));
  const auto number = static_cast<uint64_t>(descriptor);
  if (again) driver.report.RemoveObject(ObjectKind::kDescriptor, number);
  driver.report.AddObject(ObjectKind::kDescriptor, number);
}

extern "C" CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment,
                                        CUdeviceptr addr, unsigned long long flags) {
  return Enter(TWINMMU_HERE, {ptr}, [&](DriverState& driver) {
    const absl::StatusOr<AddressRange> range = driver.vmm.AddressReserve(
        Bytes(size), ReserveOptions{Bytes(alignment), DeviceAddress(addr), flags});
    if (!range.ok()) return ToResult(range.status());
    driver.report.AddReservation(*range);
    *ptr = range->base.value();
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    const Report::Reservation found = driver.report.FindReservation(DeviceAddress(ptr));
    const absl::Status freed = driver.vmm.AddressFree(RangeOf(ptr, size));
    if (freed.ok()) driver.report.RemoveReservation(DeviceAddress(ptr), found);
    return freed;
  });
}

extern "C" CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                                const CUmemAllocationProp* prop, unsigned long long flags) {
  return Enter(TWINMMU_HERE, {handle, prop}, [&](DriverState& driver) {
    // Of the reserved bytes an H200 with driver 580.159 looks at the first.
    const bool has_more = prop->win32HandleMetaData != nullptr || prop->allocFlags.reserved[0] != 0;
    if (has_more && !IsOfUnknownDevice(driver, *prop)) {
      return ToResult(DriverCode::kInvalidValue);
    }
    const absl::StatusOr<AllocationHandle> made =
        driver.vmm.Create(Bytes(size), FromAbi(*prop), flags);
    if (made.ok()) driver.report.AddAllocation(*made, Bytes(size));
    return Give(made, handle);
  });
}

extern "C" CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    const absl::Status released = driver.vmm.Release(AllocationHandle(handle));
    if (released.ok()) driver.report.RemoveReference(AllocationHandle(handle));
    return released;
  });
}

extern "C" CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                             CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    const absl::Status mapped =
        driver.vmm.Map(RangeOf(ptr, size), AllocationHandle(handle), Bytes(offset), flags);
    if (mapped.ok()) driver.report.AddMapping(RangeOf(ptr, size), AllocationHandle(handle));
    return mapped;
  });
}

extern "C" CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    const absl::Status unmapped = driver.vmm.Unmap(RangeOf(ptr, size));
    if (unmapped.ok()) driver.report.RemoveMappings(RangeOf(ptr, size));
    return unmapped;
  });
}

extern "C" CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc,
                                   size_t count) {
  return Enter(TWINMMU_HERE, {desc}, [&](DriverState& driver) {
    if (count > kMaxGrants) return ToResult(DriverCode::kInvalidValue);
    if (count != 1)
      return ToResult(driver.vmm.SetAccess(RangeOf(ptr, size), GrantsOf(desc, count)));
    CUmemAccessDesc only;
    std::memcpy(&only, static_cast<const void*>(desc), sizeof(only));
    const AccessGrant grant{FromAbi(only.location), static_cast<Access>(only.flags)};
    return ToResult(driver.vmm.SetAccess(RangeOf(ptr, size), {&grant, 1}));
  });
}

extern "C" CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                                   CUdeviceptr ptr) {
  return Enter(TWINMMU_HERE, {flags, location}, [&](DriverState& driver) {
    const auto access = driver.vmm.GetAccess(FromAbi(*location), DeviceAddress(ptr));
    // As an H200 with driver 580.159 has it.
    if (!access.ok() && GetDriverCode(access.status()) == DriverCode::kInvalidValue) *flags = 0;
    return Give(access, flags);
  });
}

extern "C" CUresult cuMemExportToShareableHandle(void* shareableHandle,
                                                 CUmemGenericAllocationHandle handle,
                                                 CUmemAllocationHandleType handleType,
                                                 unsigned long long flags) {
  return Enter(TWINMMU_HERE, {shareableHandle}, [&](DriverState& driver) {
    const absl::StatusOr<ShareableHandle> made = driver.vmm.ExportShareableHandle(
        AllocationHandle(handle), static_cast<HandleType>(handleType), flags);
    if (!made.ok()) return ToResult(made.status());
    if (made->type == HandleType::kFabric) {
      std::memcpy(shareableHandle, made->fabric.data(), made->fabric.size());
    } else {
      GiveDescriptor(driver, made->file_descriptor, shareableHandle);
    }
    return CUDA_SUCCESS;
  });
}

// A descriptor is passed as a number in the place of the pointer.
extern "C" CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                                   void* osHandle,
                                                   CUmemAllocationHandleType handleType) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    ShareableHandle shareable;
    shareable.type = static_cast<HandleType>(handleType);
    if (handle == nullptr) return ToResult(NullPointer(site));
    if (shareable.type == HandleType::kFabric) {
      if (osHandle == nullptr) return ToResult(NullPointer(site));
      std::memcpy(shareable.fabric.data(), osHandle, shareable.fabric.size());
    } else {
      shareable.file_descriptor = static_cast<int>(reinterpret_cast<intptr_t>(osHandle));
    }
    const absl::StatusOr<AllocationHandle> made = driver.vmm.ImportShareableHandle(shareable);
    if (!made.ok()) return ToResult(made.status());
    driver.report.AddAllocation(*made, Bytes(0),
                                driver.simulator->IsMulticastObject(*made)
                                    ? AllocationKind::kMulticastObject
                                    : AllocationKind::kMemory);
    *handle = made->value();
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuMemGetAllocationGranularity(size_t* granularity,
                                                  const CUmemAllocationProp* prop,
                                                  CUmemAllocationGranularity_flags option) {
  return Enter(TWINMMU_HERE, {granularity, prop}, [&](DriverState& driver) {
    const auto asked = static_cast<Granularity>(option);
    return Give(driver.vmm.GetAllocationGranularity(FromAbi(*prop), asked), granularity);
  });
}

extern "C" CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                           CUmemGenericAllocationHandle handle) {
  return Enter(TWINMMU_HERE, {prop}, [&](DriverState& driver) {
    const absl::StatusOr<AllocationProperties> properties =
        driver.vmm.GetAllocationProperties(AllocationHandle(handle));
    if (properties.ok()) *prop = ToAbi(*properties);
    return ToResult(properties.status());
  });
}

extern "C" CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  return Enter(TWINMMU_HERE, {handle}, [&](DriverState& driver) {
    const absl::StatusOr<AllocationHandle> retained =
        driver.vmm.RetainAllocationHandle(DeviceAddress(reinterpret_cast<uintptr_t>(addr)));
    if (retained.ok()) driver.report.AddReference(*retained);
    return Give(retained, handle);
  });
}

extern "C" CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr dptr, size_t size,
                                                  CUmemRangeHandleType handleType,
                                                  unsigned long long flags) {
  constexpr uint64_t kPage = 4096;
  const bool can_be =
      handle != nullptr &&
      static_cast<RangeHandleType>(handleType) == RangeHandleType::kDmaBufFileDescriptor &&
      size != 0 && (dptr | size) % kPage == 0;
  const CallSite site = TWINMMU_HERE;
  if (!can_be && !HasCurrentContext()) {
    return Enter(site, {handle}, [](DriverState&) { return DriverCode::kInvalidValue; });
  }
  return EnterInAnyContext(site, {handle}, [&](DriverState& driver, Context& context) {
    const CUresult fault = FaultOf(site, driver);
    if (fault != CUDA_SUCCESS) return can_be ? fault : ToResult(DriverCode::kInvalidValue);
    const absl::StatusOr<int> descriptor = driver.vmm.GetHandleForAddressRange(
        context.device, RangeOf(dptr, size), static_cast<RangeHandleType>(handleType), flags);
    if (!descriptor.ok()) return ToResult(descriptor.status());
    GiveDescriptor(driver, *descriptor, handle);
    return CUDA_SUCCESS;
  });
}

}  // namespace twinmmu::libcuda

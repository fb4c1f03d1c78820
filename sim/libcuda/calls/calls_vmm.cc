// Virtual memory management.

#include <cstring>
#include <vector>

#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

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

// The program is to close it.
void GiveDescriptor(Machine& machine, int descriptor, void* result) {
  std::memcpy(result, &descriptor, sizeof(int));
  const auto number = static_cast<uint64_t>(descriptor);
  const bool again = machine.exported.Add(descriptor);
  if (again) machine.report.RemoveObject(ObjectKind::kDescriptor, number);
  machine.report.AddObject(ObjectKind::kDescriptor, number);
}

}  // namespace

extern "C" CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment,
                                        CUdeviceptr addr, unsigned long long flags) {
  return Enter(TWINMMU_HERE, {ptr}, [&](Machine& machine) {
    const absl::StatusOr<AddressRange> range = machine.vmm.AddressReserve(
        Bytes(size), ReserveOptions{Bytes(alignment), DeviceAddress(addr), flags});
    if (!range.ok()) return ToResult(range.status());
    machine.report.AddReservation(*range);
    *ptr = range->base.value();
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  return Enter(TWINMMU_HERE, [&](Machine& machine) {
    const Report::Reservation found = machine.report.FindReservation(DeviceAddress(ptr));
    const absl::Status freed = machine.vmm.AddressFree(RangeOf(ptr, size));
    if (freed.ok()) machine.report.RemoveReservation(DeviceAddress(ptr), found);
    return freed;
  });
}

extern "C" CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                                const CUmemAllocationProp* prop, unsigned long long flags) {
  return Enter(TWINMMU_HERE, {handle, prop}, [&](Machine& machine) {
    const absl::StatusOr<AllocationHandle> made =
        machine.vmm.Create(Bytes(size), FromAbi(*prop), flags);
    if (made.ok()) machine.report.AddAllocation(*made, Bytes(size));
    return Give(made, handle);
  });
}

extern "C" CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return Enter(TWINMMU_HERE, [&](Machine& machine) {
    const absl::Status released = machine.vmm.Release(AllocationHandle(handle));
    if (released.ok()) machine.report.RemoveReference(AllocationHandle(handle));
    return released;
  });
}

extern "C" CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                             CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return Enter(TWINMMU_HERE, [&](Machine& machine) {
    const absl::Status mapped =
        machine.vmm.Map(RangeOf(ptr, size), AllocationHandle(handle), Bytes(offset), flags);
    if (mapped.ok()) machine.report.AddMapping(RangeOf(ptr, size), AllocationHandle(handle));
    return mapped;
  });
}

extern "C" CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  return Enter(TWINMMU_HERE, [&](Machine& machine) {
    const absl::Status unmapped = machine.vmm.Unmap(RangeOf(ptr, size));
    if (unmapped.ok()) machine.report.RemoveMappings(RangeOf(ptr, size));
    return unmapped;
  });
}

extern "C" CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc,
                                   size_t count) {
  return Enter(TWINMMU_HERE, {desc}, [&](Machine& machine) {
    if (count > kMaxGrants) return ToResult(DriverCode::kInvalidValue);
    if (count != 1)
      return ToResult(machine.vmm.SetAccess(RangeOf(ptr, size), GrantsOf(desc, count)));
    CUmemAccessDesc only;
    std::memcpy(&only, static_cast<const void*>(desc), sizeof(only));
    const AccessGrant grant{FromAbi(only.location), static_cast<Access>(only.flags)};
    return ToResult(machine.vmm.SetAccess(RangeOf(ptr, size), {&grant, 1}));
  });
}

extern "C" CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                                   CUdeviceptr ptr) {
  return Enter(TWINMMU_HERE, {flags, location}, [&](Machine& machine) {
    return Give(machine.vmm.GetAccess(FromAbi(*location), DeviceAddress(ptr)), flags);
  });
}

extern "C" CUresult cuMemExportToShareableHandle(void* shareableHandle,
                                                 CUmemGenericAllocationHandle handle,
                                                 CUmemAllocationHandleType handleType,
                                                 unsigned long long flags) {
  return Enter(TWINMMU_HERE, {shareableHandle}, [&](Machine& machine) {
    const absl::StatusOr<ShareableHandle> made = machine.vmm.ExportShareableHandle(
        AllocationHandle(handle), static_cast<HandleType>(handleType), flags);
    if (!made.ok()) return ToResult(made.status());
    if (made->type == HandleType::kFabric) {
      std::memcpy(shareableHandle, made->fabric.data(), made->fabric.size());
    } else {
      GiveDescriptor(machine, made->file_descriptor, shareableHandle);
    }
    return CUDA_SUCCESS;
  });
}

// A descriptor is passed as a number in the place of the pointer.
extern "C" CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                                   void* osHandle,
                                                   CUmemAllocationHandleType handleType) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](Machine& machine) {
    ShareableHandle shareable;
    shareable.type = static_cast<HandleType>(handleType);
    if (handle == nullptr) return ToResult(NullPointer(site));
    if (shareable.type == HandleType::kFabric) {
      if (osHandle == nullptr) return ToResult(NullPointer(site));
      std::memcpy(shareable.fabric.data(), osHandle, shareable.fabric.size());
    } else {
      shareable.file_descriptor = static_cast<int>(reinterpret_cast<intptr_t>(osHandle));
    }
    const absl::StatusOr<AllocationHandle> made = machine.vmm.ImportShareableHandle(shareable);
    if (!made.ok()) return ToResult(made.status());
    machine.report.AddAllocation(*made, Bytes(0),
                                 machine.simulator->IsMulticastObject(*made)
                                     ? AllocationKind::kMulticastObject
                                     : AllocationKind::kMemory);
    *handle = made->value();
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuMemGetAllocationGranularity(size_t* granularity,
                                                  const CUmemAllocationProp* prop,
                                                  CUmemAllocationGranularity_flags option) {
  return Enter(TWINMMU_HERE, {granularity, prop}, [&](Machine& machine) {
    const auto asked = static_cast<Granularity>(option);
    return Give(machine.vmm.GetAllocationGranularity(FromAbi(*prop), asked), granularity);
  });
}

extern "C" CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                           CUmemGenericAllocationHandle handle) {
  return Enter(TWINMMU_HERE, {prop}, [&](Machine& machine) {
    const absl::StatusOr<AllocationProperties> properties =
        machine.vmm.GetAllocationProperties(AllocationHandle(handle));
    if (properties.ok()) *prop = ToAbi(*properties);
    return ToResult(properties.status());
  });
}

extern "C" CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  return Enter(TWINMMU_HERE, {handle}, [&](Machine& machine) {
    const absl::StatusOr<AllocationHandle> retained =
        machine.vmm.RetainAllocationHandle(DeviceAddress(reinterpret_cast<uintptr_t>(addr)));
    if (retained.ok()) machine.report.AddReference(*retained);
    return Give(retained, handle);
  });
}

extern "C" CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr dptr, size_t size,
                                                  CUmemRangeHandleType handleType,
                                                  unsigned long long flags) {
  return EnterInContext(TWINMMU_HERE, {handle}, [&](Machine& machine, Context& context) {
    const absl::StatusOr<int> descriptor = machine.vmm.GetHandleForAddressRange(
        context.device, RangeOf(dptr, size), static_cast<RangeHandleType>(handleType), flags);
    if (!descriptor.ok()) return ToResult(descriptor.status());
    GiveDescriptor(machine, *descriptor, handle);
    return CUDA_SUCCESS;
  });
}

}  // namespace twinmmu::libcuda

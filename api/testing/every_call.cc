#include "api/testing/every_call.h"

#include "absl/status/statusor.h"

namespace twinmmu::testing_internal {
namespace {

absl::Status StatusOf(absl::Status status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace

std::vector<MadeCall> MakeEveryCall(Vmm& vmm) {
  const DeviceOrdinal device(9);
  const DeviceAddress address(0x10);
  const AddressRange range{address, Bytes(3), Bytes(0)};
  const AllocationHandle handle(0);
  const AllocationProperties properties;
  const ReserveOptions options;
  const ShareableHandle shareable;
  const Location location = Location::Device(device);
  std::vector<MadeCall> made;
#define TWINMMU_MAKE(method, ...) \
  made.push_back({DriverCall::k##method, #method, StatusOf(vmm.method(__VA_ARGS__))})
  TWINMMU_MAKE(GetDriverVersion);
  TWINMMU_MAKE(GetDeviceCount);
  TWINMMU_MAKE(GetDeviceName, device);
  TWINMMU_MAKE(GetDeviceAttribute, DeviceAttribute::kUnifiedAddressing, device);
  TWINMMU_MAKE(CanAccessPeer, device, device);
  TWINMMU_MAKE(GetMemoryInfo, device);
  TWINMMU_MAKE(AddressReserve, Bytes(3), options);
  TWINMMU_MAKE(AddressFree, range);
  TWINMMU_MAKE(GetAllocationGranularity, properties, static_cast<Granularity>(9));
  TWINMMU_MAKE(Create, Bytes(3), properties, 0);
  TWINMMU_MAKE(Release, handle);
  TWINMMU_MAKE(RetainAllocationHandle, address);
  TWINMMU_MAKE(GetAllocationProperties, handle);
  TWINMMU_MAKE(Map, range, handle, Bytes(0), 0);
  TWINMMU_MAKE(Unmap, range);
  TWINMMU_MAKE(SetAccess, range, {});
  TWINMMU_MAKE(GetAccess, location, address);
  TWINMMU_MAKE(ExportShareableHandle, handle, HandleType::kNone, 0);
  TWINMMU_MAKE(ImportShareableHandle, shareable);
  TWINMMU_MAKE(GetPointerAttribute, device, PointerAttribute::kContext, address);
  TWINMMU_MAKE(GetAddressRange, device, address);
  TWINMMU_MAKE(GetHandleForAddressRange, device, range, RangeHandleType::kDmaBufFileDescriptor, 0);
#undef TWINMMU_MAKE
  return made;
}

std::vector<MadeCall> MakeEveryCall(Executor& executor) {
  const DeviceOrdinal device(9);
  const DeviceAddress address(0x10);
  const Stream stream(device);
  const Event event;
  std::vector<MadeCall> made;
#define TWINMMU_MAKE_KIND(kind, method, ...) \
  made.push_back({DriverCall::kind, #method, StatusOf(executor.method(__VA_ARGS__))})
#define TWINMMU_MAKE(method, ...) TWINMMU_MAKE_KIND(k##method, method, __VA_ARGS__)
  char host = 0;
  TWINMMU_MAKE(CopyHostToDevice, device, address, &host, Bytes(1));
  TWINMMU_MAKE(CopyDeviceToHost, device, &host, address, Bytes(1));
  TWINMMU_MAKE(CopyDeviceToDevice, device, address, address, Bytes(1));
  TWINMMU_MAKE(Fill, device, address, FillPattern(), 1);
  TWINMMU_MAKE_KIND(kCopyHostToDeviceAsync, CopyHostToDevice, stream, address, &host, Bytes(1));
  TWINMMU_MAKE_KIND(kCopyDeviceToHostAsync, CopyDeviceToHost, stream, &host, address, Bytes(1));
  TWINMMU_MAKE_KIND(kCopyDeviceToDeviceAsync, CopyDeviceToDevice, stream, address, address,
                    Bytes(1));
  TWINMMU_MAKE_KIND(kFillAsync, Fill, stream, address, FillPattern(), 1);
  TWINMMU_MAKE(CreateStream, device);
  TWINMMU_MAKE(DestroyStream, stream);
  TWINMMU_MAKE(QueryStream, stream);
  TWINMMU_MAKE(SynchronizeStream, stream);
  TWINMMU_MAKE(CreateEvent, device);
  TWINMMU_MAKE(DestroyEvent, event);
  TWINMMU_MAKE(RecordEvent, event, stream);
  TWINMMU_MAKE(WaitEvent, stream, event);
  TWINMMU_MAKE(QueryEvent, event);
  TWINMMU_MAKE(SynchronizeEvent, event);
  TWINMMU_MAKE(SynchronizeDevice, device);
  TWINMMU_MAKE(LoadModule, device, "");
  TWINMMU_MAKE(UnloadModule, Module());
  TWINMMU_MAKE(GetKernel, Module(), "");
  TWINMMU_MAKE(Launch, stream, Kernel(), LaunchConfig(), {});
#undef TWINMMU_MAKE
#undef TWINMMU_MAKE_KIND
  return made;
}

std::vector<MadeCall> MakeEveryCall(Multicast& multicast) {
  const MulticastProperties properties;
  const AllocationHandle handle(0);
  const DeviceOrdinal device(9);
  const AddressRange range{DeviceAddress(0x10), Bytes(3), Bytes(0)};
  std::vector<MadeCall> made;
#define TWINMMU_MAKE(method, ...) \
  made.push_back({DriverCall::kMulticast##method, #method, StatusOf(multicast.method(__VA_ARGS__))})
  TWINMMU_MAKE(GetGranularity, properties, static_cast<Granularity>(9));
  TWINMMU_MAKE(Create, properties);
  TWINMMU_MAKE(AddDevice, handle, device);
  TWINMMU_MAKE(BindMemory, handle, Bytes(1), handle, Bytes(2), Bytes(3), 4);
  TWINMMU_MAKE(BindAddress, handle, Bytes(1), range, 4);
  TWINMMU_MAKE(Unbind, handle, device, Bytes(1), Bytes(3));
#undef TWINMMU_MAKE
  return made;
}

std::vector<MadeCall> MakeEveryCall(SparseArrays& arrays) {
  const DeviceOrdinal device(9);
  const Stream stream(device);
  const Array array(device, 0);
  const MipmappedArray mipmap(device, 0);
  const ArrayDescriptor descriptor;
  const ArrayExtent one{1, 1, 1};
  char host = 0;
  std::vector<MadeCall> made;
#define TWINMMU_MAKE(method, ...) \
  made.push_back({DriverCall::k##method, #method, StatusOf(arrays.method(__VA_ARGS__))})
  TWINMMU_MAKE(CreateArray, device, descriptor);
  TWINMMU_MAKE(DestroyArray, array);
  TWINMMU_MAKE(CreateMipmappedArray, device, descriptor, 3);
  TWINMMU_MAKE(DestroyMipmappedArray, mipmap);
  TWINMMU_MAKE(GetLevel, mipmap, 1);
  TWINMMU_MAKE(GetArraySparseProperties, array);
  TWINMMU_MAKE(GetMipmappedArraySparseProperties, mipmap);
  TWINMMU_MAKE(MapTiles, stream, {});
  TWINMMU_MAKE(CopyHostToArray, stream, array, ArrayExtent(), one, &host);
  TWINMMU_MAKE(CopyArrayToHost, stream, &host, array, ArrayExtent(), one);
#undef TWINMMU_MAKE
  return made;
}

}  // namespace twinmmu::testing_internal

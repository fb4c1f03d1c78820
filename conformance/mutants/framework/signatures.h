// The first line of each call, for MUTANT: CALL_Map() as it stands in a class, CALL_Map(Name::) as
// it stands outside. A parameter need not be used.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_SIGNATURES_H_
#define TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_SIGNATURES_H_

// clang-format off
#define TWINMMU_ANY [[maybe_unused]]

#define CALL_GetDriverVersion(scope) \
  absl::StatusOr<int> scope GetDriverVersion()
#define CALL_GetDeviceCount(scope) \
  absl::StatusOr<int> scope GetDeviceCount()
#define CALL_GetDeviceName(scope) \
  absl::StatusOr<std::string> scope GetDeviceName(TWINMMU_ANY DeviceOrdinal device)
#define CALL_GetDeviceAttribute(scope) \
  absl::StatusOr<int> scope GetDeviceAttribute(TWINMMU_ANY DeviceAttribute attribute, \
      TWINMMU_ANY DeviceOrdinal device)
#define CALL_CanAccessPeer(scope) \
  absl::StatusOr<bool> scope CanAccessPeer(TWINMMU_ANY DeviceOrdinal device, \
      TWINMMU_ANY DeviceOrdinal peer)
#define CALL_GetMemoryInfo(scope) \
  absl::StatusOr<MemoryInfo> scope GetMemoryInfo(TWINMMU_ANY DeviceOrdinal device)
#define CALL_AddressReserve(scope) \
  absl::StatusOr<AddressRange> scope AddressReserve(TWINMMU_ANY Bytes size, \
      TWINMMU_ANY const ReserveOptions& options)
#define CALL_AddressFree(scope) \
  absl::Status scope AddressFree(TWINMMU_ANY const AddressRange& range)
#define CALL_GetAllocationGranularity(scope) \
  absl::StatusOr<Bytes> scope GetAllocationGranularity( \
      TWINMMU_ANY const AllocationProperties& properties, \
      TWINMMU_ANY Granularity option)
#define CALL_Create(scope) \
  absl::StatusOr<AllocationHandle> scope Create(TWINMMU_ANY Bytes size, \
      TWINMMU_ANY const AllocationProperties& properties, TWINMMU_ANY uint64_t flags)
#define CALL_Release(scope) \
  absl::Status scope Release(TWINMMU_ANY AllocationHandle handle)
#define CALL_RetainAllocationHandle(scope) \
  absl::StatusOr<AllocationHandle> scope RetainAllocationHandle(TWINMMU_ANY DeviceAddress address)
#define CALL_GetAllocationProperties(scope) \
  absl::StatusOr<AllocationProperties> scope GetAllocationProperties( \
      TWINMMU_ANY AllocationHandle handle)
#define CALL_Map(scope) \
  absl::Status scope Map(TWINMMU_ANY const AddressRange& range, \
      TWINMMU_ANY AllocationHandle handle, TWINMMU_ANY Bytes offset, TWINMMU_ANY uint64_t flags)
#define CALL_Unmap(scope) \
  absl::Status scope Unmap(TWINMMU_ANY const AddressRange& range)
#define CALL_SetAccess(scope) \
  absl::Status scope SetAccess(TWINMMU_ANY const AddressRange& range, \
      TWINMMU_ANY absl::Span<const AccessGrant> grants)
#define CALL_GetAccess(scope) \
  absl::StatusOr<Access> scope GetAccess(TWINMMU_ANY const Location& location, \
      TWINMMU_ANY DeviceAddress address)
#define CALL_ExportShareableHandle(scope) \
  absl::StatusOr<ShareableHandle> scope ExportShareableHandle(TWINMMU_ANY AllocationHandle handle, \
      TWINMMU_ANY HandleType type, TWINMMU_ANY uint64_t flags)
#define CALL_ImportShareableHandle(scope) \
  absl::StatusOr<AllocationHandle> scope ImportShareableHandle( \
      TWINMMU_ANY const ShareableHandle& shareable)
#define CALL_GetPointerAttribute(scope) \
  absl::StatusOr<uint64_t> scope GetPointerAttribute(TWINMMU_ANY DeviceOrdinal device, \
      TWINMMU_ANY PointerAttribute attribute, TWINMMU_ANY DeviceAddress address)
#define CALL_GetAddressRange(scope) \
  absl::StatusOr<AddressRange> scope GetAddressRange(TWINMMU_ANY DeviceOrdinal device, \
      TWINMMU_ANY DeviceAddress address)
#define CALL_GetHandleForAddressRange(scope) \
  absl::StatusOr<int> scope GetHandleForAddressRange(TWINMMU_ANY DeviceOrdinal device, \
      TWINMMU_ANY const AddressRange& range, TWINMMU_ANY RangeHandleType type, \
      TWINMMU_ANY uint64_t flags)
#define CALL_CreateArray(scope) \
  absl::StatusOr<Array> scope CreateArray(TWINMMU_ANY DeviceOrdinal device, \
      TWINMMU_ANY const ArrayDescriptor& descriptor)
#define CALL_DestroyArray(scope) \
  absl::Status scope DestroyArray(TWINMMU_ANY Array array)
#define CALL_CreateMipmappedArray(scope) \
  absl::StatusOr<MipmappedArray> scope CreateMipmappedArray(TWINMMU_ANY DeviceOrdinal device, \
      TWINMMU_ANY const ArrayDescriptor& descriptor, TWINMMU_ANY uint32_t levels)
#define CALL_DestroyMipmappedArray(scope) \
  absl::Status scope DestroyMipmappedArray(TWINMMU_ANY MipmappedArray mipmap)
#define CALL_GetLevel(scope) \
  absl::StatusOr<Array> scope GetLevel(TWINMMU_ANY MipmappedArray mipmap, \
      TWINMMU_ANY uint32_t level)
#define CALL_GetArraySparseProperties(scope) \
  absl::StatusOr<SparseProperties> scope GetArraySparseProperties(TWINMMU_ANY Array array)
#define CALL_GetMipmappedArraySparseProperties(scope) \
  absl::StatusOr<SparseProperties> scope GetMipmappedArraySparseProperties( \
      TWINMMU_ANY MipmappedArray mipmap)
#define CALL_MapTiles(scope) \
  absl::Status scope MapTiles(TWINMMU_ANY Stream stream, \
      TWINMMU_ANY absl::Span<const TileOperation> operations)
#define CALL_CopyHostToArray(scope) \
  absl::Status scope CopyHostToArray(TWINMMU_ANY Stream stream, TWINMMU_ANY Array array, \
      TWINMMU_ANY const ArrayExtent& offset, TWINMMU_ANY const ArrayExtent& extent, \
      TWINMMU_ANY const void* source)
#define CALL_CopyArrayToHost(scope) \
  absl::Status scope CopyArrayToHost(TWINMMU_ANY Stream stream, TWINMMU_ANY void* destination, \
      TWINMMU_ANY Array array, TWINMMU_ANY const ArrayExtent& offset, \
      TWINMMU_ANY const ArrayExtent& extent)
#define CALL_Write(scope) \
  absl::Status scope Write(TWINMMU_ANY const Work& work, TWINMMU_ANY DeviceAddress destination, \
      TWINMMU_ANY const void* source, TWINMMU_ANY Bytes size)
#define CALL_Read(scope) \
  absl::Status scope Read(TWINMMU_ANY const Work& work, TWINMMU_ANY void* destination, \
      TWINMMU_ANY DeviceAddress source, TWINMMU_ANY Bytes size)
#define CALL_Move(scope) \
  absl::Status scope Move(TWINMMU_ANY const Work& work, TWINMMU_ANY DeviceAddress destination, \
      TWINMMU_ANY DeviceAddress source, TWINMMU_ANY Bytes size)
#define CALL_Set(scope) \
  absl::Status scope Set(TWINMMU_ANY const Work& work, TWINMMU_ANY DeviceAddress destination, \
      TWINMMU_ANY const FillPattern& pattern, TWINMMU_ANY uint64_t count)
#define CALL_CreateStream(scope) \
  absl::StatusOr<Stream> scope CreateStream(TWINMMU_ANY DeviceOrdinal device)
#define CALL_DestroyStream(scope) \
  absl::Status scope DestroyStream(TWINMMU_ANY Stream stream)
#define CALL_QueryStream(scope) \
  absl::StatusOr<bool> scope QueryStream(TWINMMU_ANY Stream stream)
#define CALL_SynchronizeStream(scope) \
  absl::Status scope SynchronizeStream(TWINMMU_ANY Stream stream)
#define CALL_CreateEvent(scope) \
  absl::StatusOr<Event> scope CreateEvent(TWINMMU_ANY DeviceOrdinal device)
#define CALL_DestroyEvent(scope) \
  absl::Status scope DestroyEvent(TWINMMU_ANY Event event)
#define CALL_RecordEvent(scope) \
  absl::Status scope RecordEvent(TWINMMU_ANY Event event, TWINMMU_ANY Stream stream)
#define CALL_WaitEvent(scope) \
  absl::Status scope WaitEvent(TWINMMU_ANY Stream stream, TWINMMU_ANY Event event)
#define CALL_QueryEvent(scope) \
  absl::StatusOr<bool> scope QueryEvent(TWINMMU_ANY Event event)
#define CALL_SynchronizeEvent(scope) \
  absl::Status scope SynchronizeEvent(TWINMMU_ANY Event event)
#define CALL_SynchronizeDevice(scope) \
  absl::Status scope SynchronizeDevice(TWINMMU_ANY DeviceOrdinal device)
#define CALL_LoadModule(scope) \
  absl::StatusOr<Module> scope LoadModule(TWINMMU_ANY DeviceOrdinal device, \
      TWINMMU_ANY absl::string_view ptx)
#define CALL_UnloadModule(scope) \
  absl::Status scope UnloadModule(TWINMMU_ANY Module module)
#define CALL_GetKernel(scope) \
  absl::StatusOr<Kernel> scope GetKernel(TWINMMU_ANY Module module, \
      TWINMMU_ANY absl::string_view name)
#define CALL_Launch(scope) \
  absl::Status scope Launch(TWINMMU_ANY Stream stream, TWINMMU_ANY Kernel kernel, \
      TWINMMU_ANY const LaunchConfig& config, \
      TWINMMU_ANY absl::Span<const void* const> arguments)
#define CALL_GetMulticastGranularity(scope) \
  absl::StatusOr<Bytes> scope GetMulticastGranularity( \
      TWINMMU_ANY const MulticastProperties& properties, TWINMMU_ANY Granularity option)
#define CALL_CreateMulticast(scope) \
  absl::StatusOr<AllocationHandle> scope CreateMulticast( \
      TWINMMU_ANY const MulticastProperties& properties)
#define CALL_AddDevice(scope) \
  absl::Status scope AddDevice(TWINMMU_ANY AllocationHandle object, \
      TWINMMU_ANY DeviceOrdinal device)
#define CALL_BindMemory(scope) \
  absl::Status scope BindMemory(TWINMMU_ANY AllocationHandle object, TWINMMU_ANY Bytes offset, \
      TWINMMU_ANY AllocationHandle memory, TWINMMU_ANY Bytes memory_offset, \
      TWINMMU_ANY Bytes size, TWINMMU_ANY uint64_t flags)
#define CALL_BindAddress(scope) \
  absl::Status scope BindAddress(TWINMMU_ANY AllocationHandle object, TWINMMU_ANY Bytes offset, \
      TWINMMU_ANY const AddressRange& range, TWINMMU_ANY uint64_t flags)
#define CALL_Unbind(scope) \
  absl::Status scope Unbind(TWINMMU_ANY AllocationHandle object, TWINMMU_ANY DeviceOrdinal device, \
      TWINMMU_ANY Bytes offset, TWINMMU_ANY Bytes size)
// clang-format on

#endif  // TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_SIGNATURES_H_

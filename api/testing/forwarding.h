// ForwardingVmm, ForwardingExecutor, ForwardingMulticast, ForwardingSparseArrays, ForwardingDriver:
// pass every call on to another one. A wrapper derives from them and overrides only the calls that
// it changes: to record, to count, to fail on purpose.

#ifndef TWINMMU_API_TESTING_FORWARDING_H_
#define TWINMMU_API_TESTING_FORWARDING_H_

#include <cstdint>
#include <string>

#include "api/driver.h"
#include "api/executor.h"
#include "api/multicast.h"
#include "api/sparse_arrays.h"
#include "api/vmm.h"

namespace twinmmu {

class ForwardingVmm : public Vmm {
 public:
  // `target` must outlive this object.
  explicit ForwardingVmm(Vmm* target) : target_(target) {}

  using Vmm::AddressReserve;
  using Vmm::Create;
  using Vmm::ExportShareableHandle;
  using Vmm::Map;

  absl::StatusOr<int> GetDriverVersion() override { return target_->GetDriverVersion(); }
  absl::StatusOr<int> GetDeviceCount() override { return target_->GetDeviceCount(); }
  absl::StatusOr<std::string> GetDeviceName(DeviceOrdinal device) override {
    return target_->GetDeviceName(device);
  }
  absl::StatusOr<int> GetDeviceAttribute(DeviceAttribute attribute, DeviceOrdinal device) override {
    return target_->GetDeviceAttribute(attribute, device);
  }
  absl::StatusOr<bool> CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) override {
    return target_->CanAccessPeer(device, peer);
  }
  absl::StatusOr<MemoryInfo> GetMemoryInfo(DeviceOrdinal device) override {
    return target_->GetMemoryInfo(device);
  }
  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions& options) override {
    return target_->AddressReserve(size, options);
  }
  absl::Status AddressFree(const AddressRange& range) override {
    return target_->AddressFree(range);
  }
  absl::StatusOr<Bytes> GetAllocationGranularity(const AllocationProperties& properties,
                                                 Granularity option) override {
    return target_->GetAllocationGranularity(properties, option);
  }
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override {
    return target_->Create(size, properties, flags);
  }
  absl::Status Release(AllocationHandle handle) override { return target_->Release(handle); }
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override {
    return target_->RetainAllocationHandle(address);
  }
  absl::StatusOr<AllocationProperties> GetAllocationProperties(AllocationHandle handle) override {
    return target_->GetAllocationProperties(handle);
  }
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override {
    return target_->Map(range, handle, offset, flags);
  }
  absl::Status Unmap(const AddressRange& range) override { return target_->Unmap(range); }
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override {
    return target_->SetAccess(range, grants);
  }
  absl::StatusOr<Access> GetAccess(const Location& location, DeviceAddress address) override {
    return target_->GetAccess(location, address);
  }
  absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle handle, HandleType type,
                                                        uint64_t flags) override {
    return target_->ExportShareableHandle(handle, type, flags);
  }
  absl::StatusOr<AllocationHandle> ImportShareableHandle(
      const ShareableHandle& shareable) override {
    return target_->ImportShareableHandle(shareable);
  }
  absl::StatusOr<uint64_t> GetPointerAttribute(DeviceOrdinal device, PointerAttribute attribute,
                                               DeviceAddress address) override {
    return target_->GetPointerAttribute(device, attribute, address);
  }
  absl::StatusOr<AddressRange> GetAddressRange(DeviceOrdinal device,
                                               DeviceAddress address) override {
    return target_->GetAddressRange(device, address);
  }
  absl::StatusOr<int> GetHandleForAddressRange(DeviceOrdinal device, const AddressRange& range,
                                               RangeHandleType type, uint64_t flags) override {
    return target_->GetHandleForAddressRange(device, range, type, flags);
  }

 private:
  Vmm* target_;
};

class ForwardingExecutor : public Executor {
 public:
  // `target` must outlive this object.
  explicit ForwardingExecutor(Executor* target) : target_(target) {}

  absl::Status CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination, const void* source,
                                Bytes size) override {
    return target_->CopyHostToDevice(device, destination, source, size);
  }
  absl::Status CopyDeviceToHost(DeviceOrdinal device, void* destination, DeviceAddress source,
                                Bytes size) override {
    return target_->CopyDeviceToHost(device, destination, source, size);
  }
  absl::Status CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                  DeviceAddress source, Bytes size) override {
    return target_->CopyDeviceToDevice(device, destination, source, size);
  }
  absl::Status Fill(DeviceOrdinal device, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count) override {
    return target_->Fill(device, destination, pattern, count);
  }
  absl::Status CopyHostToDevice(Stream stream, DeviceAddress destination, const void* source,
                                Bytes size) override {
    return target_->CopyHostToDevice(stream, destination, source, size);
  }
  absl::Status CopyDeviceToHost(Stream stream, void* destination, DeviceAddress source,
                                Bytes size) override {
    return target_->CopyDeviceToHost(stream, destination, source, size);
  }
  absl::Status CopyDeviceToDevice(Stream stream, DeviceAddress destination, DeviceAddress source,
                                  Bytes size) override {
    return target_->CopyDeviceToDevice(stream, destination, source, size);
  }
  absl::Status Fill(Stream stream, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count) override {
    return target_->Fill(stream, destination, pattern, count);
  }
  absl::StatusOr<Stream> CreateStream(DeviceOrdinal device) override {
    return target_->CreateStream(device);
  }
  absl::Status DestroyStream(Stream stream) override { return target_->DestroyStream(stream); }
  absl::StatusOr<bool> QueryStream(Stream stream) override { return target_->QueryStream(stream); }
  absl::Status SynchronizeStream(Stream stream) override {
    return target_->SynchronizeStream(stream);
  }
  absl::StatusOr<Event> CreateEvent(DeviceOrdinal device) override {
    return target_->CreateEvent(device);
  }
  absl::Status DestroyEvent(Event event) override { return target_->DestroyEvent(event); }
  absl::Status RecordEvent(Event event, Stream stream) override {
    return target_->RecordEvent(event, stream);
  }
  absl::Status WaitEvent(Stream stream, Event event) override {
    return target_->WaitEvent(stream, event);
  }
  absl::StatusOr<bool> QueryEvent(Event event) override { return target_->QueryEvent(event); }
  absl::Status SynchronizeEvent(Event event) override { return target_->SynchronizeEvent(event); }
  absl::Status SynchronizeDevice(DeviceOrdinal device) override {
    return target_->SynchronizeDevice(device);
  }
  absl::StatusOr<Module> LoadModule(DeviceOrdinal device, absl::string_view ptx) override {
    return target_->LoadModule(device, ptx);
  }
  absl::Status UnloadModule(Module module) override { return target_->UnloadModule(module); }
  absl::StatusOr<Kernel> GetKernel(Module module, absl::string_view name) override {
    return target_->GetKernel(module, name);
  }
  absl::Status Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                      absl::Span<const void* const> arguments) override {
    return target_->Launch(stream, kernel, config, arguments);
  }

 private:
  Executor* target_;
};

class ForwardingMulticast : public Multicast {
 public:
  // `target` must outlive this object.
  explicit ForwardingMulticast(Multicast* target) : target_(target) {}

  using Multicast::BindAddress;
  using Multicast::BindMemory;

  absl::StatusOr<Bytes> GetGranularity(const MulticastProperties& properties,
                                       Granularity option) override {
    return target_->GetGranularity(properties, option);
  }
  absl::StatusOr<AllocationHandle> Create(const MulticastProperties& properties) override {
    return target_->Create(properties);
  }
  absl::Status AddDevice(AllocationHandle object, DeviceOrdinal device) override {
    return target_->AddDevice(object, device);
  }
  absl::Status BindMemory(AllocationHandle object, Bytes offset, AllocationHandle memory,
                          Bytes memory_offset, Bytes size, uint64_t flags) override {
    return target_->BindMemory(object, offset, memory, memory_offset, size, flags);
  }
  absl::Status BindAddress(AllocationHandle object, Bytes offset, const AddressRange& range,
                           uint64_t flags) override {
    return target_->BindAddress(object, offset, range, flags);
  }
  absl::Status Unbind(AllocationHandle object, DeviceOrdinal device, Bytes offset,
                      Bytes size) override {
    return target_->Unbind(object, device, offset, size);
  }

 private:
  Multicast* target_;
};

class ForwardingSparseArrays : public SparseArrays {
 public:
  // `target` must outlive this object.
  explicit ForwardingSparseArrays(SparseArrays* target) : target_(target) {}

  absl::StatusOr<Array> CreateArray(DeviceOrdinal device,
                                    const ArrayDescriptor& descriptor) override {
    return target_->CreateArray(device, descriptor);
  }
  absl::Status DestroyArray(Array array) override { return target_->DestroyArray(array); }
  absl::StatusOr<MipmappedArray> CreateMipmappedArray(DeviceOrdinal device,
                                                      const ArrayDescriptor& descriptor,
                                                      uint32_t levels) override {
    return target_->CreateMipmappedArray(device, descriptor, levels);
  }
  absl::Status DestroyMipmappedArray(MipmappedArray mipmap) override {
    return target_->DestroyMipmappedArray(mipmap);
  }
  absl::StatusOr<Array> GetLevel(MipmappedArray mipmap, uint32_t level) override {
    return target_->GetLevel(mipmap, level);
  }
  absl::StatusOr<SparseProperties> GetArraySparseProperties(Array array) override {
    return target_->GetArraySparseProperties(array);
  }
  absl::StatusOr<SparseProperties> GetMipmappedArraySparseProperties(
      MipmappedArray mipmap) override {
    return target_->GetMipmappedArraySparseProperties(mipmap);
  }
  absl::Status MapTiles(Stream stream, absl::Span<const TileOperation> operations) override {
    return target_->MapTiles(stream, operations);
  }
  absl::Status CopyHostToArray(Stream stream, Array array, const ArrayExtent& offset,
                               const ArrayExtent& extent, const void* source) override {
    return target_->CopyHostToArray(stream, array, offset, extent, source);
  }
  absl::Status CopyArrayToHost(Stream stream, void* destination, Array array,
                               const ArrayExtent& offset, const ArrayExtent& extent) override {
    return target_->CopyArrayToHost(stream, destination, array, offset, extent);
  }

 protected:
  void set_target(SparseArrays* target) { target_ = target; }

 private:
  SparseArrays* target_;
};

class ForwardingDriver : public Driver {
 public:
  // `target` must outlive this object.
  explicit ForwardingDriver(Driver* target) : target_(target) {}

  absl::StatusOr<Vmm*> vmm() override { return target_->vmm(); }
  absl::StatusOr<Executor*> executor() override { return target_->executor(); }
  absl::StatusOr<Multicast*> multicast() override { return target_->multicast(); }
  absl::StatusOr<SparseArrays*> sparse_arrays() override { return target_->sparse_arrays(); }

 private:
  Driver* target_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_FORWARDING_H_

// Real: what a mutant breaks. It passes every call on; a mutant overrides one or a few.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_REAL_H_
#define TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_REAL_H_

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/driver_error.h"
#include "api/testing/forwarding.h"

namespace twinmmu::conformance {

// Where a copy or a fill is done: without a stream, or on one.
struct Work {
  DeviceOrdinal device;
  std::optional<Stream> stream;
};

inline constexpr AddressRange kEverything{DeviceAddress(0), Bytes(~uint64_t{0}), Bytes(0)};

// All interfaces at once, so that a mutant may break one call and be noticed by another. A copy or
// fill without a stream and one on a stream come together in one call here, and the calls of
// Multicast have names of their own where those of Vmm have the same.
class Real : public ForwardingVmm, public ForwardingExecutor, public ForwardingSparseArrays {
 public:
  // Both must outlive this object.
  Real(Vmm* vmm, Executor* executor)
      : ForwardingVmm(vmm),
        ForwardingExecutor(executor),
        ForwardingSparseArrays(nullptr),
        executor_(executor) {}
  // Before the first call of SparseArrays; must outlive this object.
  void SetSparseArrays(SparseArrays* arrays) { set_target(arrays); }

  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions& options) override;
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override;
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override;

  virtual absl::Status Write(const Work& work, DeviceAddress destination, const void* source,
                             Bytes size);
  virtual absl::Status Read(const Work& work, void* destination, DeviceAddress source, Bytes size);
  virtual absl::Status Move(const Work& work, DeviceAddress destination, DeviceAddress source,
                            Bytes size);
  virtual absl::Status Set(const Work& work, DeviceAddress destination, const FillPattern& pattern,
                           uint64_t count);

  // Before the first call of these: who makes them, and must outlive this object.
  void SetMulticast(Multicast* multicast) { target_multicast_ = multicast; }
  // The calls below as an interface.
  Multicast* multicast() { return &multicast_; }
  virtual absl::StatusOr<Bytes> GetMulticastGranularity(const MulticastProperties& properties,
                                                        Granularity option) {
    return target_multicast_->GetGranularity(properties, option);
  }
  virtual absl::StatusOr<AllocationHandle> CreateMulticast(const MulticastProperties& properties) {
    return target_multicast_->Create(properties);
  }
  virtual absl::Status AddDevice(AllocationHandle object, DeviceOrdinal device) {
    return target_multicast_->AddDevice(object, device);
  }
  virtual absl::Status BindMemory(AllocationHandle object, Bytes offset, AllocationHandle memory,
                                  Bytes memory_offset, Bytes size, uint64_t flags) {
    return target_multicast_->BindMemory(object, offset, memory, memory_offset, size, flags);
  }
  virtual absl::Status BindAddress(AllocationHandle object, Bytes offset, const AddressRange& range,
                                   uint64_t flags) {
    return target_multicast_->BindAddress(object, offset, range, flags);
  }
  virtual absl::Status Unbind(AllocationHandle object, DeviceOrdinal device, Bytes offset,
                              Bytes size) {
    return target_multicast_->Unbind(object, device, offset, size);
  }

 protected:
  static absl::Status Ok() { return absl::OkStatus(); }
  static absl::Status Refuse(DriverCode code = DriverCode::kInvalidValue);
  // Another code in the place of an error.
  static absl::Status Instead(const absl::Status& status, DriverCode code) {
    return status.ok() ? status : Refuse(code);
  }
  template <typename T>
  static absl::StatusOr<T> Instead(const absl::StatusOr<T>& result, DriverCode code) {
    if (result.ok()) return result;
    return Refuse(code);
  }

  // --- What the machine holds, past the mutant ---
  Bytes Granule();
  // The mapping that contains the address.
  std::optional<AddressRange> MappingAt(DeviceAddress address);
  bool IsMapped(DeviceAddress address) { return MappingAt(address).has_value(); }
  // The mappings that overlap the range, in order.
  std::vector<AddressRange> MappingsIn(const AddressRange& range);
  std::vector<AddressRange> MappingsOf(AllocationHandle handle);
  // The handle mapped there, or 0; takes no reference.
  AllocationHandle HandleAt(DeviceAddress address);
  Access AccessAt(DeviceAddress address, int device = 0);
  // Those that were made through this object, freed or not; and the latest that contains an
  // address.
  std::vector<AddressRange> Reservations();
  std::optional<AddressRange> ReservationAt(DeviceAddress address);
  // As given to Create; 0 for a handle that is not from there.
  Bytes SizeOf(AllocationHandle handle);

  // --- Damage, done without a call that the test made ---
  // Each takes whatever is mapped in the range, and leaves the rest.
  void Remove(const AddressRange& range);
  void Grant(const AddressRange& range, Access access, int device = 0);
  void Scribble(const AddressRange& range);  // over the data; rights stay

 private:
  class MulticastFront : public Multicast {
   public:
    explicit MulticastFront(Real* real) : real_(*real) {}
    absl::StatusOr<Bytes> GetGranularity(const MulticastProperties& properties,
                                         Granularity option) override {
      return real_.GetMulticastGranularity(properties, option);
    }
    absl::StatusOr<AllocationHandle> Create(const MulticastProperties& properties) override {
      return real_.CreateMulticast(properties);
    }
    absl::Status AddDevice(AllocationHandle object, DeviceOrdinal device) override {
      return real_.AddDevice(object, device);
    }
    absl::Status BindMemory(AllocationHandle object, Bytes offset, AllocationHandle memory,
                            Bytes memory_offset, Bytes size, uint64_t flags) override {
      return real_.BindMemory(object, offset, memory, memory_offset, size, flags);
    }
    absl::Status BindAddress(AllocationHandle object, Bytes offset, const AddressRange& range,
                             uint64_t flags) override {
      return real_.BindAddress(object, offset, range, flags);
    }
    absl::Status Unbind(AllocationHandle object, DeviceOrdinal device, Bytes offset,
                        Bytes size) override {
      return real_.Unbind(object, device, offset, size);
    }

   private:
    Real& real_;
  };

  absl::Status CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination, const void* source,
                                Bytes size) final;
  absl::Status CopyDeviceToHost(DeviceOrdinal device, void* destination, DeviceAddress source,
                                Bytes size) final;
  absl::Status CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                  DeviceAddress source, Bytes size) final;
  absl::Status Fill(DeviceOrdinal device, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count) final;
  absl::Status CopyHostToDevice(Stream stream, DeviceAddress destination, const void* source,
                                Bytes size) final;
  absl::Status CopyDeviceToHost(Stream stream, void* destination, DeviceAddress source,
                                Bytes size) final;
  absl::Status CopyDeviceToDevice(Stream stream, DeviceAddress destination, DeviceAddress source,
                                  Bytes size) final;
  absl::Status Fill(Stream stream, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count) final;

  Executor* executor_;
  Multicast* target_multicast_ = nullptr;
  MulticastFront multicast_{this};
  std::mutex mutex_;  // guards what follows
  std::vector<AddressRange> reservations_;
  std::vector<AddressRange> mappings_;  // all that were ever made
  std::map<AllocationHandle, Bytes> sizes_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_REAL_H_

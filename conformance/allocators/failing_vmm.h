// FailingVmm: refuses the calls that a test says, and counts all that concern memory.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_FAILING_VMM_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_FAILING_VMM_H_

#include <map>
#include <mutex>

#include "absl/types/span.h"
#include "api/driver_error.h"
#include "api/testing/forwarding.h"

namespace twinmmu::conformance {

// Any thread, at any time.
class FailingVmm : public ForwardingVmm {
 public:
  enum class Call { kAddressFree, kCreate, kRelease, kRetain, kMap, kUnmap, kSetAccess };

  using ForwardingVmm::ForwardingVmm;

  // The next `times` calls of this kind give UNKNOWN and do not reach the driver.
  void Fail(Call call, int times = 1) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failing_[call] = times;
  }
  // How often it was called, refused or not.
  int CountOf(Call call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_[call];
  }

  absl::Status AddressFree(const AddressRange& range) override {
    const absl::Status status = Enter(Call::kAddressFree);
    return status.ok() ? ForwardingVmm::AddressFree(range) : status;
  }
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override {
    const absl::Status status = Enter(Call::kCreate);
    if (!status.ok()) return status;
    return ForwardingVmm::Create(size, properties, flags);
  }
  absl::Status Release(AllocationHandle handle) override {
    const absl::Status status = Enter(Call::kRelease);
    return status.ok() ? ForwardingVmm::Release(handle) : status;
  }
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override {
    const absl::Status status = Enter(Call::kRetain);
    if (!status.ok()) return status;
    return ForwardingVmm::RetainAllocationHandle(address);
  }
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override {
    const absl::Status status = Enter(Call::kMap);
    return status.ok() ? ForwardingVmm::Map(range, handle, offset, flags) : status;
  }
  absl::Status Unmap(const AddressRange& range) override {
    const absl::Status status = Enter(Call::kUnmap);
    return status.ok() ? ForwardingVmm::Unmap(range) : status;
  }
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override {
    const absl::Status status = Enter(Call::kSetAccess);
    return status.ok() ? ForwardingVmm::SetAccess(range, grants) : status;
  }

 private:
  absl::Status Enter(Call call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_[call];
    if (failing_[call] == 0) return absl::OkStatus();
    --failing_[call];
    return MakeDriverStatus({DriverCode::kUnknown, ErrorOrigin::kDriver, "any"},
                            "refused on purpose");
  }

  std::mutex mutex_;
  std::map<Call, int> failing_;
  std::map<Call, int> counts_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_FAILING_VMM_H_

// LedgerVmm: remembers what succeeded, so that a test that ends half-way leaves nothing behind.

#ifndef TWINMMU_CONFORMANCE_FRAMEWORK_LEDGER_H_
#define TWINMMU_CONFORMANCE_FRAMEWORK_LEDGER_H_

#include <map>
#include <vector>

#include "api/testing/forwarding.h"

namespace twinmmu::conformance {

// Books reservations, references and mappings as the wrapped Vmm reports them. For one thread at a
// time.
class LedgerVmm : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;

  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions& options) override;
  absl::Status AddressFree(const AddressRange& range) override;
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override;
  absl::Status Release(AllocationHandle handle) override;
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override;
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override;
  absl::Status Unmap(const AddressRange& range) override;
  absl::StatusOr<AllocationHandle> ImportShareableHandle(const ShareableHandle& shareable) override;

  // Undoes what is still booked: mappings, then reservations, then references. Gives the first
  // error and goes on after it.
  absl::Status UndoAll();

 private:
  std::vector<AddressRange> reservations_;
  std::vector<AddressRange> mappings_;
  std::map<AllocationHandle, int> references_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_FRAMEWORK_LEDGER_H_

// CheckedVmm: watches the calls that a program makes on any Vmm, even the driver's. It reports
// misuse with the simulator's diagnostics (docs/reference/diagnostics.md), and leaks.
//
//   CheckedVmm vmm(driver->vmm().value());
//   RunMyAllocator(vmm);
//   EXPECT_THAT(vmm.diagnostics(), IsEmpty());  // api/testing/diagnostic_matchers.h
//   EXPECT_THAT(vmm.leaks(), IsEmpty());
//
// It knows only what passed through it: not the program's own CUDA calls, nor who uses memory. So
// only the simulator can report some kinds; docs/reference/diagnostics.md lists them.
//
// Every call is forwarded unchanged, and its answer returned unchanged, with one exception: calls
// whose outcome is undefined and may end the process, because a handle is dead, was never issued
// here, or is released too often. Such a call is InvalidArgument (INVALID_VALUE, from
// ErrorOrigin::kChecker) and not forwarded, unless CheckedVmmOptions::refuse_undefined is false.
// Handle 0 is forwarded: drivers refuse it.
//
// Its state follows the driver's answers, right or wrong. When a refusal does not show its reason,
// or what was done nevertheless, it queries the driver: for the granularity after Map, for the
// number of devices and access after SetAccess.
//
// Thread safety: as in api/vmm.h. No lock is held while a call is forwarded or a callback runs.

#ifndef TWINMMU_API_TESTING_CHECKED_VMM_H_
#define TWINMMU_API_TESTING_CHECKED_VMM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "api/diagnostics.h"
#include "api/testing/forwarding.h"

namespace twinmmu {

// The first four are as in SimulatorOptions.
struct CheckedVmmOptions {
  // How many calls the history remembers. 0: none; then a diagnostic says what is wrong, but not
  // since when, and a double unmap is reported as an unmap of nothing.
  size_t calls_remembered = 4096;
  // How many diagnostics are kept in full; all are counted.
  size_t diagnostics_kept = 256;
  // Called with each diagnostic: its kind, and the whole diagnostic, or null if it is only counted.
  // Runs in the thread of the call, before the call returns. It may call the CheckedVmm, but must
  // not throw.
  std::function<void(DiagnosticKind, const Diagnostic*)> at_once;
  // Called by the destructor with the kept diagnostics and the leaks. For tests:
  //   [](const std::vector<Diagnostic>& all) { EXPECT_THAT(all, IsEmpty()); }
  std::function<void(const std::vector<Diagnostic>&)> at_end;
  // Whether undefined calls are refused rather than forwarded.
  bool refuse_undefined = true;
};

// What is mapped where: an entry of CheckedVmm::mappings().
struct CheckedMapping {
  AddressRange reservation;         // in which it begins; empty at its base if there is none
  MappingInfo mapping;              // `access`: the most that any location has
  Bytes allocation_offset;          // into the allocation
  std::vector<AccessGrant> grants;  // of each location that has one
  uint64_t made_by = 0;             // the id of the call

  AddressRange range() const {
    return AddressRange{reservation.base + mapping.offset, mapping.size, Bytes(0)};
  }
};
// "[0x7f0000200000, +2 MiB]: handle 0x100000001 at offset 0 B, read-write for device 0, by call 3".
std::string ToString(const CheckedMapping& mapping);
std::ostream& operator<<(std::ostream& out, const CheckedMapping& mapping);

class CheckedVmm : public ForwardingVmm {
 public:
  // `target` must outlive this object. It may have been used before, but what was made before is
  // unknown here.
  explicit CheckedVmm(Vmm* target, CheckedVmmOptions options = {});
  ~CheckedVmm() override;

  using Vmm::AddressReserve;
  using Vmm::Create;
  using Vmm::ExportShareableHandle;
  using Vmm::Map;

  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions& options) override;
  absl::Status AddressFree(const AddressRange& range) override;
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override;
  absl::Status Release(AllocationHandle handle) override;
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override;
  absl::StatusOr<AllocationProperties> GetAllocationProperties(AllocationHandle handle) override;
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override;
  absl::Status Unmap(const AddressRange& range) override;
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override;
  absl::StatusOr<Access> GetAccess(const Location& location, DeviceAddress address) override;
  absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle handle, HandleType type,
                                                        uint64_t flags) override;
  absl::StatusOr<AllocationHandle> ImportShareableHandle(const ShareableHandle& shareable) override;
  absl::StatusOr<AddressRange> GetAddressRange(DeviceOrdinal device,
                                               DeviceAddress address) override;

  // The diagnostics so far: the first ones in full, as many as the options say.
  std::vector<Diagnostic> diagnostics() const;
  // How many of a kind there were, kept or not.
  uint64_t CountOf(DiagnosticKind kind) const;
  // What would be leaked if this were the end: mappings and reservations by address, references to
  // allocations by handle, and descriptors that are still open as returned.
  std::vector<Diagnostic> leaks() const;
  // The remembered calls that involved an address, oldest first.
  std::vector<HistoryEntry> HistoryOf(DeviceAddress address) const;
  // The current mappings, by address.
  std::vector<CheckedMapping> mappings() const;

 private:
  struct Parts;

  const std::unique_ptr<Parts> parts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_CHECKED_VMM_H_

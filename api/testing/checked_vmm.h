// CheckedVmm: watches the calls that a program makes on any Vmm, the driver's too, and says what is
// wrong with them, in the words of the simulator (docs/reference/diagnostics.md), and what is left.
//
//   CheckedVmm vmm(driver->vmm().value());
//   RunMyAllocator(vmm);
//   EXPECT_THAT(vmm.diagnostics(), IsEmpty());  // api/testing/diagnostic_matchers.h
//   EXPECT_THAT(vmm.leaks(), IsEmpty());
//
// It knows what passed through it, and nothing else: not what the program does by CUDA calls of its
// own, nor who uses memory. So there are kinds that only the simulator tells;
// docs/reference/diagnostics.md lists them.
//
// Every call is passed on as it is, and its answer returned as it is, with one exception: where the
// outcome is not defined and may be the end of the process, because a handle is dead, was never
// given out here, or is released too often. Then the call is InvalidArgument (INVALID_VALUE, from
// ErrorOrigin::kChecker) without being passed on, unless CheckedVmmOptions::refuse_undefined is
// false. Handle 0 is passed on: drivers refuse it.
//
// What is known follows what the driver answers, be it right or wrong. Where a refusal leaves open
// what it was for, or what was done all the same, the driver is asked: for the granularity after
// Map, for the number of devices and access after SetAccess.
//
// Thread safety: as in api/vmm.h. No lock is held while a call is passed on, or somebody is told.

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
  // since when, and a double unmap is an unmap of nothing.
  size_t calls_remembered = 4096;
  // How many diagnostics are kept in full; all are counted.
  size_t diagnostics_kept = 256;
  // Called with each diagnostic: its kind, and all of it, or null if it is only counted. By the
  // thread whose call it is about, before that call returns. It may call the CheckedVmm, but must
  // not throw.
  std::function<void(DiagnosticKind, const Diagnostic*)> at_once;
  // Called by the destructor with the diagnostics that were kept, and the leaks. For tests:
  //   [](const std::vector<Diagnostic>& all) { EXPECT_THAT(all, IsEmpty()); }
  std::function<void(const std::vector<Diagnostic>&)> at_end;
  // Whether calls with handles that no driver defines end here.
  bool refuse_undefined = true;
};

// What is mapped where: a line of the table that CheckedVmm::mappings() gives.
struct CheckedMapping {
  AddressRange reservation;         // that it begins in; empty at its base if there is none
  MappingInfo mapping;              // `access`: the most that anybody has
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
  // `target` must outlive this object. It may have been used before, but what was made then is
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

  // What was noticed so far: the first ones in full, as many as the options say.
  std::vector<Diagnostic> diagnostics() const;
  // How many of a kind were noticed, kept or not.
  uint64_t CountOf(DiagnosticKind kind) const;
  // What is there now and would be lost if this were the end: mappings and reservations by address,
  // references to allocations by handle, and descriptors that are still open as they were handed
  // out.
  std::vector<Diagnostic> leaks() const;
  // The remembered calls that had to do with an address, oldest first.
  std::vector<HistoryEntry> HistoryOf(DeviceAddress address) const;
  // What is mapped now, by address.
  std::vector<CheckedMapping> mappings() const;

 private:
  struct Parts;

  const std::unique_ptr<Parts> parts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_CHECKED_VMM_H_

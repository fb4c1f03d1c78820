// What was said of the pages of managed memory.

#ifndef TWINMMU_SIM_MEMORY_MANAGED_HINTS_H_
#define TWINMMU_SIM_MEMORY_MANAGED_HINTS_H_

#include <cstdint>
#include <map>
#include <optional>

#include "absl/functional/function_ref.h"
#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu {

struct ManagedHints {
  bool read_mostly = false;
  std::optional<Location> preferred;
  std::optional<Location> prefetched;  // where to, last
  uint64_t accessed_by = 0;            // a bit for each device
  bool accessed_by_host = false;

  bool operator==(const ManagedHints& other) const;
};

// Page by page: a range means all pages that have a byte of it. Not thread-safe.
class HintsByPage {
 public:
  // Does change(hints) for all pages of `range`. Throws std::bad_alloc, and then has changed
  // nothing.
  void Edit(const AddressRange& range, absl::FunctionRef<void(ManagedHints&)> change);
  // The pages of `range` have no hints any more. Where there is no memory to keep those of their
  // neighbours, all are forgotten: nothing else follows from hints.
  void Forget(const AddressRange& range);
  // What all pages of `range` have in common; it has one.
  ManagedHints InCommon(const AddressRange& range) const;

 private:
  struct Piece {
    uint64_t end = 0;
    ManagedHints hints;
  };
  // No piece reaches over `address`.
  void Split(uint64_t address);

  std::map<uint64_t, Piece> pieces_;  // by begin; those without hints are not there
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MEMORY_MANAGED_HINTS_H_

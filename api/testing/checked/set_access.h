// What SetAccess has done where its answer does not tell.

#ifndef TWINMMU_API_TESTING_CHECKED_SET_ACCESS_H_
#define TWINMMU_API_TESTING_CHECKED_SET_ACCESS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "api/testing/checked/book.h"
#include "api/vmm.h"

namespace twinmmu::checked {

// A mapping as it was when it was noted, and as the driver says.
struct AskedMapping {
  AddressRange range;
  uint64_t made_by = 0;
  Grants before;
  Grants now;
};

// The mappings of `range`. With book.mutex held.
std::vector<AskedMapping> MappingsOf(const Book& book, const AddressRange& range);
// Asks `vmm` for the access of each location that is named. Without the lock.
void AskAccess(Vmm& vmm, absl::Span<const AccessGrant> grants, std::vector<AskedMapping>& mappings);
// Takes over what it said, for those that are still there. With book.mutex held.
void Follow(Book& book, const std::vector<AskedMapping>& mappings);

// What a call that was refused has set all the same.
struct AppliedPart {
  AddressRange range;
  Grants grants;
};
// Nothing: no access has changed.
std::optional<AppliedPart> AppliedOf(absl::Span<const AccessGrant> grants,
                                     const std::vector<AskedMapping>& mappings);

}  // namespace twinmmu::checked

#endif  // TWINMMU_API_TESTING_CHECKED_SET_ACCESS_H_

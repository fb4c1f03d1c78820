// Findings: what is wrong with a call, before anybody knows how it is answered.

#ifndef TWINMMU_API_TESTING_CHECKED_FINDINGS_H_
#define TWINMMU_API_TESTING_CHECKED_FINDINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/diagnostic_words.h"
#include "api/testing/checked/book.h"

namespace twinmmu::checked {

// One thing that is wrong, and what to say of it if the call is refused and if it passes. Nothing:
// that answer has another reason.
struct Finding {
  Misuse misuse;
  std::optional<std::string> if_refused;
  std::optional<std::string> if_passed;
  std::vector<HistoryEntry> history;
};
// In the order in which they are told.
using Findings = std::vector<Finding>;

// Whether there is one of a kind that every driver refuses.
bool HaveError(const Findings& findings);
// Whether the call's outcome is not defined, and may be the end of the process.
bool AreUndefined(const Findings& findings);

// All with book.mutex held. None: nothing is wrong, or an argument is wrong whatever the state, of
// which a status says all.
Findings FindingsOfFree(const Book& book, const AddressRange& range);
Findings FindingsOfRelease(const Book& book, AllocationHandle handle);
Findings FindingsOfGetProperties(const Book& book, AllocationHandle handle);
Findings FindingsOfExport(const Book& book, AllocationHandle handle, HandleType type,
                          uint64_t flags);
Findings FindingsOfMap(const Book& book, const AddressRange& range, AllocationHandle handle,
                       Bytes offset, uint64_t flags);
Findings FindingsOfUnmap(const Book& book, const AddressRange& range);
Findings FindingsOfSetAccess(const Book& book, const AddressRange& range,
                             absl::Span<const AccessGrant> grants);

// The answer to a question was wrong.
Findings FindingsOfHostAccess(const Book& book, DeviceAddress address, Access answer);
Findings FindingsOfAddressRange(const Book& book, DeviceAddress address,
                                const AddressRange& answer);

// One of which the words are the same in both cases, with the history of what it is about.
Finding FindingOf(const Book& book, const Misuse& misuse, const std::string& words);

// What an Unmap of `range` that passes takes away: the last address is taken for the one before 0,
// and what wraps is nothing.
AddressRange TakenByUnmap(const AddressRange& range);

}  // namespace twinmmu::checked

#endif  // TWINMMU_API_TESTING_CHECKED_FINDINGS_H_

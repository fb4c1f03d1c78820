// Alphabet: every call of a small machine, whose sequences can all be made.
//
// The machine has three granules of addresses behind one that is always reserved (so that their
// place is known, whatever the implementation chooses), two handles and two devices.

#ifndef TWINMMU_CONFORMANCE_SMALL_SCOPE_ALPHABET_H_
#define TWINMMU_CONFORMANCE_SMALL_SCOPE_ALPHABET_H_

#include <string>
#include <vector>

#include "conformance/random/checker.h"
#include "conformance/random/random_call.h"

namespace twinmmu::conformance::small_scope {

inline constexpr int kGranules = 3;
inline constexpr int kHandles = 2;
inline constexpr int kDevices = 2;
// The slot of the reservation before the first granule.
inline constexpr int kAnchor = random::Slots::kReservations - 1;

// Makes that reservation; the first call of each sequence.
random::Call ReserveAnchor();

// The calls: reservations and their ends, allocations of one and two granules, references, maps,
// unmaps and grants of all ranges. Those of one that reaches beyond the last granule are among
// them.
std::vector<random::Call> Alphabet();

// Whether the call says something where the checker stands. A reservation of what is taken, which
// goes anywhere, a handle that nothing would hold any more, and the second of two slots that are
// alike do not.
bool IsOffered(const random::Call& call, const random::Checker& checker);

// Where the first granule is.
DeviceAddress OriginOf(const random::Checker& checker);
// Which state the checker is in, but for the names of handles and the place of the anchor.
std::string ShapeOf(const random::Checker& checker);

}  // namespace twinmmu::conformance::small_scope

#endif  // TWINMMU_CONFORMANCE_SMALL_SCOPE_ALPHABET_H_

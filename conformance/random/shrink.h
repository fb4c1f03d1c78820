// Shrinks a sequence of calls that shows a difference.

#ifndef TWINMMU_CONFORMANCE_RANDOM_SHRINK_H_
#define TWINMMU_CONFORMANCE_RANDOM_SHRINK_H_

#include <functional>
#include <vector>

#include "conformance/random/random_call.h"

namespace twinmmu::conformance::random {

// `fails(calls)` is true, and says whether a sequence still does. What comes back fails too, and
// does no longer if any one call is taken out of it.
using Fails = std::function<bool(const std::vector<Call>& calls)>;
std::vector<Call> Shrink(std::vector<Call> calls, const Fails& fails);

}  // namespace twinmmu::conformance::random

#endif  // TWINMMU_CONFORMANCE_RANDOM_SHRINK_H_

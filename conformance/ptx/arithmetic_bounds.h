// How near a result of an approximate instruction has to be to another.

#ifndef TWINMMU_CONFORMANCE_PTX_ARITHMETIC_BOUNDS_H_
#define TWINMMU_CONFORMANCE_PTX_ARITHMETIC_BOUNDS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "sim/ptx/text/type.h"

namespace twinmmu::conformance {

// Whether two results of `form`, of `type`, may both be right by what PTX says of its error, for
// the first input `input`, of the same type.
bool AreNear(absl::string_view form, ptx::Type type, uint64_t input, uint64_t a, uint64_t b);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_PTX_ARITHMETIC_BOUNDS_H_

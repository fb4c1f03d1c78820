// What an implementation diagnoses, in words that do not depend on where things are.

#ifndef TWINMMU_CONFORMANCE_SMALL_SCOPE_WORDS_H_
#define TWINMMU_CONFORMANCE_SMALL_SCOPE_WORDS_H_

#include <string>
#include <vector>

#include "api/diagnostics.h"

namespace twinmmu::conformance::small_scope {

// Kind and severity.
std::string KindOf(const Diagnostic& diagnostic);
// Also the call and the message: an address near `origin` as the distance from it, other numbers
// of that form and the ids of calls as "#".
std::string WordsOf(const Diagnostic& diagnostic, DeviceAddress origin);

// For a reader: that the second is not the first.
std::string Compared(const std::vector<std::string>& first, const std::vector<std::string>& second);

}  // namespace twinmmu::conformance::small_scope

#endif  // TWINMMU_CONFORMANCE_SMALL_SCOPE_WORDS_H_

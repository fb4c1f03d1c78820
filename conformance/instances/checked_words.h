// What two reporters say, made comparable.

#ifndef TWINMMU_CONFORMANCE_INSTANCES_CHECKED_WORDS_H_
#define TWINMMU_CONFORMANCE_INSTANCES_CHECKED_WORDS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "api/diagnostics.h"

namespace twinmmu::conformance {

// Each of them in full, as text.
std::vector<std::string> Texts(absl::Span<const Diagnostic> diagnostics);

// The same where addresses and handles are others: each, and each large number, has the number of
// its first appearance.
std::vector<std::string> TextsWithoutAddresses(absl::Span<const Diagnostic> diagnostics);

// For where only one of the two numbers calls of an executor: without numbers and history, and
// without what a wrapper cannot see.
std::string TextWithoutNumbers(const Diagnostic& diagnostic);
// The sentence of the call that the message names; empty if the history does not have it.
std::string CauseIn(const Diagnostic& diagnostic);
// The sentences of history but for those of calls that CheckedVmm does not see or number.
std::vector<std::string> SentencesOf(const Diagnostic& diagnostic);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_INSTANCES_CHECKED_WORDS_H_

// Documents of which a part is generated: the words around it are written by hand.

#ifndef TWINMMU_CONFORMANCE_RULES_DOCUMENT_H_
#define TWINMMU_CONFORMANCE_RULES_DOCUMENT_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu::conformance {

// A paragraph in lines of at most `width` characters, where its words allow it. `mark` begins the
// first one ("* ", "1. ", or nothing); the others are indented by as much.
std::string Paragraph(absl::string_view mark, absl::string_view text, size_t width = 100);

// `document` with `text` between the lines "<!-- begin: NAME -->" and "<!-- end: NAME -->", which
// stay. InvalidArgument: these lines are not there once each, in this order.
absl::StatusOr<std::string> ReplaceSection(absl::string_view document, absl::string_view name,
                                           absl::string_view text);

// The main function of a program that `bazel run` starts: updates the file at `path` in the source
// tree, says so, and gives the exit code.
int UpdateFile(absl::string_view path,
               const std::function<absl::StatusOr<std::string>(absl::string_view)>& update);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_RULES_DOCUMENT_H_

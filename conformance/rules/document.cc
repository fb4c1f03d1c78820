#include "conformance/rules/document.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace twinmmu::conformance {

std::string Paragraph(absl::string_view mark, absl::string_view text, size_t width) {
  const std::string indentation(mark.size(), ' ');
  std::string lines;
  std::string line(mark);
  bool empty = true;  // but for the mark
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (!empty && line.size() + 1 + word.size() > width) {
      absl::StrAppend(&lines, line, "\n");
      line = indentation;
      empty = true;
    }
    absl::StrAppend(&line, empty ? "" : " ", word);
    empty = false;
  }
  return absl::StrCat(lines, line, "\n");
}

absl::StatusOr<std::string> ReplaceSection(absl::string_view document, absl::string_view name,
                                           absl::string_view text) {
  const std::string begin = absl::StrCat("<!-- begin: ", name, " -->\n");
  const std::string end = absl::StrCat("<!-- end: ", name, " -->\n");
  const size_t first = document.find(begin);
  const size_t last = document.find(end);
  if (first == absl::string_view::npos || last == absl::string_view::npos || last < first ||
      document.rfind(begin) != first || document.rfind(end) != last) {
    return absl::InvalidArgumentError(absl::StrCat("there must be one line \"",
                                                   absl::StripSuffix(begin, "\n"), "\", and one \"",
                                                   absl::StripSuffix(end, "\n"), "\" behind it"));
  }
  return absl::StrCat(document.substr(0, first + begin.size()), text, document.substr(last));
}

int UpdateFile(absl::string_view path,
               const std::function<absl::StatusOr<std::string>(absl::string_view)>& update) {
  const char* const root = std::getenv("BUILD_WORKSPACE_DIRECTORY");  // set by `bazel run`
  const std::string full = absl::StrCat(root != nullptr ? root : ".", "/", path);
  std::stringstream document;
  document << std::ifstream(full).rdbuf();
  const absl::StatusOr<std::string> updated = update(document.str());
  if (!updated.ok()) {
    std::cerr << full << ": " << updated.status().message() << "\n";
    return 1;
  }
  std::ofstream file(full);
  file << *updated;
  file.close();
  std::cout << (file ? "wrote " : "could not write ") << full << "\n";
  return file ? 0 : 1;
}

}  // namespace twinmmu::conformance

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "api/files/read_file.h"
#include "tools/annotations/annotations.h"
#include "tools/annotations/ci_reports.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"

namespace twinmmu {
namespace {

struct Format {
  const char* name;
  std::string (*write)(const std::vector<Annotation>&);
};
constexpr Format kFormats[] = {
    {"github", ForGitHub}, {"gitlab", ForGitLab}, {"junit", ForJUnit}, {"sarif", ForSarif}};

std::string SourceRoot(const Options& options) {
  return options.annotate.source_root.empty() ? UsualSourceRoot() : options.annotate.source_root;
}

}  // namespace

int AnnotateCommand(const Options& options, Screen& screen) {
  if (options.operands.size() != 1) {
    return UsageError("annotate needs one report, a file of `twinmmu run --report=FILE`.");
  }
  const std::string& report = options.operands.front();
  for (const Format& format : kFormats) {
    if (options.annotate.format != format.name) continue;
    const absl::StatusOr<std::unique_ptr<LineReader>> lines = LineReader::Open(report);
    if (!lines.ok()) return UsageError(lines.status());
    const absl::StatusOr<std::vector<Annotation>> annotations =
        ReadAnnotations(**lines, SourceRoot(options));
    if (!annotations.ok()) return UsageError(annotations.status());
    screen.text() << format.write(*annotations);
    return 0;
  }
  return UsageError(absl::StrCat("--format=", options.annotate.format,
                                 ": must be github, gitlab, junit or sarif."));
}

}  // namespace twinmmu

#include "tools/annotations/ci_reports.h"

#include <filesystem>
#include <system_error>

#include "api/files/replaced_file.h"

namespace twinmmu {
namespace {

absl::Status WriteText(const std::string& path, const std::string& text) {
  if (path.empty()) return absl::OkStatus();
  ReplacedFile file(path);
  file.stream() << text;
  return file.Finish();
}

}  // namespace

absl::Status WriteCiReports(const CiReports& reports, const std::vector<Annotation>& annotations,
                            std::ostream& output) {
  if (reports.annotations) output << ForGitHub(annotations);
  absl::Status written = WriteText(reports.sarif, ForSarif(annotations));
  written.Update(WriteText(reports.junit, ForJUnit(annotations)));
  return written;
}

std::string UsualSourceRoot() {
  std::error_code unknown;
  return std::filesystem::current_path(unknown).string();
}

}  // namespace twinmmu

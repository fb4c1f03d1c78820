#include <utility>

#include "absl/status/statusor.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"
#include "tools/commands/ptx_report.h"

namespace twinmmu {

int PtxCommand(const Options& options, Screen& screen) {
  if (options.operands.empty()) return UsageError("ptx needs files of PTX, or fat binaries.");
  OrderedJson results = Results("ptx");
  results["files"] = OrderedJson::array();
  int exit_code = 0;
  for (const std::string& path : options.operands) {
    absl::StatusOr<PtxReport> report = ReportPtxFile(path, screen.text());
    if (!report.ok()) return UsageError(report.status());
    if (!report->runs) exit_code = 1;
    results["files"].push_back(std::move(report->record));
  }
  return screen.Finish(exit_code, results);
}

}  // namespace twinmmu

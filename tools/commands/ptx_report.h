// ReportPtx: what a module of device code needs, and which of its kernels the simulator runs.

#ifndef TWINMMU_TOOLS_COMMANDS_PTX_REPORT_H_
#define TWINMMU_TOOLS_COMMANDS_PTX_REPORT_H_

#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace twinmmu {

struct PtxReport {
  bool runs = false;  // all of its kernels do
  nlohmann::ordered_json record;
};

// Of `image`, the content of a file: PTX, or a fat binary with PTX. What is wrong with it is part
// of the report.
PtxReport ReportPtx(const std::string& name, absl::string_view image, std::ostream& out);

// The same of a file. NotFound: it cannot be read.
absl::StatusOr<PtxReport> ReportPtxFile(const std::string& path, std::ostream& out);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMANDS_PTX_REPORT_H_

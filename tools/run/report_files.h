// ReadReports: what the processes of a run have left of themselves.

#ifndef TWINMMU_TOOLS_RUN_REPORT_FILES_H_
#define TWINMMU_TOOLS_RUN_REPORT_FILES_H_

#include <string>
#include <vector>

#include "sim/libcuda/report/report_reader.h"

namespace twinmmu {

// The reports in a folder, by process. Whatever else a program has put there is passed over: what
// is no file, what is no report, and what holds more than 1 GiB. Processes that still run may
// change their reports meanwhile, or cut them.
std::vector<libcuda::ProcessReport> ReadReports(const std::string& folder);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RUN_REPORT_FILES_H_

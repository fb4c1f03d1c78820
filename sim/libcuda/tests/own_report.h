// What the report of this very process says so far.

#ifndef TWINMMU_SIM_LIBCUDA_TESTS_OWN_REPORT_H_
#define TWINMMU_SIM_LIBCUDA_TESTS_OWN_REPORT_H_

#include <vector>

#include "api/diagnostics.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/report/report_reader.h"

namespace twinmmu::libcuda {

inline ProcessReport OwnReport() {
  const ReportMemory& memory = *Process::Get().report().memory();
  return *ReadReport(memory.data(), memory.layout().size());
}

inline std::vector<ReportedDiagnostic> ReportedOf(DiagnosticKind kind) {
  std::vector<ReportedDiagnostic> reported;
  for (const ReportedDiagnostic& found : OwnReport().diagnostics) {
    if (found.kind == kind) reported.push_back(found);
  }
  return reported;
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_TESTS_OWN_REPORT_H_

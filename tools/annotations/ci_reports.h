// WriteCiReports: what is wrong in a run, into the files that CI systems read.

#ifndef TWINMMU_TOOLS_ANNOTATIONS_CI_REPORTS_H_
#define TWINMMU_TOOLS_ANNOTATIONS_CI_REPORTS_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/annotations/annotations.h"

namespace twinmmu {

// Which of them somebody asks for. Empty: not asked for.
struct CiReports {
  std::string sarif;
  std::string junit;
  bool annotations = false;  // workflow commands of GitHub Actions, in the output

  bool any() const { return annotations || !sarif.empty() || !junit.empty(); }
};

// ResourceExhausted: a file cannot be written.
absl::Status WriteCiReports(const CiReports& reports, const std::vector<Annotation>& annotations,
                            std::ostream& output);

// The folder below which the sources are, where nobody names one: the current one.
std::string UsualSourceRoot();

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_ANNOTATIONS_CI_REPORTS_H_

// Annotations: what a report of `twinmmu run` complains of, for systems that show it beside the
// sources.

#ifndef TWINMMU_TOOLS_ANNOTATIONS_ANNOTATIONS_H_
#define TWINMMU_TOOLS_ANNOTATIONS_ANNOTATIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/files/read_file.h"

namespace twinmmu {

// An earlier call of the same memory, at a place that is known.
struct EarlierCall {
  std::string sentence;  // cuMemsetAsync of [0x7f0000200000, +1 KiB]
  std::string file;      // as that of an Annotation
  int line = 0;
};

struct Annotation {
  bool is_error = true;  // or a warning
  std::string kind;      // kDoubleUnmap
  std::string message;   // lines
  std::string file;      // below the root of the sources, where it is; empty: not known
  int line = 0;
  std::string program;               // that the process ran
  std::vector<EarlierCall> earlier;  // oldest first
};

// Misuse and what was left of `report`, which is JSON Lines (docs/guide/libcuda.md): each kind and
// place once. Places are below `source_root`, where they are in it. InvalidArgument: a line that is
// not of such a report, with its number, or no line at all; the message begins with the file.
absl::StatusOr<std::vector<Annotation>> ReadAnnotations(LineReader& report,
                                                        const std::string& source_root);

// Workflow commands of GitHub Actions, a line each, to print in a job.
std::string ForGitHub(const std::vector<Annotation>& annotations);

// A Code Quality report of GitLab: a list in JSON.
std::string ForGitLab(const std::vector<Annotation>& annotations);

// A JUnit report: a test case for each annotation, of which errors fail; one that passes if there
// is none.
std::string ForJUnit(const std::vector<Annotation>& annotations);

// A SARIF 2.1.0 report, which code review shows on the lines.
std::string ForSarif(const std::vector<Annotation>& annotations);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_ANNOTATIONS_ANNOTATIONS_H_

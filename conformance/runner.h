// Runs the suite: what `twinmmu conformance`, the Bazel tests and your own main() call.

#ifndef TWINMMU_CONFORMANCE_RUNNER_H_
#define TWINMMU_CONFORMANCE_RUNNER_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "conformance/framework/target.h"
#include "conformance/framework/verdicts.h"

namespace twinmmu::conformance {

struct RunOptions {
  // Absent hardware (no driver, no second device) is a failure, not "no hardware".
  bool require_hardware = false;
  // On a machine that nobody recorded, a difference from the reference is a failure too.
  bool strict_reference = false;
  // The verdicts must be those of this file (baseline.h), whatever they are; empty: no such file.
  std::string baseline_path;
  // Writes such a file; empty: none.
  std::string write_baseline_path;
  // Only tests that match this GoogleTest filter, "sim/cuMemMap.*:*.DATA_*"; empty: all.
  std::string filter;
  // Writes a JUnit report here; empty: none.
  std::string xml_path;
  // Writes the table as Markdown here; empty: none.
  std::string markdown_path;

  // Where the words go; null: std::cout.
  std::ostream* out = nullptr;
  // Only what is not as expected: neither suites nor table.
  bool quiet = false;
  // What the table looks like; with a width, no line is printed for each suite either.
  TableStyle style;
  // Told about each test that begins; may be null.
  CountTests count;
  // Gets the verdicts, and the exit code that they lead to; may be null.
  std::function<void(const std::vector<Column>&, int exit_code)> results;
};

// Runs every test on every target, shows progress and the table, and returns the exit code: 0 only
// if every verdict is as expected and something ran. argc and argv are those of main(), as they
// came: GoogleTest's flags in them count, and a test that may end the process runs in a child that
// is started with them, and must come here again. Names of targets are of letters, digits and "_":
// GoogleTest reads other characters in the filter that the child is started with. Call once.
int RunConformance(int argc, char** argv, std::vector<TargetFactory> factories,
                   const RunOptions& options);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_RUNNER_H_

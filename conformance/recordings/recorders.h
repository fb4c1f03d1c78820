// Makes recordings: of the suite, of random sequences, and of calls that stand in a file.

#ifndef TWINMMU_CONFORMANCE_RECORDINGS_RECORDERS_H_
#define TWINMMU_CONFORMANCE_RECORDINGS_RECORDERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/driver.h"
#include "conformance/framework/target.h"
#include "conformance/random/run_seeds.h"
#include "conformance/runner.h"

namespace twinmmu::conformance {

struct RecordingPlan {
  std::string path;     // the file to write; ".zst" packs it
  std::string backend;  // what the first line names: "cuda"
  std::string date;     // "2026-11-21"
};

// Runs the suite on the target and records each test as a section, with its rule and verdict; a
// child that a test starts is a section of its own, also if it ends in a call. argc and argv as in
// RunConformance, whose exit code this returns; 1 also if the file cannot be written.
int RecordSuite(int argc, char** argv, TargetFactory factory, const RunOptions& options,
                const RecordingPlan& plan);

// One section for each seed. Where the model is wrong, the sequence ends, and the section says so.
// Error: no subject, or the file cannot be written.
absl::StatusOr<random::Report> RecordRandom(const random::OpenSubject& open,
                                            const random::Seeds& seeds, const RecordingPlan& plan);

// Makes the calls of another recording, whose results do not count and may be absent, and records
// what comes out. Sections follow each other on one driver: they must clean up.
absl::Status RecordProgram(const std::string& program, std::unique_ptr<Driver> driver,
                           const RecordingPlan& plan);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_RECORDINGS_RECORDERS_H_

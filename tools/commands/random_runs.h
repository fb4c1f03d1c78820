// Random calls, as `random` and `record` make them.

#ifndef TWINMMU_TOOLS_COMMANDS_RANDOM_RUNS_H_
#define TWINMMU_TOOLS_COMMANDS_RANDOM_RUNS_H_

#include <string>

#include "absl/status/statusor.h"
#include "conformance/random/run_seeds.h"
#include "tools/command_line/options.h"
#include "tools/commands/screen.h"

namespace twinmmu {

// InvalidArgument: they make no sense. The seeds are counted on `screen`, which must outlive the
// run.
absl::StatusOr<conformance::random::Seeds> RandomSeeds(const SeedOptions& options, Screen& screen);

// "sim" or "cuda". InvalidArgument: there is no such machine, or it lacks what random calls need.
absl::StatusOr<conformance::random::OpenSubject> RandomSubject(const std::string& backend,
                                                               const MachineOptions& options);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMANDS_RANDOM_RUNS_H_

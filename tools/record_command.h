// twinmmu record, replay.

#ifndef TWINMMU_TOOLS_RECORD_COMMAND_H_
#define TWINMMU_TOOLS_RECORD_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

#include "conformance/framework/target.h"
#include "conformance/random/run_seeds.h"
#include "conformance/runner.h"

namespace twinmmu {

// What can be recorded, on one machine.
struct RecordTarget {
  std::string backend;  // "sim", "cuda"
  conformance::TargetFactory suite;
  conformance::random::OpenSubject random;
};

// Records what --program says to the file of --out. argc and argv are those of main().
int Record(int argc, char** argv, const RecordTarget& target,
           const conformance::RunOptions& options, std::ostream& out);

// Plays recordings on the simulator, and says what differs.
int ReplayFiles(const std::vector<std::string>& paths, std::ostream& out);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RECORD_COMMAND_H_

// The commands of the tool, as far as twinmmu.cc does not do them itself; litmus_command.h and
// run_command.h have one each. Each returns the exit code of the program.

#ifndef TWINMMU_TOOLS_COMMANDS_H_
#define TWINMMU_TOOLS_COMMANDS_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "api/diagnostics.h"
#include "api/driver.h"
#include "backend/driver_table.h"
#include "conformance/framework/target.h"
#include "conformance/random/run_seeds.h"
#include "conformance/runner.h"

namespace twinmmu {

// --- info: what a driver and its devices can do

// Driver version, devices, memory, every attribute of virtual memory, granularities.
void PrintDriver(Driver& driver, std::ostream& out);

// Each function of the driver that the backend uses: found, too old or missing.
void PrintSymbols(const DriverTable& table, std::ostream& out);

// --- random: long runs of random sequences

// Runs the seeds that --seeds and --calls ask for and prints what came of it to `out`. 0 only
// without a difference.
int RunRandom(const std::string& backend, const conformance::random::OpenSubject& open,
              std::ostream& out);

// What --seeds and --calls say. False: nonsense, and it has been said.
bool RandomSeeds(conformance::random::Seeds& seeds);

// --- soak: random programs over the pool and the buffers, for as long as one likes

// Runs programs from --seed on for --minutes, or until there were --steps, prints what came of it
// to `out`, and at the end what `diagnostics`, which may be null, says of the driver. 0 only
// without a difference, and with all memory back.
int RunSoak(const conformance::TargetFactory& target,
            const std::function<std::vector<Diagnostic>(Driver&)>& diagnostics, std::ostream& out);

// --- deviations: the programs that show deviations, run on an implementation

// Runs each program on a target of its own, in a child process: some leave things behind, and one
// may end the process. Prints what each says. 0: each says what is declared of the target. 1: one
// does not, or the target cannot be opened.
int RunDeviations(const conformance::TargetFactory& factory, std::ostream& out);

// --- record, replay, compare

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

// Prints how the second recording differs from the first, by rule. 0 only without a difference.
int CompareFiles(const std::vector<std::string>& paths, std::ostream& out);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMANDS_H_

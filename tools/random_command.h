// twinmmu random: long runs of random sequences.

#ifndef TWINMMU_TOOLS_RANDOM_COMMAND_H_
#define TWINMMU_TOOLS_RANDOM_COMMAND_H_

#include <ostream>
#include <string>

#include "conformance/random/run_seeds.h"

namespace twinmmu {

// Runs the seeds that --seeds and --calls ask for and prints what came of it to `out`. Returns the
// exit code of the program: 0 only without a difference.
int RunRandom(const std::string& backend, const conformance::random::OpenSubject& open,
              std::ostream& out);

// What --seeds and --calls say. False: nonsense, and it has been said.
bool RandomSeeds(conformance::random::Seeds& seeds);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RANDOM_COMMAND_H_

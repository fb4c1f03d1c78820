// The programs that show deviations, run on an implementation.

#ifndef TWINMMU_TOOLS_DEVIATIONS_COMMAND_H_
#define TWINMMU_TOOLS_DEVIATIONS_COMMAND_H_

#include <ostream>

#include "conformance/framework/target.h"

namespace twinmmu {

// Runs each program on a target of its own, in a child process: some leave things behind, and one
// may end the process. Prints what each says. Exit code 0: each says what is declared of the
// target. 1: one does not, or the target cannot be opened.
int RunDeviations(const conformance::TargetFactory& factory, std::ostream& out);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_DEVIATIONS_COMMAND_H_

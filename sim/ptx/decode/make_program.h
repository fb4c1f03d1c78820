// MakeProgram: from a module to a program.

#ifndef TWINMMU_SIM_PTX_DECODE_MAKE_PROGRAM_H_
#define TWINMMU_SIM_PTX_DECODE_MAKE_PROGRAM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

// `parsed` decoded. Unimplemented: an instruction that is not covered, with its line and what is
// missing. InvalidArgument: one that PTX has not, or whose operands do not fit it.
absl::StatusOr<std::shared_ptr<const Program>> MakeProgram(const Module& parsed);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_DECODE_MAKE_PROGRAM_H_

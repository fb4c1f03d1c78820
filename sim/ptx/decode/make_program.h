// MakeProgram: from a module to a program.

#ifndef TWINMMU_SIM_PTX_DECODE_MAKE_PROGRAM_H_
#define TWINMMU_SIM_PTX_DECODE_MAKE_PROGRAM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

// `parsed` decoded. InvalidArgument: an instruction that PTX has not, or whose operands do not fit
// it. ResourceExhausted: it needs too much memory. Kernels that reach an instruction that is not
// covered have KernelInfo::refusal.
// `fuses`: products go into sums unrounded where the driver's compiler lets them (fusions.h).
absl::StatusOr<std::shared_ptr<const Program>> MakeProgram(Module parsed, bool fuses = true);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_DECODE_MAKE_PROGRAM_H_

// InstructionPatterns: every instruction of the interpreter, for random programs.

#ifndef TWINMMU_SIM_PTX_FUZZ_INSTRUCTION_PATTERNS_H_
#define TWINMMU_SIM_PTX_FUZZ_INSTRUCTION_PATTERNS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace twinmmu::ptx {

// "<a|b|c>" is one of these. After a dollar, what RandomProgram chooses:
//   r h d q p       a register of 32, 16, 64 or 128 bits, or a predicate
//   R4, H2, D2      so many of them in braces
//   i n b           any number, one from 0 to 31, 16 to 256 bytes
//   g s l c m o     an address, to be put into brackets: global, shared, local, in the cluster (in
//   a
//                   register), of an mbarrier, of an mbarrier in the cluster
//   t 1 2 3         the address of a tensor map, in global memory: any, or of that many dimensions
//   4               a first coordinate
//   k               a member mask
//   x y             a texture object, a surface object
//   w               a descriptor of shared memory for wgmma
//   L               a label
absl::Span<const absl::string_view> InstructionPatterns();

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_FUZZ_INSTRUCTION_PATTERNS_H_

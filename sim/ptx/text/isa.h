// What PTX has, whether or not it is covered here. Source: the PTX ISA 9.0.

#ifndef TWINMMU_SIM_PTX_TEXT_ISA_H_
#define TWINMMU_SIM_PTX_TEXT_ISA_H_

#include "absl/strings/string_view.h"

namespace twinmmu::ptx {

// "add", "wgmma": whether it is the name of an instruction.
bool IsInstruction(absl::string_view name);

// The first version of PTX with target sm_<capability>, as 70 for 7.0; 0: no version has it.
// `alone`: 'a' of sm_90a, 'f' of sm_100f.
int FirstVersionOf(int capability, char alone = ' ');

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_ISA_H_

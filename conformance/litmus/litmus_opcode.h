// The instructions of litmus tests by their names in PTX.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_OPCODE_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_OPCODE_H_

#include <string>

#include "sim/coherence/model/litmus_program.h"

namespace twinmmu {

// "ld.acquire.gpu.global.u32", "fence.sc.sys": all of it but the operands. Not for directed alias
// fences, which have no name yet.
// `multicast`: it accesses a multicast address.
std::string OpcodeOf(const coherence::Instruction& instruction, bool multicast = false);

// "eq", "lt": as setp has it.
const char* OpcodeOf(coherence::Comparison comparison);

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_OPCODE_H_

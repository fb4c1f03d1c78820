// What is said of a race: who made the two accesses, and what would have ordered them.

#ifndef TWINMMU_SIM_DIAGNOSTICS_RACE_WORDS_H_
#define TWINMMU_SIM_DIAGNOSTICS_RACE_WORDS_H_

#include <string>

#include "sim/coherence/monitor/alias_monitor.h"

namespace twinmmu {

// `site` in words, and whose it is: "kernel k, PTX line 12 (k.cu:7), st.global.u32, thread (3, 0,
// 0) of block (1, 0, 0), call 12"; "cuMemsetD8Async, call 7".
std::string AccessInWords(const coherence::AliasHazard::Side& side, const std::string& site);
// Of a hazard where no fence is missing: what does not order its accesses and would.
std::string WhatWouldOrder(const coherence::AliasHazard& hazard);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_DIAGNOSTICS_RACE_WORDS_H_

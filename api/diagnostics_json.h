// Diagnostics as JSON, for logs and other programs: one object each.

#ifndef TWINMMU_API_DIAGNOSTICS_JSON_H_
#define TWINMMU_API_DIAGNOSTICS_JSON_H_

#include <string>

#include "api/diagnostics.h"

namespace twinmmu {

// One line. Addresses and handles are text in hexadecimal, because not every JSON reader has 64-bit
// integers; what does not apply is left out:
//   {"kind": "kDoubleUnmap", "severity": "warning", "rule": "UNMAP-9", "call": "cuMemUnmap",
//    "number": 7, "base": "0x7f0000200000", "size": 2097152, "handle": "0x100000001", "device": 0,
//    "what": "...", "message": "...", "why": "...", "advice": "...",
//    "history": [{"call": 5, "sentence": "..."}]}
std::string ToJson(const Diagnostic& diagnostic);

}  // namespace twinmmu

#endif  // TWINMMU_API_DIAGNOSTICS_JSON_H_

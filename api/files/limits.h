// How much of a file that somebody else has written is read. docs/reference/limits.md has the list.

#ifndef TWINMMU_API_FILES_LIMITS_H_
#define TWINMMU_API_FILES_LIMITS_H_

#include "api/address.h"

namespace twinmmu {

inline constexpr Bytes kMaxFile = GiB(4);      // of lines, unpacked
inline constexpr Bytes kMaxLine = MiB(16);     // recordings hold modules
inline constexpr Bytes kMaxSection = MiB(64);  // of a recording, which is read as one
inline constexpr Bytes kMaxDocument = MiB(1);  // what is one JSON value, as a profile
inline constexpr int kMaxJsonDepth = 64;
inline constexpr int kMaxJsonValues = 1'000'000;  // each takes some hundred bytes

}  // namespace twinmmu

#endif  // TWINMMU_API_FILES_LIMITS_H_

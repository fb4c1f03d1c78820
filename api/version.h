// The version of TwinMMU: of its interface, program and library alike.

#ifndef TWINMMU_API_VERSION_H_
#define TWINMMU_API_VERSION_H_

namespace twinmmu {

// What cannot include this file is compared with it by tools/checks/check_version.sh.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace twinmmu

#endif  // TWINMMU_API_VERSION_H_

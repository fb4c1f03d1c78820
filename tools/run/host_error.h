// What the host refused, in words.

#ifndef TWINMMU_TOOLS_RUN_HOST_ERROR_H_
#define TWINMMU_TOOLS_RUN_HOST_ERROR_H_

#include <string>

namespace twinmmu {

// "Too many open files (ulimit -n)": of an errno, with the limit of the process that may be behind.
std::string HostErrorInWords(int error);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RUN_HOST_ERROR_H_

// docs/reference/nvml.md: every function of NVML that our library has, and what it tells.

#ifndef TWINMMU_SIM_LIBNVML_NVML_DOCUMENT_H_
#define TWINMMU_SIM_LIBNVML_NVML_DOCUMENT_H_

#include <string>

namespace twinmmu::nvml {

inline constexpr char kNvmlDocument[] = "docs/reference/nvml.md";

// The whole document, made from nvml_exports.inc.
std::string NvmlDocument();

}  // namespace twinmmu::nvml

#endif  // TWINMMU_SIM_LIBNVML_NVML_DOCUMENT_H_

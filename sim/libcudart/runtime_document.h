// docs/reference/runtime.md: every function of our CUDA runtime, and what is beneath it.

#ifndef TWINMMU_SIM_LIBCUDART_RUNTIME_DOCUMENT_H_
#define TWINMMU_SIM_LIBCUDART_RUNTIME_DOCUMENT_H_

#include <string>

namespace twinmmu::cudart {

inline constexpr char kRuntimeDocument[] = "docs/reference/runtime.md";

// The whole document, made from runtime_exports.inc.
std::string RuntimeDocument();

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_RUNTIME_DOCUMENT_H_

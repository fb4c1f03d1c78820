// docs/reference/functions.md: every function of the driver, and what the simulator makes of it.

#ifndef TWINMMU_SIM_LIBCUDA_FUNCTIONS_DOCUMENT_H_
#define TWINMMU_SIM_LIBCUDA_FUNCTIONS_DOCUMENT_H_

#include <string>

namespace twinmmu::libcuda {

inline constexpr char kFunctionsDocument[] = "docs/reference/functions.md";

// The whole document, made from exports.inc.
std::string FunctionsDocument();

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_FUNCTIONS_DOCUMENT_H_

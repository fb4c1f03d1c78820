// What a linker is given besides images: object files of the host and libraries of them, which
// carry the fat binaries that nvcc -rdc=true made.

#ifndef TWINMMU_SIM_PTX_TEXT_OBJECT_FILE_H_
#define TWINMMU_SIM_PTX_TEXT_OBJECT_FILE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu::ptx {

// The fat binaries for a linker in an object file (ELF of 64 bits), and in all object files of a
// library (an archive of ar); as parts of what is given, and not looked at. InvalidArgument: it is
// no such file, or is damaged. NotFound: there are none.
absl::StatusOr<std::vector<absl::string_view>> FatBinariesInObject(absl::string_view object);
absl::StatusOr<std::vector<absl::string_view>> FatBinariesInLibrary(absl::string_view library);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_OBJECT_FILE_H_

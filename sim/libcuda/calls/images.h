// What calls that load an image have in common.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_IMAGES_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_IMAGES_H_

#include <string>

#include "absl/status/status.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// The options of a call that compiles. What is said about errors goes into the program's buffer;
// the others concern machine code, of which there is none here.
class JitOptions {
 public:
  JitOptions() = default;
  JitOptions(unsigned int count, const cuda_abi::CUjit_option* options, void** values);

  // What came of it.
  void Tell(const absl::Status& status) const;

 private:
  char* log_ = nullptr;
  void** size_ = nullptr;
  void** info_size_ = nullptr;
};

// False: it is no file, or cannot be read.
bool ReadFile(const char* name, std::string* content);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_IMAGES_H_

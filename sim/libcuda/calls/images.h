// What calls that load an image have in common.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_IMAGES_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_IMAGES_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sim/libcuda/calls/enter.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// Whether there is one that CUDA 13 does not know.
bool HasUnknown(unsigned int count, const cuda_abi::CUjit_option* options);

// The options of a call that compiles. What is said about errors goes into the program's buffer;
// all else concerns machine code, of which there is none here.
class JitOptions {
 public:
  JitOptions() = default;
  JitOptions(unsigned int count, const cuda_abi::CUjit_option* options, void** values);

  // What came of it; after several calls with these options, of the last one. Why an image is
  // refused is in the report, if the program has no log for it.
  void Tell(const CallSite& site, const absl::Status& status) const;

  // The status of `ptx`; or INVALID_VALUE: one of them is not known; or with CU_JIT_GLOBAL_SYMBOL_*
  // they say that one of its variables is the host's, or leave one of these lists out. An H200
  // takes no variable of PTX for one of the host's, not even one that is only declared.
  absl::Status Check(const CallSite& site, DriverState& driver, DeviceOrdinal device,
                     const absl::StatusOr<std::string>& ptx) const;

 private:
  // A buffer of the program. Its size is passed as if it were a pointer, and comes back as what was
  // written.
  struct Log {
    char* text = nullptr;
    void** size = nullptr;
    size_t capacity = 0;

    bool HasRoom() const { return text != nullptr && capacity != 0; }
    void Write(absl::string_view message) const;
  };

  Log errors_;
  Log infos_;
  bool are_known_ = true;
  bool host_lists_are_whole_ = true;
  std::set<std::string> host_variables_;
};

// False: it is no file, or cannot be read.
bool ReadFile(const char* name, std::string* content);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_IMAGES_H_

// What calls that load an image have in common.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_IMAGES_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_IMAGES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sim/libcuda/calls/enter.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// The options of a call that compiles. What is said about errors goes into the program's buffer,
// and device code may name variables of the host; all else concerns machine code, of which there is
// none here.
class JitOptions {
 public:
  JitOptions() = default;
  JitOptions(unsigned int count, const cuda_abi::CUjit_option* options, void** values);

  // What came of it; after several calls with these options, of the last one. Why an image is
  // refused is in the report, if the program has no log for it.
  void Tell(const CallSite& site, const absl::Status& status) const;

  // Their addresses, by name.
  const std::map<std::string, uint64_t>& host() const { return host_; }

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
  std::map<std::string, uint64_t> host_;
};

// False: it is no file, or cannot be read.
bool ReadFile(const char* name, std::string* content);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_IMAGES_H_

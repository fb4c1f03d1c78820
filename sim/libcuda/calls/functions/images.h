// What calls that load an image have in common.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_FUNCTIONS_IMAGES_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_FUNCTIONS_IMAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sim/libcuda/calls/enter.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// The options of a call that compiles. What is said about errors goes into the program's buffer;
// most else concerns machine code, of which there is none here.
// Source of what is refused: an H200 with driver 580.159, with each option and 14 values.
class JitOptions {
 public:
  JitOptions() = default;
  JitOptions(unsigned int count, const cuda_abi::CUjit_option* options, void** values);

  // What came of it; after several calls with these options, of the last one. Why an image is
  // refused is in the report, if the program has no log for it.
  void Tell(const CallSite& site, const absl::Status& status) const;

  // False, and INVALID_VALUE before a file is read: the list is null, an option is not known, a log
  // is without its size, or lists of the host's variables (CU_JIT_GLOBAL_SYMBOL_*) are not all
  // there.
  bool IsListTaken() const { return is_list_taken_; }
  // False, and INVALID_VALUE before the image counts.
  bool AreValuesTaken() const { return are_values_taken_; }
  // The error that PTX gets for these options, if any.
  DriverCode ErrorOfPtx() const { return error_of_ptx_; }

  // The status of `ptx`; or one of the above; or INVALID_VALUE: one of its variables is said to be
  // the host's. An H200 takes no variable of PTX for one of the host's, not even one that is only
  // declared.
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

  void CheckLog(const Log& log, bool is_said);
  void NoteHostVariables(void** const (&lists)[3]);
  bool HasHostVariable(const std::string& name) const;

  Log errors_;
  Log infos_;
  bool is_list_taken_ = true;
  bool are_values_taken_ = true;
  DriverCode error_of_ptx_ = DriverCode::kSuccess;
  bool is_for_kepler_ = false;  // which no PTX is compiled for, unless it is linked
  // Of the program, which are read when they are needed.
  const char* const* host_variables_ = nullptr;
  uint64_t host_variable_count_ = 0;
};

// FILE_NOT_FOUND: it is no file, or cannot be read; INVALID_VALUE: it has no name; OUT_OF_MEMORY:
// it is a directory. Source: an H200 with driver 580.159.
DriverCode ReadImage(const char* name, std::string* content);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_FUNCTIONS_IMAGES_H_

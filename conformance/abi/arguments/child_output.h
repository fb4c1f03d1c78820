// What a function writes in a process of its own.

#ifndef TWINMMU_CONFORMANCE_ABI_ARGUMENTS_CHILD_OUTPUT_H_
#define TWINMMU_CONFORMANCE_ABI_ARGUMENTS_CHILD_OUTPUT_H_

#include <cstdio>
#include <functional>
#include <string>

namespace twinmmu::abi {

struct ChildOutput {
  std::string text;
  // False: the process did not come to the end of the function, or could not begin.
  bool is_whole = false;
  int signal = 0;  // what ended it
};

// The caller's process must not have called the driver.
ChildOutput OutputOfChild(const std::function<void(std::FILE*)>& write);

// "INVALID_VALUE" for CUDA_ERROR_INVALID_VALUE, as the driver tells it.
std::string NameOfResult(int result);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_ARGUMENTS_CHILD_OUTPUT_H_

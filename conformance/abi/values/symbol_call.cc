#include "conformance/abi/values/symbol_call.h"

#include <unistd.h>

#include <cstdio>

#include "conformance/abi/arguments/child_output.h"

namespace twinmmu::abi {

void EndUnlessDone(const char* symbol, CUresult result) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", symbol, NameOfResult(result).c_str());
  _exit(1);
}

}  // namespace twinmmu::abi

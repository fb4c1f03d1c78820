// A program that finds NVML by its name, and asks it what the simulated machine does not have.
// Prints how many devices there are, forks after that, and uses the driver in the child.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "third_party/cuda_abi/include/cuda.h"
#include "third_party/cuda_abi/nvml_abi.h"

namespace {

template <typename Function>
Function* Find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

int main() {
  void* const nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (nvml == nullptr) return 1;
  unsigned int count = 0;
  nvmlDevice_t device = nullptr;
  if (Find<int()>(nvml, "nvmlInit_v2")() != NVML_SUCCESS) return 2;
  Find<int(unsigned int*)>(nvml, "nvmlDeviceGetCount_v2")(&count);
  Find<int(unsigned int, nvmlDevice_t*)>(nvml, "nvmlDeviceGetHandleByIndex_v2")(0, &device);
  std::printf("%u devices\n", count);
  std::fflush(stdout);
  // NVML did not start the driver, so that a child can.
  const pid_t child = fork();
  if (child == 0) _exit(cuInit(0) == CUDA_SUCCESS ? 0 : 1);
  int ended = 1;
  waitpid(child, &ended, 0);
  if (ended != 0) return 3;
  unsigned int milliwatts = 0;
  auto* const power = Find<int(nvmlDevice_t, unsigned int*)>(nvml, "nvmlDeviceGetPowerUsage");
  for (int i = 0; i < 4; ++i) {
    if (i == 1 && cuInit(0) != CUDA_SUCCESS) return 4;
    if (power(device, &milliwatts) != NVML_ERROR_NOT_SUPPORTED) return 5;
  }
  return 0;
}

// NVML and the driver as a program gets them: loaded by the paths in its arguments.

#ifndef TWINMMU_SIM_LIBNVML_TESTS_NVML_LIBRARY_H_
#define TWINMMU_SIM_LIBNVML_TESTS_NVML_LIBRARY_H_

#include <dlfcn.h>

#include <string>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/include/cuda.h"
#include "third_party/cuda_abi/nvml_abi.h"

namespace twinmmu::nvml {

struct LoadedLibraries {
  std::string nvml_path;
  std::string driver_path;
  void* nvml = nullptr;
  void* driver = nullptr;  // null until LoadDriver
};
inline LoadedLibraries& Libraries() {
  static LoadedLibraries libraries;
  return libraries;
}
inline void LoadDriver() {
  Libraries().driver = dlopen(Libraries().driver_path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

// Calls a function of NVML, whose parameters are those that are given.
template <typename... Arguments>
nvmlReturn_t Nvml(const char* name, Arguments... arguments) {
  void* const function = dlsym(Libraries().nvml, name);
  if (function == nullptr) return NVML_ERROR_UNKNOWN;
  return reinterpret_cast<nvmlReturn_t (*)(Arguments...)>(function)(arguments...);
}

// A function of the driver: Driver(&cuInit, "cuInit")(0).
template <typename Function>
Function* Driver(Function*, const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(Libraries().driver, symbol));
}
#define TWINMMU_DRIVER(function, symbol) \
  ::twinmmu::nvml::Driver(static_cast<decltype(&function)>(nullptr), symbol)

class NvmlTest : public testing::Test {
 protected:
  NvmlTest() { EXPECT_EQ(Nvml("nvmlInit_v2"), NVML_SUCCESS); }
  ~NvmlTest() override { EXPECT_EQ(Nvml("nvmlShutdown"), NVML_SUCCESS); }

  static nvmlDevice_t Device(unsigned int index) {
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(Nvml("nvmlDeviceGetHandleByIndex_v2", index, &device), NVML_SUCCESS);
    return device;
  }
  static std::string TextOf(const char* function, nvmlDevice_t device) {
    char text[96] = "";
    EXPECT_EQ(Nvml(function, device, static_cast<char*>(text), 96u), NVML_SUCCESS);
    return text;
  }
};

// For main: argv has the paths of NVML and of the driver. False: NVML cannot be loaded.
inline bool LoadNvml(int argc, char** argv) {
  if (argc != 3) return false;
  Libraries().nvml_path = argv[1];
  Libraries().driver_path = argv[2];
  Libraries().nvml = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  return Libraries().nvml != nullptr;
}

}  // namespace twinmmu::nvml

#endif  // TWINMMU_SIM_LIBNVML_TESTS_NVML_LIBRARY_H_

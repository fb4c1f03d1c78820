// What the programs of this folder share: a module on a device, memory for it, launches, and words
// for the comparison with what the host computes.

#ifndef TWINMMU_TOOLS_EXAMPLES_KERNELS_KERNEL_PROGRAM_H_
#define TWINMMU_TOOLS_EXAMPLES_KERNELS_KERNEL_PROGRAM_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "tools/examples/check.h"

// Memory of the device that holds `T`s.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    CHECK(cuMemAlloc(&address_, count * sizeof(T)));
    CHECK(cuMemsetD8(address_, 0, count * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    CHECK(cuMemcpyHtoD(address_, values.data(), count_ * sizeof(T)));
  }
  ~DeviceArray() { CHECK(cuMemFree(address_)); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  CUdeviceptr address() const { return address_; }
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    CHECK(cuMemcpyDtoH(values.data(), address_, count_ * sizeof(T)));
    return values;
  }

 private:
  CUdeviceptr address_ = 0;
  size_t count_;
};

struct LaunchShape {
  unsigned int grid_x = 1;
  unsigned int block_x = 1;
  unsigned int shared_bytes = 0;
  unsigned int grid_y = 1;
  unsigned int block_y = 1;
  bool cooperative = false;
};

// The module of a program, on the first device.
class KernelModule {
 public:
  explicit KernelModule(const char* ptx) {
    CHECK(cuInit(0));
    device_ = use_device(0);
    CHECK(cuModuleLoadData(&module_, ptx));
  }
  ~KernelModule() {
    CHECK(cuModuleUnload(module_));
    CHECK(cuDevicePrimaryCtxRelease(device_));
  }
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;

  CUdevice device() const { return device_; }

  // Each argument has the type of its parameter: addresses are CUdeviceptr.
  template <typename... Arguments>
  void Launch(const char* name, const LaunchShape& shape, Arguments... arguments) const {
    CUfunction kernel;
    CHECK(cuModuleGetFunction(&kernel, module_, name));
    void* values[] = {&arguments...};
    if (shape.cooperative) {
      CHECK(cuLaunchCooperativeKernel(kernel, shape.grid_x, shape.grid_y, 1, shape.block_x,
                                      shape.block_y, 1, shape.shared_bytes, nullptr, values));
    } else {
      CHECK(cuLaunchKernel(kernel, shape.grid_x, shape.grid_y, 1, shape.block_x, shape.block_y, 1,
                           shape.shared_bytes, nullptr, values, nullptr));
    }
    CHECK(cuCtxSynchronize());
  }

 private:
  CUdevice device_ = 0;
  CUmodule module_ = nullptr;
};

// The same numbers in each run: from 0 to 2^32 - 1.
class Numbers {
 public:
  uint32_t Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 32);
  }
  // Whole, from `least` to `most`.
  int Between(int least, int most) {
    return least + static_cast<int>(Next() % static_cast<uint32_t>(most - least + 1));
  }
  // From -1 to 1, in steps that a half holds too.
  float Fraction() { return static_cast<float>(Between(-64, 64)) / 64.0f; }
  std::vector<float> Fractions(size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = Fraction();
    return values;
  }

 private:
  uint64_t state_ = 42;
};

// Prints how many of the results are wrong; returns what main returns.
template <typename T>
int Compare(const char* what, const std::vector<T>& results, const std::vector<T>& expected) {
  size_t wrong = results.size() == expected.size() ? 0 : 1;
  for (size_t i = 0; i < results.size() && i < expected.size(); ++i) {
    wrong += results[i] == expected[i] ? 0 : 1;
  }
  std::printf("%zu %s, %zu of them wrong\n", results.size(), what, wrong);
  return wrong == 0 ? 0 : 1;
}

// The same for results that were rounded otherwise.
inline int CompareNearly(const char* what, const std::vector<float>& results,
                         const std::vector<double>& expected, double tolerance) {
  size_t wrong = results.size() == expected.size() ? 0 : 1;
  for (size_t i = 0; i < results.size() && i < expected.size(); ++i) {
    wrong += std::fabs(results[i] - expected[i]) <= tolerance ? 0 : 1;  // not a number: wrong
  }
  std::printf("%zu %s, %zu of them wrong\n", results.size(), what, wrong);
  return wrong == 0 ? 0 : 1;
}

#endif  // TWINMMU_TOOLS_EXAMPLES_KERNELS_KERNEL_PROGRAM_H_

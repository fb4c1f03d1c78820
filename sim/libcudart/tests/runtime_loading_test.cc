// When device code is loaded, as CUDA_MODULE_LOADING says: as on an H200. Each test is a process of
// its own.

#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/fat_binary_image.h"
#include "sim/libcudart/testing/managed_kernels.h"
#include "third_party/cuda_abi/cudart_abi.h"

namespace {

using testing::ExitedWithCode;

// Which of a child's expectations failed is its exit code; 0: none.
#define REQUIRE(condition) \
  if (!(condition)) _exit(__LINE__ % 256)

constexpr size_t kMiB = size_t{1} << 20;
TWINMMU_FAT_BINARY(kLarge, 70,
                   ".version 7.0\n.target sm_70\n.address_size 64\n"
                   ".visible .global .align 4 .b8 large[67108864];\n"
                   ".visible .entry Nothing() { ret; }\n");
TWINMMU_FAT_BINARY_OF(TWINMMU_FAT_MACHINE_CODE, kMachineCode, 90, "machine code");

char large[4];  // stands for the variable of 64 MiB
char nothing;   // stands for a kernel

void** RegisterLarge() {
  void** const module = __cudaRegisterFatBinary(&kLarge);
  __cudaRegisterVar(module, large, large, "large", 0, 64 * kMiB, 0, 0);
  __cudaRegisterFatBinaryEnd(module);
  return module;
}

size_t FreeMemory() {
  size_t free = 0;
  size_t total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  return free;
}
bool IsLoaded() {
  const size_t before = FreeMemory();
  void* address = nullptr;
  REQUIRE(cudaGetSymbolAddress(&address, large) == cudaSuccess);
  return FreeMemory() == before;
}

// Without the variable, and with words that mean nothing, too.
TEST(RuntimeLoading, IsLazyUnlessToldOtherwise) {
  for (const char* mode : {"", "LAZY", "SOMETIMES"}) {
    EXPECT_EXIT(
        {
          unsetenv("CUDA_MODULE_LOADING");
          if (*mode != '\0') setenv("CUDA_MODULE_LOADING", mode, 1);
          RegisterLarge();
          REQUIRE(cudaFree(nullptr) == cudaSuccess);
          REQUIRE(!IsLoaded());
          _exit(0);
        },
        ExitedWithCode(0), "")
        << mode;
  }
}

TEST(RuntimeLoading, IsDoneWithTheContextWhereItIsEager) {
  EXPECT_EXIT(
      {
        setenv("CUDA_MODULE_LOADING", "EAGER", 1);
        setenv("TWINMMU_DEVICES", "2", 1);
        RegisterLarge();
        for (int device = 0; device < 2; ++device) {
          REQUIRE(cudaSetDevice(device) == cudaSuccess);
          REQUIRE(IsLoaded());
        }
        REQUIRE(cudaDeviceReset() == cudaSuccess);
        REQUIRE(IsLoaded());
        _exit(0);
      },
      ExitedWithCode(0), "");
}

// Of a library that comes later, at the next call.
TEST(RuntimeLoading, IsDoneWithTheNextCallForWhatIsRegisteredLater) {
  EXPECT_EXIT(
      {
        setenv("CUDA_MODULE_LOADING", "EAGER", 1);
        REQUIRE(cudaFree(nullptr) == cudaSuccess);
        void** const module = RegisterLarge();
        REQUIRE(IsLoaded());
        __cudaUnregisterFatBinary(module);
        RegisterManagedKernels();
        REQUIRE(cudaFree(nullptr) == cudaSuccess);
        REQUIRE(total != nullptr && *total == 3);
        _exit(0);
      },
      ExitedWithCode(0), "");
}

TEST(RuntimeLoading, TellsOfCodeThatIsNoGoodWhenItIsUsed) {
  EXPECT_EXIT(
      {
        setenv("CUDA_MODULE_LOADING", "EAGER", 1);
        void** const module = __cudaRegisterFatBinary(&kMachineCode);
        __cudaRegisterFunction(module, &nothing, &nothing, "Nothing", -1, nullptr, nullptr, nullptr,
                               nullptr, nullptr);
        __cudaRegisterFatBinaryEnd(module);
        REQUIRE(cudaFree(nullptr) == cudaSuccess);
        REQUIRE(cudaGetLastError() == cudaSuccess);
        REQUIRE(cudaLaunchKernel(&nothing, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr) ==
                cudaErrorNoKernelImageForDevice);
        _exit(0);
      },
      ExitedWithCode(0), "");
}

}  // namespace

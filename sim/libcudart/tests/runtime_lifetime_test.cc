// The runtime at the beginning and at the end of what uses it: processes, their children,
// libraries. $1 is the library of kernels_plugin.cc. Each test is a process of its own.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/vector_kernels.h"

namespace {

using testing::ExitedWithCode;

std::string* plugin = nullptr;

// Which of a child's expectations failed is its exit code; 0: none.
#define REQUIRE(condition) \
  if (!(condition)) _exit(__LINE__ % 256)

cudaError_t Launch() {
  void* none = nullptr;
  int count = 0;
  void* arguments[] = {&none, &none, &none, &count};
  return cudaLaunchKernel(&Add, {1, 1, 1}, {32, 1, 1}, arguments, 0, nullptr);
}

// As nvcc's code ends: its handler runs when some static objects are gone already.
void Register() {
  static void** module = nullptr;
  module = RegisterVectorKernels();
  std::atexit([] { __cudaUnregisterFatBinary(module); });
}

struct FreesAtExit {
  ~FreesAtExit() {
    if (memory != nullptr) REQUIRE(cudaFree(memory) == cudaSuccess);
  }
  void* memory = nullptr;
};
FreesAtExit frees_at_exit;

TEST(RuntimeLifetime, GoesOnWhileTheProcessExits) {
  EXPECT_EXIT(
      {
        Register();
        REQUIRE(cudaMalloc(&frees_at_exit.memory, 4) == cudaSuccess);
        REQUIRE(Launch() == cudaSuccess);
        std::exit(0);
      },
      ExitedWithCode(0), "");
}

TEST(RuntimeLifetime, EndsInAChildMadeByFork) {
  EXPECT_EXIT(
      {
        Register();
        REQUIRE(Launch() == cudaSuccess);
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        const pid_t child = fork();
        if (child == 0) {
          void* memory = nullptr;
          REQUIRE(cudaMalloc(&memory, 4) == cudaErrorInitializationError);
          REQUIRE(Launch() == cudaErrorInitializationError);
          std::exit(0);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        REQUIRE(Launch() == cudaSuccess);
        std::exit(0);
      },
      ExitedWithCode(0), "");
}

// What was registered before the fork is the child's, too, if nothing was used.
TEST(RuntimeLifetime, BeginsInAChildMadeByFork) {
  EXPECT_EXIT(
      {
        Register();
        const pid_t child = fork();
        if (child == 0) {
          REQUIRE(Launch() == cudaSuccess);
          std::exit(0);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        std::exit(0);
      },
      ExitedWithCode(0), "");
}

TEST(RuntimeLifetime, GoesOnWhenALibraryIsUnloaded) {
  EXPECT_EXIT(
      {
        for (int round = 0; round < 3; ++round) {
          void* const library = dlopen(plugin->c_str(), RTLD_NOW | RTLD_LOCAL);
          REQUIRE(library != nullptr);
          auto* const launch =
              reinterpret_cast<cudaError_t (*)()>(dlsym(library, "LaunchOfPlugin"));
          REQUIRE(launch != nullptr);
          REQUIRE(launch() == cudaSuccess);
          // Two libraries may have a kernel of one name.
          REQUIRE(Launch() == cudaErrorInvalidResourceHandle);
          REQUIRE(dlclose(library) == 0);
          REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        }
        std::exit(0);
      },
      ExitedWithCode(0), "");
}

TEST(RuntimeLifetime, SaysWhereThereIsNoDevice) {
  EXPECT_EXIT(
      {
        setenv("TWINMMU_DEVICES", "0", 1);
        int count = -1;
        REQUIRE(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
        Register();
        REQUIRE(Launch() == cudaErrorNoDevice);
        REQUIRE(cudaFree(nullptr) == cudaErrorNoDevice);
        REQUIRE(cudaGetLastError() == cudaErrorNoDevice);
        std::exit(0);
      },
      ExitedWithCode(0), "");
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::FLAGS_gtest_death_test_style = "fast";
  if (argc != 2) return 2;
  plugin = new std::string(argv[1]);
  return RUN_ALL_TESTS();
}

// Libraries that are used on two devices, and what goes on in other threads meanwhile. The
// simulated driver is linked in: no other one can be meant.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"

namespace twinmmu::libcuda {

// What the backend does not call.
using CUlibrary = struct CUlib_st*;
using CUkernel = struct CUkern_st*;
extern "C" {
CUresult cuMemHostAlloc(void**, size_t, unsigned int);
CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
CUresult cuLibraryLoadData(CUlibrary*, const void*, CUjit_option*, void**, unsigned int, int*,
                           void**, unsigned int);
CUresult cuLibraryUnload(CUlibrary);
CUresult cuLibraryGetModule(CUmodule*, CUlibrary);
CUresult cuLibraryGetKernel(CUkernel*, CUlibrary, const char*);
CUresult cuLibraryGetKernelCount(unsigned int*, CUlibrary);
}

namespace {

constexpr CUresult kInvalidHandle = 400;

// Large enough that the free memory tells where it is loaded.
constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b8 room[3000000];
.visible .entry nothing() { ret; }
)";

// A machine of its own, and a library that is loaded on the first of two devices.
class LibraryFunctionsTest : public testing::Test {
 protected:
  void SetUp() override {
    Process::Get().Restart(Profile::ReferenceH200(2));
    for (int device = 0; device < 2; ++device) {
      ASSERT_EQ(cuDevicePrimaryCtxRetain(&contexts_[device], device), CUDA_SUCCESS);
    }
    ASSERT_EQ(cuCtxPushCurrent_v2(contexts_[0]), CUDA_SUCCESS);
    Load();
  }
  void TearDown() override { cuCtxPopCurrent_v2(&contexts_[0]); }

  void Load() {
    ASSERT_EQ(cuLibraryLoadData(&library_, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
  }
  // body() in the context of the second device.
  template <typename Body>
  auto OnSecond(const Body& body) {
    EXPECT_EQ(cuCtxPushCurrent_v2(contexts_[1]), CUDA_SUCCESS);
    auto result = body();
    CUcontext popped = nullptr;
    EXPECT_EQ(cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
    return result;
  }
  CUmodule ModuleOnSecond() {
    return OnSecond([&] {
      CUmodule module = nullptr;
      EXPECT_EQ(cuLibraryGetModule(&module, library_), CUDA_SUCCESS);
      return module;
    });
  }
  static size_t Free() {
    size_t free = 0;
    size_t total = 0;
    EXPECT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    return free;
  }

  CUcontext contexts_[2] = {};
  CUlibrary library_ = nullptr;
};

// Of those that load it at once all but one are too late.
TEST_F(LibraryFunctionsTest, ThreadsShareTheModuleOfADevice) {
  const size_t free = OnSecond(Free);
  for (int round = 0; round < 20; ++round) {
    std::vector<CUmodule> modules(4);
    std::atomic<size_t> ready{0};
    std::vector<std::thread> threads;
    for (CUmodule& module : modules) {
      threads.emplace_back([&] {
        for (++ready; ready < modules.size();) continue;
        module = ModuleOnSecond();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(modules, std::vector<CUmodule>(modules.size(), modules[0]));
    EXPECT_EQ(cuLibraryUnload(library_), CUDA_SUCCESS);
    EXPECT_EQ(OnSecond(Free), free);
    Load();
  }
}

// The first device has no module any more, while a kernel on the second one goes on.
TEST_F(LibraryFunctionsTest, ALibraryIsKnownUntilAllDevicesAreDone) {
  ModuleOnSecond();
  CUkernel kernel = nullptr;
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library_, "nothing"), CUDA_SUCCESS);
  void* word = nullptr;
  ASSERT_EQ(cuMemHostAlloc(&word, sizeof(uint32_t), 0), CUDA_SUCCESS);
  *static_cast<uint32_t*>(word) = 0;
  const auto gate = reinterpret_cast<CUdeviceptr>(word);
  OnSecond([&] {
    CUstream stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitValue32_v2(stream, gate, 1, 0), CUDA_SUCCESS);
    return cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, stream,
                          nullptr, nullptr);
  });
  const size_t free = Free();
  std::thread other([&] { EXPECT_EQ(cuLibraryUnload(library_), CUDA_SUCCESS); });
  while (Free() == free) std::this_thread::yield();
  // The other thread may be a step short of saying that.
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  unsigned int count = 0;
  while (cuLibraryGetKernelCount(&count, library_) != CUDA_SUCCESS &&
         std::chrono::steady_clock::now() < last) {
    std::this_thread::yield();
  }
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(cuStreamWriteValue32_v2(nullptr, gate, 1, 0), CUDA_SUCCESS);
  other.join();
  EXPECT_EQ(cuLibraryGetKernelCount(&count, library_), kInvalidHandle);
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

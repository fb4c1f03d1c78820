// The host runs out of memory: each allocation of each call fails in turn, once, or with all that
// follow in that call. The call says OUT_OF_MEMORY, or does without; then all is as it was, and the
// same call works. The simulated driver is linked in.

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/exports.h"
#include "sim/libcuda/modules.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "sim/testing/failing_host.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" CUresult cuCtxCreate_v2(CUcontext*, unsigned int, CUdevice);
extern "C" CUresult cuCtxDestroy_v2(CUcontext);
extern "C" CUresult cuCtxSetCurrent(CUcontext);
extern "C" CUresult cuCtxGetId(CUcontext, unsigned long long*);
extern "C" CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned int*, int*);
extern "C" CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
extern "C" CUresult cuMemFree_v2(CUdeviceptr);
extern "C" CUresult cuMemHostAlloc(void**, size_t, unsigned int);
extern "C" CUresult cuMemFreeHost(void*);
extern "C" CUresult cuMemHostRegister_v2(void*, size_t, unsigned int);
extern "C" CUresult cuMemHostUnregister(void*);
extern "C" CUresult cuModuleLoadData(CUmodule*, const void*);
extern "C" CUresult cuModuleGetFunctionCount(unsigned int*, CUmodule);
extern "C" CUresult cuModuleGetGlobal_v2(CUdeviceptr*, size_t*, CUmodule, const char*);
extern "C" CUresult cuLibraryLoadData(CUlibrary*, const void*, CUjit_option*, void**, unsigned int,
                                      int*, void**, unsigned int);
extern "C" CUresult cuLibraryUnload(CUlibrary);
extern "C" CUresult cuLibraryGetKernel(CUkernel*, CUlibrary, const char*);
extern "C" CUresult cuLibraryGetKernelCount(unsigned int*, CUlibrary);
extern "C" CUresult cuLibraryGetModule(CUmodule*, CUlibrary);
extern "C" CUresult cuKernelGetFunction(CUfunction*, CUkernel);
extern "C" CUresult cuKernelGetLibrary(CUlibrary*, CUkernel);
extern "C" CUresult cuStreamGetId(CUstream, unsigned long long*);

namespace {

using failing_host::Fails;

constexpr CUresult kOutOfMemory = 2;
constexpr CUresult kLaunchFailed = 719;
constexpr size_t kSmall = 4096;

constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .u32 counter = 5;
.visible .entry first(.param .u64 at) { ret; }
.visible .entry second() { ret; }
)";

// What the steps of the script hand on to each other.
struct World {
  CUcontext primary = nullptr, created = nullptr;
  CUdeviceptr memory = 0;
  void* pinned = nullptr;
  std::vector<char> own = std::vector<char>(2 * kSmall);
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUarray array = nullptr;
  CUmodule module = nullptr, of_library = nullptr, there = nullptr;
  CUfunction function = nullptr, of_kernel = nullptr;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
};

using Steps = std::vector<Step<World>>;

CUresult LoadLibrary(World& w) {
  return cuLibraryLoadData(&w.library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

CUresult CreateArray(World& w) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = descriptor.Height = 64;
  descriptor.Format = 0x03;  // CU_AD_FORMAT_UNSIGNED_INT32
  descriptor.NumChannels = 1;
  return cuArray3DCreate_v2(&w.array, &descriptor);
}

Steps Building() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.primary, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.primary); }},
      {"allocate", [](World& w) { return cuMemAlloc_v2(&w.memory, kSmall); }},
      {"pin", [](World& w) { return cuMemHostAlloc(&w.pinned, kSmall, 0); }},
      {"register", [](World& w) { return cuMemHostRegister_v2(w.own.data(), kSmall, 0); }},
      {"copy in", [](World& w) { return cuMemcpyHtoD_v2(w.memory, w.own.data(), 64); }},
      {"fill", [](World& w) { return cuMemsetD8_v2(w.memory, 9, 64); }},
      {"create stream", [](World& w) { return cuStreamCreate(&w.stream, 0); }},
      {"create event", [](World& w) { return cuEventCreate(&w.event, 0); }},
      {"fill later", [](World& w) { return cuMemsetD8Async(w.memory, 7, 64, w.stream); }},
      {"record", [](World& w) { return cuEventRecord(w.event, w.stream); }},
      {"wait", [](World& w) { return cuStreamWaitEvent(w.stream, w.event, 0); }},
      {"synchronise", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"create array", CreateArray},
      {"load", [](World& w) { return cuModuleLoadData(&w.module, kPtx); }},
      {"get function",
       [](World& w) { return cuModuleGetFunction(&w.function, w.module, "first"); }},
      {"load library", LoadLibrary},
      {"get kernel", [](World& w) { return cuLibraryGetKernel(&w.kernel, w.library, "second"); }},
      {"module of the library",
       [](World& w) { return cuLibraryGetModule(&w.of_library, w.library); }},
      {"function of the kernel",
       [](World& w) { return cuKernelGetFunction(&w.of_kernel, w.kernel); }},
  };
}

Steps Ending() {
  return {
      {"create context", [](World& w) { return cuCtxCreate_v2(&w.created, 0, 1); }},
      {"library on another device",
       [](World& w) { return cuLibraryGetModule(&w.there, w.library); }},
      {"destroy context", [](World& w) { return cuCtxDestroy_v2(w.created); }},
      {"set current", [](World& w) { return cuCtxSetCurrent(w.primary); }},
      {"unload", [](World& w) { return cuModuleUnload(w.module); }},
      {"unload library", [](World& w) { return cuLibraryUnload(w.library); }},
      {"load again", [](World& w) { return cuModuleLoadData(&w.module, kPtx); }},
      {"get function again",
       [](World& w) { return cuModuleGetFunction(&w.function, w.module, "second"); }},
      {"unregister", [](World& w) { return cuMemHostUnregister(w.own.data()); }},
      {"destroy event", [](World& w) { return cuEventDestroy_v2(w.event); }},
      // What is left ends with the context.
      {"release", [](World&) { return cuDevicePrimaryCtxRelease_v2(0); }},
  };
}

Steps Script() {
  Steps script = Building();
  for (Step<World>& step : Ending()) script.push_back(std::move(step));
  return script;
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  CUcontext current = nullptr;
  out << cuCtxGetCurrent(&current) << " current " << current << "\n";
  for (const CUcontext context : {w.primary, w.created}) {
    unsigned long long id = 0;
    out << (context == nullptr ? 0 : cuCtxGetId(context, &id)) << " context " << id << "\n";
  }
  unsigned int flags = 0;
  int active = 0;
  out << cuDevicePrimaryCtxGetState(0, &flags, &active) << " primary " << active << "\n";
  out << FreeOn(2);
  std::vector<char> bytes(64);
  out << cuMemcpyDtoH_v2(bytes.data(), w.memory, 64) << " memory " << int{bytes[0]} << "\n";
  unsigned int pinned = 0;
  out << cuPointerGetAttribute(&pinned, static_cast<CUpointer_attribute>(2),
                               reinterpret_cast<CUdeviceptr>(w.own.data()))
      << " registered " << pinned << "\n";
  unsigned long long id = 0;
  out << cuStreamGetId(w.stream, &id) << " stream " << id << "\n";
  out << cuEventQuery(w.event) << " event\n";
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  out << cuArray3DGetDescriptor_v2(&descriptor, w.array) << " array\n";
  unsigned int count = 0;
  out << cuModuleGetFunctionCount(&count, w.module) << " module " << count << "\n";
  out << cuLibraryGetKernelCount(&count, w.library) << " library " << count << "\n";
  CUlibrary library = nullptr;
  out << cuKernelGetLibrary(&library, w.kernel) << " kernel " << library << "\n";
  return out.str();
}

class MemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(MemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/100);
}

uint64_t FreeMemory() {
  return Process::Get().driver()->vmm.GetMemoryInfo(DeviceOrdinal(0))->free.value();
}

// A program that gives up after the first failure, and takes back what it has made.
TEST_P(MemoryFailureTest, WhatFailedLeavesNothingBehind) {
  const Steps script = Building();
  bool failed = true;
  for (uint64_t n = 0; failed && !HasFailure(); ++n) {
    SCOPED_TRACE(n);
    Restart();
    World world;
    const uint64_t fresh = FreeMemory();
    failing_host::FailAt(Fails::kMemory, n, GetParam());
    failed = false;
    for (size_t i = 0; i < script.size() && !failed; ++i) {
      const failing_host::Scope scope;
      script[i].run(world);
      failed = scope.failed();
    }
    if (world.library != nullptr) {
      EXPECT_EQ(cuLibraryUnload(world.library), CUDA_SUCCESS);
    }
    if (world.module != nullptr) {
      EXPECT_EQ(cuModuleUnload(world.module), CUDA_SUCCESS);
    }
    if (world.primary != nullptr) {
      EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    }
    EXPECT_EQ(FreeMemory(), fresh);
  }
}

// A kernel that finds no memory when it runs ends all contexts, as any of its faults does; and the
// next machine works.
TEST_P(MemoryFailureTest, ALaunchFailsAndCorruptsNothing) {
  bool failed = true;
  for (uint64_t n = 0; failed && !HasFailure(); ++n) {
    SCOPED_TRACE(n);
    Restart();
    World world;
    for (const Step<World>& step : Building())
      ASSERT_EQ(step.run(world), CUDA_SUCCESS) << step.name;
    void* parameters[] = {&world.memory};
    const auto launch = [&] {
      const CUresult launched =
          cuLaunchKernel(world.function, 4, 1, 1, 64, 1, 1, 0, world.stream, parameters, nullptr);
      return launched == CUDA_SUCCESS ? cuStreamSynchronize(world.stream) : launched;
    };
    failing_host::FailAt(Fails::kMemory, n, GetParam());
    CUresult result = CUDA_SUCCESS;
    {
      const failing_host::Scope scope;
      result = launch();
      failed = scope.failed();
    }
    if (result == kOutOfMemory) result = launch();
    EXPECT_TRUE(result == CUDA_SUCCESS || (failed && result == kLaunchFailed)) << result;
  }
}

// What is refused is told of with words that know the past, for which there may be no memory: the
// call ends, and the next one gets all locks.
TEST_P(MemoryFailureTest, RefusedFreesEnd) {
  bool failed = true;
  for (uint64_t n = 0; failed && !HasFailure(); ++n) {
    SCOPED_TRACE(n);
    Restart();
    World world;
    for (const Step<World>& step : Building()) ASSERT_EQ(step.run(world), CUDA_SUCCESS);
    const CUdeviceptr freed = world.memory;
    ASSERT_EQ(cuMemFree_v2(freed), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc_v2(&world.memory, kSmall), CUDA_SUCCESS);
    failing_host::FailAt(Fails::kMemory, n, GetParam());
    failed = false;
    const std::function<CUresult()> refused[] = {
        [&] { return cuMemFree_v2(world.memory + 1); },
        [&] { return cuMemFreeHost(world.own.data()); },
        [&] { return cuMemHostUnregister(world.own.data() + kSmall); },
        [&] { return cuMemFree_v2(freed + (CUdeviceptr{1} << 30)); },
    };
    for (const std::function<CUresult()>& call : refused) {
      CUresult result = CUDA_SUCCESS;
      {
        const failing_host::Scope scope;
        result = call();
        failed = failed || scope.failed();
      }
      EXPECT_NE(result, CUDA_SUCCESS);
      if (result == kOutOfMemory) {
        EXPECT_NE(call(), kOutOfMemory);
      }
    }
  }
}

// Calls a function with zeros for all its parameters.
CUresult CallWithZeros(const Export& function) {
  using N = uint64_t;
  using AnyFunction = CUresult (*)(N, N, N, N, N, N, N, N, N, N, N, N);
  return reinterpret_cast<AnyFunction>(function.function)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

// Errors are words, for which there may be no memory either.
TEST_P(MemoryFailureTest, EveryFunctionKeepsItsAnswerOrSaysOutOfMemory) {
  for (const Export& function : Exports()) {
    SCOPED_TRACE(function.info->symbol);
    bool failed = true;
    for (uint64_t n = 0; failed && !HasFailure(); ++n) {
      Restart();
      World world;
      ASSERT_EQ(cuCtxCreate_v2(&world.created, 0, 0), CUDA_SUCCESS);
      failing_host::FailAt(Fails::kMemory, n, GetParam());
      CUresult result = CUDA_SUCCESS;
      {
        const failing_host::Scope scope;
        result = CallWithZeros(function);
        failed = scope.failed();
      }
      ASSERT_EQ(cuCtxSetCurrent(world.created), CUDA_SUCCESS);
      // The stream of the thread, which captures now, does not begin again.
      const bool captures =
          result == CUDA_SUCCESS &&
          std::string(function.info->symbol).rfind("cuStreamBeginCapture", 0) == 0;
      if (result != kOutOfMemory && !captures) {
        EXPECT_EQ(CallWithZeros(function), result);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("TWINMMU_REPORT", (testing::TempDir() + "report.jsonl").c_str(), 1);
  const std::string profile = testing::TempDir() + "profile.json";
  std::ofstream(profile) << R"({"devices": [{"name": "A"}, {"memory": "4 GiB"}],
                                "quirks": {}, "peers": [[true, true], [true, true]]})";
  setenv("TWINMMU_PROFILE", profile.c_str(), 1);
  // The first cuInit of the process: from then on there is a machine.
  bool failed = true;
  for (uint64_t n = 0; failed; ++n) {
    for (const bool for_good : {true, false}) {
      twinmmu::failing_host::FailAt(twinmmu::failing_host::Fails::kMemory, n, for_good);
      const twinmmu::failing_host::Scope scope;
      const twinmmu::libcuda::CUresult result = twinmmu::libcuda::cuInit(0);
      failed = scope.failed();
      if (result != (failed ? 2 : 0) && result != 0) return 1;
    }
  }
  return RUN_ALL_TESTS();
}

// Nothing that is thrown leaves the library. The linker sends FailsByRule, which every exported
// function calls, to the test (`--wrap` in BUILD.bazel): it throws there.

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/exports.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/report/report_reader.h"
#include "sim/libcuda/tests/own_report.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" CUresult cuCtxCreate_v2(CUcontext*, unsigned int, CUdevice);
extern "C" CUresult cuCtxDestroy_v2(CUcontext);
extern "C" CUresult cuCtxSetCurrent(CUcontext);
extern "C" CUresult cuLaunchHostFunc(CUstream, void (*)(void*), void*);
extern "C" CUresult cuStreamAddCallback(CUstream, void (*)(CUstream, CUresult, void*), void*,
                                        unsigned int);
extern "C" CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
extern "C" CUresult cuMemFree_v2(CUdeviceptr);
extern "C" CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
extern "C" CUresult cuStreamCreate(CUstream*, unsigned int);
extern "C" CUresult cuStreamSynchronize(CUstream);
extern "C" CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
extern "C" CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
extern "C" CUresult cuModuleLoad(CUmodule*, const char*);
extern "C" CUresult cuLibraryLoadFromFile(CUlibrary*, const char*, CUjit_option*, void**,
                                          unsigned int, int*, void**, unsigned int);

namespace {

constexpr CUresult kInvalidValue = 1;
constexpr CUresult kOutOfMemory = 2;
constexpr CUresult kFileNotFound = 301;
constexpr CUresult kOperatingSystem = 304;
constexpr CUresult kUnknown = 999;

std::function<void()> in_every_call;

}  // namespace

// In place of Injector::FailsByRule, as the linker was told.
std::optional<DriverCode> FailsByRule(Injector*, size_t) __asm__(
    "__wrap__ZN7twinmmu7libcuda8Injector11FailsByRuleEm");
std::optional<DriverCode> FailsByRule(Injector*, size_t) {
  if (in_every_call) in_every_call();
  return std::nullopt;
}

namespace {

// Calls a function with zeros for all its parameters.
CUresult CallWithZeros(const Export& function) {
  using N = uint64_t;
  using AnyFunction = CUresult (*)(N, N, N, N, N, N, N, N, N, N, N, N);
  return reinterpret_cast<AnyFunction>(function.function)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

// A thread ends in body(), or after it.
struct EndOfThread {
  bool returned = false;  // from body()
  bool cancelled = false;
};
EndOfThread RunInThread(std::function<void()> body) {
  struct Task {
    std::function<void()> body;
    bool returned = false;
  } task{std::move(body)};
  const auto run = [](void* argument) -> void* {
    auto* const own = static_cast<Task*>(argument);
    own->body();
    own->returned = true;
    pthread_testcancel();
    return nullptr;
  };
  pthread_t thread;
  void* result = nullptr;
  EXPECT_EQ(pthread_create(&thread, nullptr, run, &task), 0);
  EXPECT_EQ(pthread_join(thread, &result), 0);
  return {task.returned, result == PTHREAD_CANCELED};
}

class ExceptionGuardTest : public testing::Test {
 protected:
  ExceptionGuardTest() {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxCreate_v2(&context_, 0, 0), CUDA_SUCCESS);
  }
  ~ExceptionGuardTest() override {
    in_every_call = nullptr;
    // No lock is held.
    EXPECT_EQ(RunInThread([&] { EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS); }).returned,
              true);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxDestroy_v2(context_), CUDA_SUCCESS);
  }

  static void ExpectAll(const std::function<void()>& thrower, CUresult expected) {
    in_every_call = thrower;
    for (const Export& function : Exports()) {
      EXPECT_EQ(CallWithZeros(function), expected) << function.info->symbol;
    }
  }

  CUcontext context_ = nullptr;
};

TEST_F(ExceptionGuardTest, NoMemoryIsOutOfMemoryFromEveryFunction) {
  ExpectAll([] { throw std::bad_alloc(); }, kOutOfMemory);
  ExpectAll([] { throw std::length_error("too long"); }, kOutOfMemory);
}

TEST_F(ExceptionGuardTest, WhatTheHostRefusesIsOperatingSystemFromEveryFunction) {
  ExpectAll([] { throw std::system_error(std::make_error_code(std::errc::io_error)); },
            kOperatingSystem);
}

TEST_F(ExceptionGuardTest, AllElseIsUnknownFromEveryFunction) {
  ExpectAll([] { throw std::runtime_error("anything"); }, kUnknown);
  ExpectAll([] { throw 7; }, kUnknown);
}

TEST_F(ExceptionGuardTest, TheEndOfAThreadPassesThroughEveryFunction) {
  in_every_call = [] { pthread_exit(nullptr); };
  for (const Export& function : Exports()) {
    const EndOfThread end = RunInThread([&] { CallWithZeros(function); });
    EXPECT_FALSE(end.returned) << function.info->symbol;
  }
}

TEST_F(ExceptionGuardTest, ACancelledThreadEndsAfterItsCallOfEveryFunction) {
  in_every_call = [] {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  };
  for (const Export& function : Exports()) {
    const EndOfThread end = RunInThread([&] { CallWithZeros(function); });
    EXPECT_TRUE(end.returned && end.cancelled) << function.info->symbol;
  }
}

TEST_F(ExceptionGuardTest, AHostFunctionThatThrowsIsReported) {
  const size_t before = ReportedOf(DiagnosticKind::kCallbackThrew).size();
  EXPECT_EQ(cuLaunchHostFunc(
                nullptr, [](void*) { throw 7; }, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamAddCallback(
                nullptr, [](CUstream, CUresult, void*) { throw std::bad_alloc(); }, nullptr, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(ReportedOf(DiagnosticKind::kCallbackThrew).size(), before + 2);
}

TEST_F(ExceptionGuardTest, TheThreadMayEndInAHostFunction) {
  for (void (*const end)(void*) : {+[](void*) { pthread_exit(nullptr); },
                                   +[](void*) {
                                     pthread_cancel(pthread_self());
                                     pthread_testcancel();
                                   }}) {
    static std::atomic<bool> called{false};
    called = false;
    EXPECT_EQ(cuLaunchHostFunc(nullptr, end, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuLaunchHostFunc(
                  nullptr, [](void*) { called = true; }, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_TRUE(called);
  }
}

// The stream goes on, with what comes behind the function.
TEST_F(ExceptionGuardTest, AThreadMayEndInAHostFunctionBehindAWait) {
  CUdeviceptr word = 0;
  CUstream stream = nullptr;
  ASSERT_EQ(cuMemAlloc_v2(&word, 64), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8_v2(word, 0, 64), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitValue32_v2(stream, word, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchHostFunc(
                stream, [](void*) { pthread_exit(nullptr); }, nullptr),
            CUDA_SUCCESS);
  static bool called = false;
  EXPECT_EQ(cuLaunchHostFunc(
                stream, [](void*) { called = true; }, nullptr),
            CUDA_SUCCESS);
  CUstream other = nullptr;
  ASSERT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  RunInThread([&] {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWriteValue32_v2(other, word, 1, 0), CUDA_SUCCESS);
    cuStreamSynchronize(stream);
  });
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_TRUE(called);
  EXPECT_EQ(cuMemFree_v2(word), CUDA_SUCCESS);
}

TEST_F(ExceptionGuardTest, ACallMadeByAHostFunctionLeavesItCancellable) {
  const auto make_calls = [](void*) {
    int version = 0;
    EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
    int state = PTHREAD_CANCEL_DISABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    EXPECT_EQ(state, PTHREAD_CANCEL_ENABLE);
  };
  EXPECT_EQ(cuLaunchHostFunc(nullptr, make_calls, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
}

// A driver takes the size of a directory for that of an image, for which there is no memory.
TEST_F(ExceptionGuardTest, AModuleThatIsNoFileIsNotLoaded) {
  const std::pair<const char*, CUresult> cases[] = {{"/", kOutOfMemory},
                                                    {"", kInvalidValue},
                                                    {"/dev/zero", kFileNotFound},
                                                    {"/no/such/file", kFileNotFound}};
  for (const auto& [name, code] : cases) {
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoad(&module, name), code) << name;
    CUlibrary library = nullptr;
    EXPECT_EQ(cuLibraryLoadFromFile(&library, name, nullptr, nullptr, 0, nullptr, nullptr, 0), code)
        << name;
  }
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("TWINMMU_REPORT", (testing::TempDir() + "report.jsonl").c_str(), 1);
  // A rule, if one that never applies: without any, FailsByRule is not called.
  setenv("TWINMMU_FAIL", "cuInit:1000000:UNKNOWN", 1);
  return RUN_ALL_TESTS();
}

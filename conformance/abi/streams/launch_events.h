// Launches that record events, as cuLaunchKernelEx has them.

#ifndef TWINMMU_CONFORMANCE_ABI_STREAMS_LAUNCH_EVENTS_H_
#define TWINMMU_CONFORMANCE_ABI_STREAMS_LAUNCH_EVENTS_H_

#include <vector>

#include "conformance/abi/streams/memory_words.h"

namespace twinmmu::abi {

// CUlaunchAttribute and CUlaunchConfig, as far as they are used here.
struct EventAttribute {
  int id;
  int pad;
  CUevent event;
  int flags;
  int at_start;  // of a programmatic event
  int rest[12];
};
struct EventLaunch {
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;
  CUstream stream;
  EventAttribute* attributes;
  unsigned int attribute_count;
};
using EventAttributes = std::vector<EventAttribute>;

inline constexpr int kProgrammaticEvent = 7;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT
inline constexpr int kCompletionEvent = 12;   // CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT
inline constexpr int kExternal = 1;           // CU_EVENT_RECORD_EXTERNAL

inline EventAttribute Completion(CUevent event, int flags = 0) {
  return {kCompletionEvent, 0, event, flags, 0, {}};
}
inline EventAttribute Programmatic(CUevent event, int at_start = 0, int flags = 0) {
  return {kProgrammaticEvent, 0, event, flags, at_start, {}};
}
// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION; its value is a number at the start.
inline EventAttribute Serialization() {
  return {6, 0, reinterpret_cast<CUevent>(uintptr_t{1}), 0, 0, {}};
}

// Kernels that run until the first word of the host is not 0, two events without timing, and one
// with it.
class LaunchEventsTest : public MemoryWordsTest {
 protected:
  void SetUp() override {
    MemoryWordsTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    if (DriverVersion() < 12000) GTEST_SKIP() << "the driver is older than these attributes";
    ASSERT_EQ(Function<CUresult(void**, const void*)>("cuModuleLoadData")(&module_, kText),
              CUDA_SUCCESS);
    const Function<CUresult(void**, void*, const char*)> get("cuModuleGetFunction");
    ASSERT_EQ(get(&spins_, module_, "spins"), CUDA_SUCCESS);
    ASSERT_EQ(get(&triggers_, module_, "triggers"), CUDA_SUCCESS);
    ASSERT_EQ(get(&ends_, module_, "ends"), CUDA_SUCCESS);
    ASSERT_EQ(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    ASSERT_EQ(cuEventCreate(&second_, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    ASSERT_EQ(cuEventCreate(&timed_, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    // A driver loads what it launches for the first time only when nothing runs.
    LetEnd();
    for (void* const kernel : {spins_, triggers_, ends_}) {
      EXPECT_EQ(Launch(kernel, stream_, {}), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuMemsetD32Async(Word(0), 0, 1, other_), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    host_[0] = 0;
  }
  void TearDown() override {
    if (host_ != nullptr) LetEnd();
    if (module_ != nullptr) {
      EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
      for (const CUevent event : {event_, second_, timed_}) {
        EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
      }
      EXPECT_EQ(Function<CUresult(void*)>("cuModuleUnload")(module_), CUDA_SUCCESS);
    }
    MemoryWordsTest::TearDown();
  }

  CUresult Launch(void* kernel, CUstream stream, EventAttributes attributes,
                  unsigned int blocks = 1) {
    const EventLaunch launch = {
        {blocks, 1, 1}, {1, 1, 1},         0,
        stream,         attributes.data(), static_cast<unsigned int>(attributes.size())};
    CUdeviceptr word = OnHost(0);
    void* arguments[] = {&word};
    return Function<CUresult(const EventLaunch*, void*, void**, void**)>("cuLaunchKernelEx")(
        &launch, kernel, arguments, nullptr);
  }
  // Kernels that spin end.
  void LetEnd() { host_[0] = 1; }

  // What is asked of an event in the end, or after a while.
  static CUresult Reached(CUevent event, int milliseconds = 5000) {
    const std::chrono::steady_clock::time_point end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    CUresult result = cuEventQuery(event);
    while (result == CUDA_ERROR_NOT_READY && std::chrono::steady_clock::now() < end) {
      result = cuEventQuery(event);
    }
    return result;
  }
  static CUresult ReachedSoon(CUevent event) { return Reached(event, 20); }

  CUevent event_ = nullptr;
  CUevent second_ = nullptr;
  CUevent timed_ = nullptr;
  void* spins_ = nullptr;
  void* triggers_ = nullptr;  // and spins
  void* ends_ = nullptr;

 private:
  static constexpr char kText[] = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry spins(.param .u64 word) {
  .reg .pred %p; .reg .b32 %r; .reg .b64 %a;
  ld.param.u64 %a, [word];
L: ld.volatile.global.u32 %r, [%a];
  setp.eq.u32 %p, %r, 0;
  @%p bra L;
  ret;
}
.visible .entry triggers(.param .u64 word) {
  .reg .pred %p; .reg .b32 %r; .reg .b64 %a;
  ld.param.u64 %a, [word];
  griddepcontrol.launch_dependents;
L: ld.volatile.global.u32 %r, [%a];
  setp.eq.u32 %p, %r, 0;
  @%p bra L;
  ret;
}
.visible .entry ends(.param .u64 word) { ret; }
)";
  void* module_ = nullptr;
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_STREAMS_LAUNCH_EVENTS_H_

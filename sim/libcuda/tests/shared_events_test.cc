// Events and memory by legacy IPC: of processes that make no calls any more, on a machine without
// them, and in the report.

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/report/report_reader.h"
#include "sim/libcuda/tests/own_report.h"

namespace twinmmu::libcuda {

// What no header of the library declares.
extern "C" CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event);
extern "C" CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle);
extern "C" CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address);
extern "C" CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle,
                                          unsigned int flags);
extern "C" CUresult cuIpcCloseMemHandle(CUdeviceptr address);
extern "C" CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t size);

namespace {

constexpr unsigned int kShared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
constexpr CUresult kNotSupported = 801;
constexpr unsigned int kMostSeconds = 30;

// The driver is first called in processes of their own.
class SharedEventsTest : public testing::Test {
 protected:
  SharedEventsTest() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0); }
  ~SharedEventsTest() override {
    for (const int end : ends_) close(end);
  }

  // `body` says whether all went well.
  static pid_t Start(const char* setting, const char* value, const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child != 0) return child;
    alarm(kMostSeconds);
    setenv(setting, value, 1);
    CUcontext context = nullptr;
    const bool begun = cuInit(0) == CUDA_SUCCESS &&
                       cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
                       cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
    std::_Exit(begun && body() ? 0 : 1);
  }
  static int StatusOf(pid_t child) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  template <typename Handle>
  bool SendHandle(const Handle& handle) const {
    return write(ends_[0], &handle, sizeof(handle)) == sizeof(handle);
  }
  template <typename Handle>
  bool ReceiveHandle(Handle* handle) const {
    return read(ends_[1], handle, sizeof(*handle)) == sizeof(*handle);
  }
  bool Send(CUevent event) const {
    CUipcEventHandle handle = {};
    return cuIpcGetEventHandle(&handle, event) == CUDA_SUCCESS && SendHandle(handle);
  }
  bool Open(CUevent* event) const {
    CUipcEventHandle handle = {};
    return ReceiveHandle(&handle) && cuIpcOpenEventHandle(event, handle) == CUDA_SUCCESS;
  }

 private:
  int ends_[2] = {};
};

// Under this policy work runs in calls, unless something else is to see it.
TEST_F(SharedEventsTest, ComeToPassWithoutAnotherCallOfWhoRecorded) {
  const pid_t recorder = Start("TWINMMU_STREAM_POLICY", "deferred", [&] {
    CUevent event = nullptr;
    CUstream stream = nullptr;
    CUdeviceptr memory = 0;
    const bool recorded = cuEventCreate(&event, kShared) == CUDA_SUCCESS &&
                          cuStreamCreate(&stream, 1) == CUDA_SUCCESS &&
                          cuMemAlloc_v2(&memory, 64) == CUDA_SUCCESS &&
                          cuMemsetD8Async(memory, 1, 64, stream) == CUDA_SUCCESS && Send(event) &&
                          cuEventRecord(event, stream) == CUDA_SUCCESS && Send(event);
    pause();
    return recorded;
  });
  const pid_t waiting = Start("TWINMMU_STREAM_POLICY", "eager", [&] {
    CUevent event = nullptr;
    CUevent again = nullptr;
    return Open(&event) && Open(&again) && cuEventSynchronize(again) == CUDA_SUCCESS;
  });
  EXPECT_EQ(StatusOf(waiting), 0);
  kill(recorder, SIGKILL);
  StatusOf(recorder);
}

TEST_F(SharedEventsTest, AreRefusedWhereTheDeviceSaysThatThereAreNone) {
  const pid_t process = Start("TWINMMU_PROFILE", "vgpu", [] {
    int supported = -1;
    CUevent event = nullptr;
    CUipcEventHandle handle = {};
    return cuDeviceGetAttribute(&supported, static_cast<CUdevice_attribute>(125), 0) ==
               CUDA_SUCCESS &&
           supported == 0 && cuEventCreate(&event, kShared) == CUDA_SUCCESS &&
           cuIpcGetEventHandle(&handle, event) == kNotSupported &&
           cuIpcOpenEventHandle(&event, handle) == kNotSupported;
  });
  EXPECT_EQ(StatusOf(process), 0);
}

// CUDA's documentation has one attribute for both.
TEST_F(SharedEventsTest, AndSoIsMemory) {
  const pid_t process = Start("TWINMMU_PROFILE", "vgpu", [] {
    CUdeviceptr memory = 0;
    CUipcMemHandle handle = {};
    return cuMemAlloc_v2(&memory, 64) == CUDA_SUCCESS &&
           cuIpcGetMemHandle(&handle, memory) == kNotSupported &&
           cuIpcOpenMemHandle_v2(&memory, handle, 1) == kNotSupported;
  });
  EXPECT_EQ(StatusOf(process), 0);
}

// How much the report says is left that was opened.
int LeftOpen() {
  int left = 0;
  for (const LiveObjects& objects : OwnReport().alive) {
    if (objects.place.call == "cuIpcOpenMemHandle") ++left;
  }
  return left;
}

TEST_F(SharedEventsTest, MemoryIsLeftUntilItIsClosedAsOftenAsItWasOpened) {
  const pid_t owner = Start("TWINMMU_STREAM_POLICY", "eager", [&] {
    CUdeviceptr memory = 0;
    CUipcMemHandle handle = {};
    const bool sent = cuMemAlloc_v2(&memory, 64) == CUDA_SUCCESS &&
                      cuIpcGetMemHandle(&handle, memory) == CUDA_SUCCESS && SendHandle(handle);
    pause();
    return sent;
  });
  const std::string report = testing::TempDir() + "/shared_memory.jsonl";
  const pid_t user = Start("TWINMMU_REPORT", report.c_str(), [&] {
    CUdeviceptr memory = 0;
    CUdeviceptr same = 0;
    CUipcMemHandle handle = {};
    return ReceiveHandle(&handle) && cuIpcOpenMemHandle_v2(&memory, handle, 1) == CUDA_SUCCESS &&
           cuIpcOpenMemHandle_v2(&same, handle, 1) == CUDA_SUCCESS && same == memory &&
           LeftOpen() == 1 && cuIpcCloseMemHandle(memory) == CUDA_SUCCESS && LeftOpen() == 1 &&
           cuIpcCloseMemHandle(memory) == CUDA_SUCCESS && LeftOpen() == 0;
  });
  EXPECT_EQ(StatusOf(user), 0);
  kill(owner, SIGKILL);
  StatusOf(owner);
}

}  // namespace
}  // namespace twinmmu::libcuda

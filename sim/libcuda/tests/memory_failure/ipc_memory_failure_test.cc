// The host runs out of memory in calls that open events and memory of another process by legacy
// IPC: see memory_failure_steps.h. The simulated driver is linked in; the other process is this
// program once more.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuIpcGetEventHandle(CUipcEventHandle*, CUevent);
CUresult cuIpcOpenEventHandle(CUevent*, CUipcEventHandle);
CUresult cuIpcGetMemHandle(CUipcMemHandle*, CUdeviceptr);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr*, CUipcMemHandle, unsigned int);
CUresult cuIpcCloseMemHandle(CUdeviceptr);
}

namespace {

constexpr size_t kSize = 4096;
constexpr int kValue = 9;  // of what the other process has in its memory
constexpr unsigned int kLazyPeerAccess = 1;
constexpr int kLine = 100;  // where the other process writes

struct Handles {
  CUipcEventHandle event;
  CUipcMemHandle memory;
};

// The other process: it stays until it is ended, or whoever started it has ended.
TEST(OtherProcessTest, DISABLED_GivesHandles) {
  Restart();
  CUcontext context = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  Handles handles = {};
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(cuIpcGetEventHandle(&handles.event, event), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc_v2(&memory, kSize), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8_v2(memory, kValue, kSize), CUDA_SUCCESS);
  ASSERT_EQ(cuIpcGetMemHandle(&handles.memory, memory), CUDA_SUCCESS);
  ASSERT_EQ(write(kLine, &handles, sizeof(handles)), static_cast<ssize_t>(sizeof(handles)));
  for (;;) pause();
}

class OtherProcess {
 public:
  OtherProcess() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(ends[1], kLine);
      execl("/proc/self/exe", "other", "--gtest_also_run_disabled_tests",
            "--gtest_filter=OtherProcessTest.*", nullptr);
      _exit(1);
    }
    close(ends[1]);
    EXPECT_EQ(read(ends[0], &handles_, sizeof(handles_)), static_cast<ssize_t>(sizeof(handles_)));
    close(ends[0]);
  }
  ~OtherProcess() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  const Handles& handles() const { return handles_; }

 private:
  pid_t process_ = -1;
  Handles handles_ = {};
};

// What the steps hand on to each other.
struct World {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0, again = 0;
};
using Steps = std::vector<Step<World>>;

CUresult OpenMemory(const Handles& handles, CUdeviceptr* memory) {
  return cuIpcOpenMemHandle_v2(memory, handles.memory, kLazyPeerAccess);
}

Steps Script(const Handles& handles) {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"create stream", [](World& w) { return cuStreamCreate(&w.stream, 1); }},
      {"open an event", [&](World& w) { return cuIpcOpenEventHandle(&w.event, handles.event); }},
      {"record it", [](World& w) { return cuEventRecord(w.event, w.stream); }},
      {"wait for it", [](World& w) { return cuStreamWaitEvent(w.stream, w.event, 0); }},
      {"synchronise it", [](World& w) { return cuEventSynchronize(w.event); }},
      {"open memory", [&](World& w) { return OpenMemory(handles, &w.memory); }},
      {"open it again", [&](World& w) { return OpenMemory(handles, &w.again); }},
      {"fill a part", [](World& w) { return cuMemsetD8_v2(w.again + 64, kValue, 64); }},
      {"close it", [](World& w) { return cuIpcCloseMemHandle(w.again); }},
      {"close it for good", [](World& w) { return cuIpcCloseMemHandle(w.memory); }},
      {"open it anew", [&](World& w) { return OpenMemory(handles, &w.again); }},
      {"destroy the event", [](World& w) { return cuEventDestroy_v2(w.event); }},
      {"close the memory", [](World& w) { return cuIpcCloseMemHandle(w.again); }},
  };
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  if (w.event != nullptr) out << cuEventQuery(w.event) << " event\n";
  for (const CUdeviceptr address : {w.memory, w.again}) {
    unsigned int type = 0;
    out << cuPointerGetAttribute(&type, 2, address) << " memory " << type << "\n";
    unsigned char bytes[64] = {};
    out << cuMemcpyDtoH_v2(bytes, address, sizeof(bytes)) << " content " << int{bytes[63]} << "\n";
  }
  out << FreeOn(1);
  const std::filesystem::directory_iterator files("/proc/self/fd");
  out << std::distance(begin(files), end(files)) << " descriptors\n";
  return out.str();
}

class IpcMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(IpcMemoryFailureTest, NothingIsLost) {
  const OtherProcess other;
  ASSERT_FALSE(HasFailure());
  ExpectNothingIsLost(Script(other.handles()), &VisibleState, GetParam(), /*least=*/24);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, IpcMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

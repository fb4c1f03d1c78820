// The host runs out of memory in calls for green contexts, for the driver's log, for settings of
// core dumps and for notifications: see memory_failure_steps.h. The simulated driver is linked in.

#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"

namespace twinmmu::libcuda {

struct Resource {  // CUdevResource
  int type;
  unsigned char of_driver[140];
};

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxRecordEvent(CUcontext, CUevent);
CUresult cuCtxWaitEvent(CUcontext, CUevent);
CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned int*, int*);
CUresult cuDeviceGetDevResource(CUdevice, Resource*, int);
CUresult cuDevSmResourceSplitByCount(Resource*, unsigned int*, const Resource*, Resource*,
                                     unsigned int, unsigned int);
CUresult cuDevResourceGenerateDesc(void**, const Resource*, unsigned int);
CUresult cuGreenCtxCreate(void**, void*, CUdevice, unsigned int);
CUresult cuGreenCtxDestroy(void*);
CUresult cuGreenCtxGetId(void*, unsigned long long*);
CUresult cuGreenCtxStreamCreate(CUstream*, void*, unsigned int, int);
CUresult cuGreenCtxRecordEvent(void*, CUevent);
CUresult cuGreenCtxWaitEvent(void*, CUevent);
CUresult cuCtxFromGreenCtx(CUcontext*, void*);
CUresult cuStreamGetGreenCtx(CUstream, void**);
CUresult cuLogsRegisterCallback(void (*)(void*, int, char*, size_t), void*, void**);
CUresult cuLogsUnregisterCallback(void*);
CUresult cuLogsCurrent(unsigned int*, unsigned int);
CUresult cuLogsDumpToFile(unsigned int*, const char*, unsigned int);
CUresult cuLogsDumpToMemory(unsigned int*, char*, size_t*, unsigned int);
CUresult cuCoredumpGetAttribute(int, void*, size_t*);
CUresult cuCoredumpGetAttributeGlobal(int, void*, size_t*);
CUresult cuCoredumpSetAttribute(int, void*, size_t*);
CUresult cuCoredumpSetAttributeGlobal(int, void*, size_t*);
CUresult cuDeviceRegisterAsyncNotification(CUdevice, void (*)(void*, void*, void*), void*, void**);
CUresult cuDeviceUnregisterAsyncNotification(CUdevice, void*);
}

namespace {

constexpr int kMultiprocessors = 1;  // CUdevResourceType
constexpr unsigned int kDefaultStream = 1;
constexpr int kEnable = 1;  // CUcoredumpSettings
constexpr int kFile = 5;
constexpr CUresult kInvalidValue = 1;

// What the steps hand on to each other.
struct World {
  ~World() {
    if (listener != nullptr) cuLogsUnregisterCallback(listener);
  }

  CUcontext context = nullptr, as_context = nullptr;
  Resource all = {}, group = {}, rest = {};
  void* description = nullptr;
  void* green = nullptr;
  CUstream stream = nullptr, other = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  void* listener = nullptr;
  int heard = 0;
  unsigned int line = 0;
  void* notification = nullptr;
};
using Steps = std::vector<Step<World>>;

CUresult SplitAll(World& w) {
  unsigned int groups = 1;
  return cuDevSmResourceSplitByCount(&w.group, &groups, &w.all, &w.rest, 0, 16);
}
CUresult CreateStream(World& w, CUstream* stream) {
  return cuGreenCtxStreamCreate(stream, w.green, CU_STREAM_NON_BLOCKING, 0);
}

Steps Green() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"ask", [](World& w) { return cuDeviceGetDevResource(0, &w.all, kMultiprocessors); }},
      {"split", SplitAll},
      {"describe", [](World& w) { return cuDevResourceGenerateDesc(&w.description, &w.group, 1); }},
      {"create",
       [](World& w) { return cuGreenCtxCreate(&w.green, w.description, 0, kDefaultStream); }},
      {"as a context", [](World& w) { return cuCtxFromGreenCtx(&w.as_context, w.green); }},
      {"set current", [](World& w) { return cuCtxSetCurrent(w.as_context); }},
      {"create a stream", [](World& w) { return CreateStream(w, &w.stream); }},
      {"create another", [](World& w) { return CreateStream(w, &w.other); }},
      {"allocate", [](World& w) { return cuMemAlloc_v2(&w.memory, 4096); }},
      {"create an event", [](World& w) { return cuEventCreate(&w.event, 0); }},
      {"fill", [](World& w) { return cuMemsetD8Async(w.memory, 7, 64, w.stream); }},
      {"record", [](World& w) { return cuGreenCtxRecordEvent(w.green, w.event); }},
      {"wait", [](World& w) { return cuGreenCtxWaitEvent(w.green, w.event); }},
      {"record in the whole", [](World& w) { return cuCtxRecordEvent(w.context, w.event); }},
      {"wait in the whole", [](World& w) { return cuCtxWaitEvent(w.context, w.event); }},
      {"destroy a stream", [](World& w) { return cuStreamDestroy_v2(w.stream); }},
      {"free", [](World& w) { return cuMemFree_v2(w.memory); }},
      {"destroy the event", [](World& w) { return cuEventDestroy_v2(w.event); }},
      {"set current again", [](World& w) { return cuCtxSetCurrent(w.context); }},
      {"destroy", [](World& w) { return cuGreenCtxDestroy(w.green); }},
  };
}

void Hear(void* heard, int, char*, size_t) { ++*static_cast<int*>(heard); }

// A call that fails, of which the log tells.
CUresult MakeAnError(World&) {
  CUdeviceptr none = 0;
  const CUresult result = cuMemAlloc_v2(&none, 0);
  return result == kInvalidValue ? CUDA_SUCCESS : result;
}

CUresult SetFile(World&) {
  char name[] = "dump";
  size_t size = sizeof(name);
  return cuCoredumpSetAttributeGlobal(kFile, name, &size);
}
CUresult Enable(World&) {
  bool enables = true;
  size_t size = sizeof(enables);
  return cuCoredumpSetAttribute(kEnable, &enables, &size);
}

Steps Settings() {
  return {
      {"listen", [](World& w) { return cuLogsRegisterCallback(Hear, &w.heard, &w.listener); }},
      {"where it ends", [](World& w) { return cuLogsCurrent(&w.line, 0); }},
      {"make an error", MakeAnError},
      {"lines",
       [](World& w) {
         char lines[1000];
         size_t size = sizeof(lines);
         return cuLogsDumpToMemory(&w.line, lines, &size, 0);
       }},
      {"lines in a file", [](World& w) { return cuLogsDumpToFile(&w.line, "/dev/null", 0); }},
      {"listen no more", [](World& w) { return cuLogsUnregisterCallback(w.listener); }},
      {"file of dumps", SetFile},
      {"enable dumps", Enable},
      {"ask for notifications",
       [](World& w) {
         return cuDeviceRegisterAsyncNotification(
             0, [](void*, void*, void*) {}, nullptr, &w.notification);
       }},
      {"and for none",
       [](World& w) { return cuDeviceUnregisterAsyncNotification(0, w.notification); }},
      {"release", [](World&) { return cuDevicePrimaryCtxRelease_v2(0); }},
  };
}

Steps Script() {
  Steps script = Green();
  for (const Step<World>& step : Settings()) script.push_back(step);
  return script;
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  unsigned int flags = 0;
  int active = 0;
  out << cuDevicePrimaryCtxGetState(0, &flags, &active) << " primary " << active << "\n";
  CUcontext current = nullptr;
  out << cuCtxGetCurrent(&current) << " current " << current << "\n";
  unsigned long long id = 0;
  out << cuGreenCtxGetId(w.green, &id) << " green " << id << "\n";
  for (const CUstream stream : {w.stream, w.other}) {
    void* green = nullptr;
    out << (stream == nullptr ? 0 : cuStreamGetGreenCtx(stream, &green)) << " stream " << green
        << "\n";
  }
  if (w.event != nullptr) out << cuEventQuery(w.event) << " event\n";
  const int heard = w.heard;
  MakeAnError(w);
  out << w.heard - heard << " heard\n";
  char file[1024] = {};
  size_t size = sizeof(file);
  out << cuCoredumpGetAttributeGlobal(kFile, file, &size) << " file " << file << "\n";
  bool enables = false;
  size = sizeof(enables);
  out << cuCoredumpGetAttribute(kEnable, &enables, &size) << " enabled " << enables << "\n";
  out << FreeOn(1);
  return out.str();
}

class ContextMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(ContextMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/40);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, ContextMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

// The host runs out of memory in calls for the attributes of streams, for the time between events,
// for what graphs have reserved, and for checkpoints: see memory_failure_steps.h. The simulated
// driver is linked in.

#include <unistd.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "third_party/cuda_abi/checkpoint_abi.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuStreamSetAttribute(CUstream, int, const void*);
CUresult cuStreamGetAttribute(CUstream, int, void*);
CUresult cuStreamCopyAttributes(CUstream, CUstream);
CUresult cuStreamGetPriority(CUstream, int*);
CUresult cuStreamGetCtx(CUstream, CUcontext*);
CUresult cuStreamGetFlags(CUstream, unsigned int*);
CUresult cuStreamGetDevice(CUstream, CUdevice*);
CUresult cuEventElapsedTime_v2(float*, CUevent, CUevent);
CUresult cuGraphCreate(CUgraph*, unsigned int);
CUresult cuGraphAddMemAllocNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                CUDA_MEM_ALLOC_NODE_PARAMS*);
CUresult cuGraphAddMemFreeNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr);
CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long);
CUresult cuGraphUpload(CUgraphExec, CUstream);
CUresult cuGraphExecDestroy(CUgraphExec);
CUresult cuDeviceGraphMemTrim(CUdevice);
CUresult cuDeviceGetGraphMemAttribute(CUdevice, CUgraphMem_attribute, void*);
CUresult cuDeviceSetGraphMemAttribute(CUdevice, CUgraphMem_attribute, void*);
CUresult cuCheckpointProcessGetState(int, CUprocessState*);
CUresult cuCheckpointProcessGetRestoreThreadId(int, int*);
CUresult cuCheckpointProcessLock(int, CUcheckpointLockArgs*);
CUresult cuCheckpointProcessCheckpoint(int, CUcheckpointCheckpointArgs*);
CUresult cuCheckpointProcessRestore(int, CUcheckpointRestoreArgs*);
CUresult cuCheckpointProcessUnlock(int, CUcheckpointUnlockArgs*);
}

namespace {

struct Policy {  // CUaccessPolicyWindow
  void* base;
  size_t bytes;
  float hit_ratio;
  int hit, miss;
};

// What the steps hand on to each other.
struct World {
  // Nothing else in this process would run.
  ~World() {
    cuCheckpointProcessRestore(me, nullptr);
    cuCheckpointProcessUnlock(me, nullptr);
  }

  const int me = getpid();
  CUcontext context = nullptr, of_stream = nullptr, popped = nullptr;
  CUstream stream = nullptr, other = nullptr;
  CUevent start = nullptr, end = nullptr;
  CUgraph graph = nullptr;
  CUgraphNode allocation = nullptr, release = nullptr;
  CUgraphExec exec = nullptr;
  CUdeviceptr of_node = 0;
  int number = 0;
  unsigned int word = 0;
};
using Steps = std::vector<Step<World>>;

CUresult SetNumber(CUstream stream, int attribute, int value) {
  return cuStreamSetAttribute(stream, attribute, &value);
}
CUresult SetWindow(World& w) {
  const Policy policy = {nullptr, 1024, 0.5F, 1, 0};
  return cuStreamSetAttribute(w.stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &policy);
}
CUresult GetPriority(World& w) {
  return cuStreamGetAttribute(w.stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &w.number);
}

Steps Attributes() {
  constexpr int kWaiting = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"create stream", [](World& w) { return cuStreamCreate(&w.stream, 1); }},
      {"create another", [](World& w) { return cuStreamCreate(&w.other, 0); }},
      {"set a window", SetWindow},
      {"set the priority",
       [](World& w) { return SetNumber(w.stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, -2); }},
      {"set how it waits", [](World& w) { return SetNumber(w.stream, kWaiting, 2); }},
      {"set it of the default stream", [](World&) { return SetNumber(nullptr, kWaiting, 3); }},
      {"attribute", GetPriority},
      {"copy", [](World& w) { return cuStreamCopyAttributes(w.other, w.stream); }},
      {"copy to the default stream",
       [](World& w) { return cuStreamCopyAttributes(nullptr, w.stream); }},
      {"context", [](World& w) { return cuStreamGetCtx(w.stream, &w.of_stream); }},
      {"flags", [](World& w) { return cuStreamGetFlags(w.stream, &w.word); }},
      {"device", [](World& w) { return cuStreamGetDevice(w.stream, &w.number); }},
      {"create start", [](World& w) { return cuEventCreate(&w.start, 0); }},
      {"create end", [](World& w) { return cuEventCreate(&w.end, 0); }},
      {"record start", [](World& w) { return cuEventRecord(w.start, w.stream); }},
      {"record end", [](World& w) { return cuEventRecord(w.end, w.stream); }},
      {"synchronise", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"query", [](World& w) { return cuStreamQuery(w.stream); }},
      {"elapsed",
       [](World& w) {
         float time = 0;
         return cuEventElapsedTime_v2(&time, w.start, w.end);
       }},
  };
}

CUresult AddAllocation(World& w) {
  CUDA_MEM_ALLOC_NODE_PARAMS params = {};
  params.poolProps.allocType = 1;
  params.poolProps.location = {1, 0};
  params.bytesize = 4096;
  const CUresult added = cuGraphAddMemAllocNode(&w.allocation, w.graph, nullptr, 0, &params);
  if (added == CUDA_SUCCESS) w.of_node = params.dptr;
  return added;
}
CUresult ForgetMost(CUgraphMem_attribute attribute) {
  uint64_t none = 0;
  return cuDeviceSetGraphMemAttribute(0, attribute, &none);
}

Steps Graphs() {
  return {
      {"create graph", [](World& w) { return cuGraphCreate(&w.graph, 0); }},
      {"add an allocation", AddAllocation},
      {"add a free",
       [](World& w) {
         return cuGraphAddMemFreeNode(&w.release, w.graph, &w.allocation, 1, w.of_node);
       }},
      {"instantiate", [](World& w) { return cuGraphInstantiateWithFlags(&w.exec, w.graph, 0); }},
      {"upload", [](World& w) { return cuGraphUpload(w.exec, w.stream); }},
      {"destroy exec", [](World& w) { return cuGraphExecDestroy(w.exec); }},
      {"trim", [](World&) { return cuDeviceGraphMemTrim(0); }},
      {"forget what was reserved",
       [](World&) { return ForgetMost(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH); }},
      {"forget what was used", [](World&) { return ForgetMost(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH); }},
  };
}

CUresult LockInTime(World& w) {
  CUcheckpointLockArgs args = {};
  args.timeoutMs = 10000;
  return cuCheckpointProcessLock(w.me, &args);
}

// Without a context: while the process is locked, a call of a thread that has one waits.
Steps Locking() {
  return {
      {"pop", [](World& w) { return cuCtxPopCurrent_v2(&w.popped); }},
      {"lock", [](World& w) { return cuCheckpointProcessLock(w.me, nullptr); }},
      {"unlock", [](World& w) { return cuCheckpointProcessUnlock(w.me, nullptr); }},
      {"lock in time", LockInTime},
      {"state", [](World& w) { return cuCheckpointProcessGetState(w.me, &w.number); }},
      {"thread", [](World& w) { return cuCheckpointProcessGetRestoreThreadId(w.me, &w.number); }},
      {"checkpoint", [](World& w) { return cuCheckpointProcessCheckpoint(w.me, nullptr); }},
      {"restore", [](World& w) { return cuCheckpointProcessRestore(w.me, nullptr); }},
      {"unlock again", [](World& w) { return cuCheckpointProcessUnlock(w.me, nullptr); }},
      {"push again", [](World& w) { return cuCtxPushCurrent_v2(w.popped); }},
      {"synchronise the stream", [](World& w) { return cuStreamSynchronize(w.stream); }},
  };
}

void ShowAttributes(std::ostringstream& out, CUstream stream) {
  int waiting = 0, priority = 0;
  Policy policy = {};
  out << cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &waiting)
      << " waits " << waiting << "\n";
  out << cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &policy)
      << " window " << policy.bytes << " " << policy.hit_ratio << "\n";
  out << cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &priority) << " attribute "
      << priority << "\n";
  out << cuStreamGetPriority(stream, &priority) << " priority " << priority << "\n";
}

void ShowStreams(std::ostringstream& out, const World& w) {
  for (const CUstream stream : {CUstream{}, w.stream, w.other}) ShowAttributes(out, stream);
  for (const CUevent event : {w.start, w.end}) {
    out << (event == nullptr ? 0 : cuEventQuery(event)) << " event\n";
  }
  float time = 0;
  const CUresult elapsed = cuEventElapsedTime_v2(&time, w.start, w.end);
  out << elapsed << " elapsed " << time << "\n";
}

Steps Script() { return Joined<World>({Attributes(), Graphs(), Locking()}); }

// All that a program can see. While the process is locked, questions about streams wait.
std::string VisibleState(World& w) {
  constexpr CUprocessState kRunning = 0;
  std::ostringstream out;
  CUprocessState state = -1;
  out << cuCheckpointProcessGetState(w.me, &state) << " state " << state << "\n";
  if (state == kRunning) ShowStreams(out, w);
  for (CUgraphMem_attribute attribute = CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT;
       attribute <= CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH; ++attribute) {
    uint64_t value = 0;
    out << cuDeviceGetGraphMemAttribute(0, attribute, &value) << " of graphs " << value << "\n";
  }
  out << FreeOn(1);
  return out.str();
}

class StreamMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(StreamMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/100);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, StreamMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

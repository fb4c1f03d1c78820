// The host runs out of memory in calls that read and change for what graphs wait and which events
// they record, and those of executable graphs, also what they signal: see memory_failure_steps.h.
// The simulated driver is linked in.

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
CUresult cuGraphCreate(CUgraph*, unsigned int);
CUresult cuGraphAddEventRecordNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUevent);
CUresult cuGraphAddEventWaitNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUevent);
CUresult cuGraphAddExternalSemaphoresSignalNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                                const CUDA_EXT_SEM_NODE_PARAMS*);
CUresult cuGraphAddExternalSemaphoresWaitNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                              const CUDA_EXT_SEM_NODE_PARAMS*);
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode, CUevent*);
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode, CUevent);
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode, CUevent*);
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode, CUevent);
CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long);
CUresult cuGraphLaunch(CUgraphExec, CUstream);
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec, CUgraphNode, CUevent);
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec, CUgraphNode, CUevent);
CUresult cuGraphExecExternalSemaphoresSignalNodeSetParams(CUgraphExec, CUgraphNode,
                                                          const CUDA_EXT_SEM_NODE_PARAMS*);
CUresult cuGraphExecExternalSemaphoresWaitNodeSetParams(CUgraphExec, CUgraphNode,
                                                        const CUDA_EXT_SEM_NODE_PARAMS*);
}

namespace {

constexpr CUresult kNotReady = 600;
constexpr unsigned int kEqual = 1;

void Expect(CUresult result) { EXPECT_EQ(result, CUDA_SUCCESS); }

// What the steps hand on to each other. It begins with graphs whose nodes other tests add.
struct World {
  World() {
    Expect(cuDevicePrimaryCtxRetain(&context, 0));
    Expect(cuCtxPushCurrent_v2(context));
    Expect(cuMemAlloc_v2(&gate, 4096));
    for (CUstream* const made : {&stream, &gated}) Expect(cuStreamCreate(made, 1));
    for (CUevent& event : recorded) Expect(cuEventCreate(&event, 0));
    for (CUevent& event : waited) Expect(cuEventCreate(&event, 0));
    for (CUgraph* const made : {&ordering, &signalling}) Expect(cuGraphCreate(made, 0));
    AddNodes();
  }
  void AddNodes();

  CUcontext context = nullptr;
  CUstream stream = nullptr, gated = nullptr;
  CUevent recorded[2] = {}, waited[2] = {};
  CUdeviceptr gate = 0;
  CUgraph ordering = nullptr, signalling = nullptr;
  CUgraphNode record = nullptr, wait = nullptr, signal = nullptr, await = nullptr;
  CUgraphExec of_ordering = nullptr, of_signalling = nullptr;
};
using Steps = std::vector<Step<World>>;

// Calls call(params) for `count` semaphores. A graph with none can be launched.
template <typename Call>
CUresult WithSemaphores(unsigned int count, const Call& call) {
  CUexternalSemaphore semaphore = nullptr;
  const CUDA_EXTERNAL_SEMAPHORE_PARAMS each = {};
  const CUDA_EXT_SEM_NODE_PARAMS params = {&semaphore, &each, count};
  return call(params);
}

void World::AddNodes() {
  Expect(cuGraphAddEventWaitNode(&wait, ordering, nullptr, 0, waited[0]));
  Expect(cuGraphAddEventRecordNode(&record, ordering, &wait, 1, recorded[0]));
  Expect(cuGraphInstantiateWithFlags(&of_ordering, ordering, 0));
  Expect(WithSemaphores(0, [&](const CUDA_EXT_SEM_NODE_PARAMS& params) {
    return cuGraphAddExternalSemaphoresSignalNode(&signal, signalling, nullptr, 0, &params);
  }));
  Expect(WithSemaphores(0, [&](const CUDA_EXT_SEM_NODE_PARAMS& params) {
    return cuGraphAddExternalSemaphoresWaitNode(&await, signalling, &signal, 1, &params);
  }));
  Expect(cuGraphInstantiateWithFlags(&of_signalling, signalling, 0));
}

CUresult ChangeSignal(World& w, unsigned int count) {
  return WithSemaphores(count, [&](const CUDA_EXT_SEM_NODE_PARAMS& params) {
    return cuGraphExecExternalSemaphoresSignalNodeSetParams(w.of_signalling, w.signal, &params);
  });
}
CUresult ChangeAwait(World& w) {
  return WithSemaphores(1, [&](const CUDA_EXT_SEM_NODE_PARAMS& params) {
    return cuGraphExecExternalSemaphoresWaitNodeSetParams(w.of_signalling, w.await, &params);
  });
}

CUresult ReadWait(World& w) {
  CUevent event = nullptr;
  return cuGraphEventWaitNodeGetEvent(w.wait, &event);
}
CUresult ReadRecord(World& w) {
  CUevent event = nullptr;
  return cuGraphEventRecordNodeGetEvent(w.record, &event);
}

Steps Script() {
  return {
      {"read the wait", ReadWait},
      {"change the wait",
       [](World& w) { return cuGraphEventWaitNodeSetEvent(w.wait, w.waited[1]); }},
      {"read the record", ReadRecord},
      {"change the record",
       [](World& w) { return cuGraphEventRecordNodeSetEvent(w.record, w.recorded[1]); }},
      {"change the wait of what runs",
       [](World& w) {
         return cuGraphExecEventWaitNodeSetEvent(w.of_ordering, w.wait, w.waited[1]);
       }},
      {"change the record of what runs",
       [](World& w) {
         return cuGraphExecEventRecordNodeSetEvent(w.of_ordering, w.record, w.recorded[1]);
       }},
      {"change the signal", [](World& w) { return ChangeSignal(w, 1); }},
      {"and back", [](World& w) { return ChangeSignal(w, 0); }},
      {"change the await", ChangeAwait},
  };
}

// --- All that a program can see ------------------------------------------------------------------

// The stream goes no further than here, until the gate is open.
void WaitAtGate(World& w) { Expect(cuStreamWaitValue32_v2(w.gated, w.gate, 1, kEqual)); }
void SetGate(World& w, uint32_t value) { Expect(cuMemcpyHtoD_v2(w.gate, &value, sizeof(value))); }
void OpenGate(World& w) {
  SetGate(w, 1);
  Expect(cuStreamSynchronize(w.gated));
  Expect(cuStreamSynchronize(w.stream));
  SetGate(w, 0);
}

// Which event the graph waits for, and which it records.
void AppendOrdering(World& w, std::ostream& out) {
  for (const CUevent event : w.waited) {
    WaitAtGate(w);
    Expect(cuEventRecord(event, w.gated));
    Expect(cuGraphLaunch(w.of_ordering, w.stream));
    constexpr int kEnough = 10;  // to be asked, for a stream that does not wait
    CUresult done = kNotReady;
    for (int i = 0; i < kEnough && done == kNotReady; ++i) done = cuStreamQuery(w.stream);
    out << done << " of one that is waited for\n";
    OpenGate(w);
  }
  WaitAtGate(w);
  Expect(cuGraphLaunch(w.of_ordering, w.gated));
  for (const CUevent event : w.recorded) out << cuEventQuery(event) << " of one recorded\n";
  OpenGate(w);
}

std::string VisibleState(World& w) {
  std::ostringstream out;
  CUevent event = nullptr;
  out << cuGraphEventWaitNodeGetEvent(w.wait, &event) << " wait " << event << "\n";
  out << cuGraphEventRecordNodeGetEvent(w.record, &event) << " record " << event << "\n";
  AppendOrdering(w, out);
  out << cuGraphLaunch(w.of_signalling, w.stream) << " of semaphores\n";
  Expect(cuStreamSynchronize(w.stream));
  out << FreeOn(1);
  return out.str();
}

class GraphOrderMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(GraphOrderMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/35);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, GraphOrderMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

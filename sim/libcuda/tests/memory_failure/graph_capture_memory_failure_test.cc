// The host runs out of memory in calls that capture a stream into a graph that is there, and that
// ask about a capture and change it: see memory_failure_steps.h. The simulated driver is linked in.

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
CUresult cuGraphCreate(CUgraph*, unsigned int);
CUresult cuGraphAddEmptyNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t);
CUresult cuGraphGetNodes(CUgraph, CUgraphNode*, size_t*);
CUresult cuGraphNodeGetDependencies(CUgraphNode, CUgraphNode*, size_t*);
CUresult cuStreamBeginCaptureToGraph(CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*,
                                     size_t, CUstreamCaptureMode);
CUresult cuStreamEndCapture(CUstream, CUgraph*);
CUresult cuStreamGetCaptureInfo_v2(CUstream, CUstreamCaptureStatus*, uint64_t*, CUgraph*,
                                   const CUgraphNode**, size_t*);
CUresult cuStreamUpdateCaptureDependencies(CUstream, const CUgraphNode*, size_t, unsigned int);
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*);
}

namespace {

constexpr size_t kMost = 16;  // nodes of a graph here
constexpr CUstreamCaptureMode kRelaxed = 2;

void Expect(CUresult result) { EXPECT_EQ(result, CUDA_SUCCESS); }

CUresult SetMode(CUstreamCaptureMode mode) { return cuThreadExchangeStreamCaptureMode(&mode); }

// What the steps hand on to each other. It begins with a graph of some nodes.
struct World {
  World() {
    Expect(cuDevicePrimaryCtxRetain(&context, 0));
    Expect(cuCtxPushCurrent_v2(context));
    Expect(cuMemAlloc_v2(&memory, 4096));
    Expect(cuStreamCreate(&stream, 1));
    Expect(cuGraphCreate(&graph, 0));
    for (CUgraphNode& node : nodes) Expect(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  }
  // The mode is the thread's, which goes on.
  ~World() { Expect(SetMode(0)); }

  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  CUgraph graph = nullptr, ended = nullptr;
  CUgraphNode nodes[4] = {};
};
using Steps = std::vector<Step<World>>;

CUresult Begin(World& w) {
  return cuStreamBeginCaptureToGraph(w.stream, w.graph, w.nodes, nullptr, 2, kRelaxed);
}
CUresult Fill(World& w) { return cuMemsetD8Async(w.memory, 1, 64, w.stream); }
CUresult Update(World& w, const CUgraphNode* nodes, size_t count, unsigned int flags) {
  return cuStreamUpdateCaptureDependencies(w.stream, nodes, count, flags);
}
CUresult Ask(World& w) {
  CUstreamCaptureStatus status = 0;
  uint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  size_t count = 0;
  return cuStreamGetCaptureInfo_v2(w.stream, &status, &id, &graph, &nodes, &count);
}

Steps Script() {
  return {
      {"exchange the mode", [](World&) { return SetMode(kRelaxed); }},
      {"begin", Begin},
      {"ask", Ask},
      {"capture a fill", Fill},
      {"add dependencies",
       [](World& w) { return Update(w, w.nodes, 3, CU_STREAM_ADD_CAPTURE_DEPENDENCIES); }},
      {"capture another", Fill},
      {"set dependencies",
       [](World& w) { return Update(w, w.nodes + 1, 3, CU_STREAM_SET_CAPTURE_DEPENDENCIES); }},
      {"ask again", Ask},
      {"capture the last", Fill},
      {"exchange the mode again", [](World&) { return SetMode(1); }},
      {"end", [](World& w) { return cuStreamEndCapture(w.stream, &w.ended); }},
      {"ask at the end", Ask},
  };
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  CUstreamCaptureMode mode = 0;
  Expect(cuThreadExchangeStreamCaptureMode(&mode));
  Expect(SetMode(mode));
  out << "mode " << mode << "\n";
  CUstreamCaptureStatus status = 0;
  uint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* behind = nullptr;
  size_t count = 0;
  out << cuStreamGetCaptureInfo_v2(w.stream, &status, &id, &graph, &behind, &count) << " stream "
      << status << " of " << id << " into " << graph << " behind";
  for (size_t i = 0; i < count; ++i) out << " " << behind[i];
  CUgraphNode nodes[kMost] = {};
  count = kMost;
  out << "\n" << cuGraphGetNodes(w.graph, nodes, &count) << " nodes " << count << "\n";
  for (size_t i = 0; i < count; ++i) {
    CUgraphNode dependencies[kMost] = {};
    size_t many = kMost;
    out << cuGraphNodeGetDependencies(nodes[i], dependencies, &many) << " " << nodes[i]
        << " behind";
    for (size_t j = 0; j < many; ++j) out << " " << dependencies[j];
    out << "\n";
  }
  out << w.ended << " ended\n";
  out << FreeOn(1);
  return out.str();
}

class GraphCaptureMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(GraphCaptureMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/60);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, GraphCaptureMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

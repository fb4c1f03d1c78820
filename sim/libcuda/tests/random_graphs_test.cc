// Random calls for graphs and captures, with handles that are alive, dead, of another kind or
// invented: codes, but no crash and no hang. The simulated driver is linked in: no other one can be
// meant.

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace cu = twinmmu::cuda_abi;

extern "C" {
int cuMemAlloc_v2(unsigned long long* address, size_t size);
int cuStreamBeginCapture_v2(cu::CUstream stream, int mode);
int cuStreamBeginCaptureToGraph(cu::CUstream stream, cu::CUgraph graph,
                                const cu::CUgraphNode* dependencies,
                                const cu::CUgraphEdgeData* data, size_t count, int mode);
int cuStreamEndCapture(cu::CUstream stream, cu::CUgraph* graph);
int cuStreamGetCaptureInfo_v2(cu::CUstream stream, int* status, uint64_t* id, cu::CUgraph* graph,
                              const cu::CUgraphNode** dependencies, size_t* count);
int cuStreamUpdateCaptureDependencies(cu::CUstream stream, const cu::CUgraphNode* dependencies,
                                      size_t count, unsigned int flags);
int cuThreadExchangeStreamCaptureMode(int* mode);
int cuGraphCreate(cu::CUgraph* graph, unsigned int flags);
int cuGraphDestroy(cu::CUgraph graph);
int cuGraphClone(cu::CUgraph* clone, cu::CUgraph graph);
int cuGraphNodeFindInClone(cu::CUgraphNode* node, cu::CUgraphNode original, cu::CUgraph clone);
int cuGraphAddMemsetNode(cu::CUgraphNode* node, cu::CUgraph graph,
                         const cu::CUgraphNode* dependencies, size_t count,
                         const cu::CUDA_MEMSET_NODE_PARAMS* fill, cu::CUcontext context);
int cuGraphMemsetNodeSetParams(cu::CUgraphNode node, const cu::CUDA_MEMSET_NODE_PARAMS* fill);
int cuGraphAddChildGraphNode(cu::CUgraphNode* node, cu::CUgraph graph,
                             const cu::CUgraphNode* dependencies, size_t count, cu::CUgraph child);
int cuGraphChildGraphNodeGetGraph(cu::CUgraphNode node, cu::CUgraph* graph);
int cuGraphAddEventRecordNode(cu::CUgraphNode* node, cu::CUgraph graph,
                              const cu::CUgraphNode* dependencies, size_t count, cu::CUevent event);
int cuGraphAddNode(cu::CUgraphNode* node, cu::CUgraph graph, const cu::CUgraphNode* dependencies,
                   size_t count, cu::CUgraphNodeParams* params);
int cuGraphAddMemAllocNode(cu::CUgraphNode* node, cu::CUgraph graph,
                           const cu::CUgraphNode* dependencies, size_t count,
                           cu::CUDA_MEM_ALLOC_NODE_PARAMS* params);
int cuGraphAddMemFreeNode(cu::CUgraphNode* node, cu::CUgraph graph,
                          const cu::CUgraphNode* dependencies, size_t count,
                          cu::CUdeviceptr address);
int cuDeviceGraphMemTrim(int device);
int cuMemAllocAsync(unsigned long long* address, size_t size, cu::CUstream stream);
int cuMemFreeAsync(unsigned long long address, cu::CUstream stream);
int cuGraphAddDependencies(cu::CUgraph graph, const cu::CUgraphNode* from,
                           const cu::CUgraphNode* to, size_t count);
int cuGraphRemoveDependencies(cu::CUgraph graph, const cu::CUgraphNode* from,
                              const cu::CUgraphNode* to, size_t count);
int cuGraphGetEdges(cu::CUgraph graph, cu::CUgraphNode* from, cu::CUgraphNode* to, size_t* count);
int cuGraphDestroyNode(cu::CUgraphNode node);
int cuGraphInstantiateWithFlags(cu::CUgraphExec* exec, cu::CUgraph graph, unsigned long long flags);
int cuGraphExecUpdate_v2(cu::CUgraphExec exec, cu::CUgraph graph,
                         cu::CUgraphExecUpdateResultInfo* info);
int cuGraphExecChildGraphNodeSetParams(cu::CUgraphExec exec, cu::CUgraphNode node,
                                       cu::CUgraph graph);
int cuGraphNodeSetEnabled(cu::CUgraphExec exec, cu::CUgraphNode node, unsigned int enabled);
int cuGraphLaunch(cu::CUgraphExec exec, cu::CUstream stream);
int cuGraphExecDestroy(cu::CUgraphExec exec);
}

namespace twinmmu::libcuda {
namespace {

// Handles of one kind that there were, few enough that they meet.
template <typename Handle>
class Handles {
 public:
  void Add(Handle handle) {
    if (handle == nullptr) return;
    if (all_.size() < kMost) return all_.push_back(handle);
    all_[next_++ % kMost] = handle;
  }
  // Sometimes null, and sometimes one that nobody gave out.
  Handle Pick(std::mt19937_64& random) const {
    const uint64_t number = random() % 32;
    if (number == 0) return nullptr;
    if (number == 1 || all_.empty()) return reinterpret_cast<Handle>(random() % 4096 * 8);
    return all_[random() % all_.size()];
  }

 private:
  static constexpr size_t kMost = 12;
  std::vector<Handle> all_;
  size_t next_ = 0;
};

class RandomGraphs {
 public:
  explicit RandomGraphs(uint64_t seed) : random_(seed) {
    EXPECT_EQ(cuMemAlloc_v2(&memory_, 4096), CUDA_SUCCESS);
    for (int i = 0; i < 3; ++i) {
      CUstream stream = nullptr;
      CUevent event = nullptr;
      EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
      streams_.Add(stream);
      events_.Add(event);
    }
  }

  void Step() {
    graph_ = nullptr;
    node_ = nullptr;
    exec_ = nullptr;
    switch (random_() % 5) {
      case 0:
        StepOfGraphs();
        break;
      case 1:
        StepOfNodes();
        break;
      case 2:
        StepOfExecs();
        break;
      case 3:
        StepOfMemory();
        break;
      default:
        StepOfCaptures();
    }
    graphs_.Add(graph_);
    nodes_.Add(node_);
    execs_.Add(exec_);
  }

 private:
  void StepOfGraphs() {
    const CUgraphNode from = Node();
    const CUgraphNode to = Node();
    switch (random_() % 8) {
      case 0:
        cuGraphCreate(&graph_, 0);
        break;
      case 1:
        cuGraphDestroy(Graph());
        break;
      case 2:
        cuGraphClone(&graph_, Graph());
        break;
      case 3:
        cuGraphNodeFindInClone(&node_, Node(), Graph());
        break;
      case 4:
        cuGraphRemoveDependencies(Graph(), &from, &to, 1);
        break;
      case 5: {
        CUgraphNode all_from[4];
        CUgraphNode all_to[4];
        size_t room = 4;
        cuGraphGetEdges(Graph(), all_from, all_to, &room);
        break;
      }
      default:
        cuGraphAddDependencies(Graph(), &from, &to, 1);
    }
  }

  void StepOfNodes() {
    const CUgraphNode before[] = {Node(), Node()};
    const size_t count = random_() % 3;
    const CUDA_MEMSET_NODE_PARAMS fill = {memory_ + random_() % 8 * 1024, 0, 1, 4, 1, 1};
    CUgraphNodeParams params = {};
    switch (random_() % 8) {
      case 0:
        cuGraphMemsetNodeSetParams(Node(), &fill);
        break;
      case 1:  // seldom: graphs of graphs grow fast
        if (random_() % 8 == 0) cuGraphAddChildGraphNode(&node_, Graph(), before, count, Graph());
        break;
      case 2:
        cuGraphChildGraphNodeGetGraph(Node(), &graph_);
        break;
      case 3:
        cuGraphAddEventRecordNode(&node_, Graph(), before, count, Event());
        break;
      case 4:
        params.type = static_cast<int>(random_() % 16);
        params.reserved1[random_() % 29] = static_cast<long long>(random_() % 2);
        cuGraphAddNode(&node_, Graph(), before, count, &params);
        break;
      case 5:
        cuGraphDestroyNode(Node());
        break;
      default:
        cuGraphAddMemsetNode(&node_, Graph(), before, count, &fill, nullptr);
    }
  }

  void StepOfMemory() {
    const CUgraphNode before[] = {Node(), Node()};
    const size_t count = random_() % 3;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {};
    CUgraphNodeParams moved = {};
    CUdeviceptr& address = addresses_[random_() % addresses_.size()];
    switch (random_() % 8) {
      case 0:
        params.poolProps.allocType = 1;
        params.poolProps.location = {1, 0};
        params.bytesize = size_t{1} << random_() % 64;
        if (cuGraphAddMemAllocNode(&node_, Graph(), before, count, &params) == CUDA_SUCCESS) {
          address = params.dptr;
        }
        break;
      case 1:
        cuGraphAddMemFreeNode(&node_, Graph(), before, count, address);
        break;
      case 2:
        cuMemAllocAsync(&address, random_() % 8192, Stream());
        break;
      case 3:
        cuMemFreeAsync(address, Stream());
        break;
      case 4:
        cuDeviceGraphMemTrim(0);
        break;
      case 5:
        moved.type = CU_GRAPH_NODE_TYPE_GRAPH;
        moved.graph = {Graph(), CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE};
        cuGraphAddNode(&node_, Graph(), before, count, &moved);
        break;
      default:
        cuMemsetD32Async(address, 1, random_() % 8, Stream());
    }
  }

  void StepOfExecs() {
    CUgraphExecUpdateResultInfo info;
    switch (random_() % 6) {
      case 0:
        cuGraphInstantiateWithFlags(&exec_, Graph(), random_() % 10);
        break;
      case 1:
        cuGraphExecUpdate_v2(Exec(), Graph(), &info);
        break;
      case 2:
        cuGraphExecChildGraphNodeSetParams(Exec(), Node(), Graph());
        break;
      case 3:
        cuGraphNodeSetEnabled(Exec(), Node(), random_() % 2);
        break;
      case 4:
        cuGraphExecDestroy(Exec());
        break;
      default:
        cuGraphLaunch(Exec(), Stream());
    }
  }

  void StepOfCaptures() {
    int status = 0;
    uint64_t id = 0;
    size_t count = 0;
    const CUgraphNode* dependencies = nullptr;
    const CUgraphNode node = Node();
    switch (random_() % 10) {
      case 0:
        cuStreamBeginCapture_v2(Stream(), static_cast<int>(random_() % 4));
        break;
      case 1:
        cuStreamBeginCaptureToGraph(Stream(), Graph(), &node, nullptr, random_() % 2, 2);
        break;
      case 2:
        cuStreamEndCapture(Stream(), &graph_);
        break;
      case 3:
        cuStreamGetCaptureInfo_v2(Stream(), &status, &id, &graph_, &dependencies, &count);
        if (count > 0) nodes_.Add(dependencies[0]);
        break;
      case 4:
        cuStreamUpdateCaptureDependencies(Stream(), &node, random_() % 2, random_() % 3);
        break;
      case 5:
        cuEventRecord(Event(), Stream());
        break;
      case 6:
        cuStreamWaitEvent(Stream(), Event(), random_() % 2);
        break;
      case 7:
        cuStreamSynchronize(Stream());
        break;
      case 8:
        status = static_cast<int>(random_() % 3);
        cuThreadExchangeStreamCaptureMode(&status);
        break;
      default:
        cuMemsetD32Async(memory_, 1, random_() % 8, Stream());
    }
  }

  CUgraph Graph() { return graphs_.Pick(random_); }
  CUgraphNode Node() { return nodes_.Pick(random_); }
  CUgraphExec Exec() { return execs_.Pick(random_); }
  CUstream Stream() { return streams_.Pick(random_); }
  CUevent Event() { return events_.Pick(random_); }

  std::mt19937_64 random_;
  CUdeviceptr memory_ = 0;
  std::array<CUdeviceptr, 4> addresses_ = {};
  // What a step made.
  CUgraph graph_ = nullptr;
  CUgraphNode node_ = nullptr;
  CUgraphExec exec_ = nullptr;
  Handles<CUgraph> graphs_;
  Handles<CUgraphNode> nodes_;
  Handles<CUgraphExec> execs_;
  Handles<CUstream> streams_;
  Handles<CUevent> events_;
};

TEST(RandomGraphsTest, NoCallCrashes) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Process::Get().Restart(Profile::ReferenceH200());
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    RandomGraphs graphs(seed);
    for (int i = 0; i < 4000; ++i) graphs.Step();
    EXPECT_EQ(cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

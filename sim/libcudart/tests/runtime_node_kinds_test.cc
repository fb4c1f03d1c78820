// Nodes of each kind: what they do, what they say of themselves, and how they are changed, in a
// graph and in what was made of it.

#include <cstdint>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cudart_abi.h"
#include "third_party/cuda_abi/graph_abi.h"

struct cudaMemsetParams : twinmmu::cuda_abi::CUDA_MEMSET_NODE_PARAMS {};
struct cudaHostNodeParams : twinmmu::cuda_abi::CUDA_HOST_NODE_PARAMS {};
struct cudaMemAllocNodeParams : twinmmu::cuda_abi::CUDA_MEM_ALLOC_NODE_PARAMS {};

namespace {

using twinmmu::cuda_abi::CUDA_EXT_SEM_NODE_PARAMS;

constexpr size_t kInts = 4;
constexpr size_t kSize = kInts * sizeof(int);

// A graph, and memory of zeros.
class RuntimeNodeKinds : public testing::Test {
 protected:
  RuntimeNodeKinds() {
    EXPECT_EQ(cudaMalloc(&memory_, kSize), cudaSuccess);
    EXPECT_EQ(cudaMemset(memory_, 0, kSize), cudaSuccess);
    EXPECT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
  }
  ~RuntimeNodeKinds() override {
    if (exec_ != nullptr) {
      EXPECT_EQ(cudaGraphExecDestroy(exec_), cudaSuccess);
    }
    EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    EXPECT_EQ(cudaFree(memory_), cudaSuccess);
    cudaGetLastError();
  }

  // Makes it of the graph, the first time.
  void Run() {
    if (exec_ == nullptr) {
      ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec_, graph_, 0), cudaSuccess);
    }
    EXPECT_EQ(cudaGraphLaunch(exec_, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  int Word(size_t index) const {
    int words[kInts] = {};
    EXPECT_EQ(cudaMemcpy(words, memory_, kSize, cudaMemcpyDeviceToHost), cudaSuccess);
    return words[index];
  }
  cudaMemsetParams Fill(unsigned int value) const {
    cudaMemsetParams fill = {};
    fill.dst = reinterpret_cast<uintptr_t>(memory_);
    fill.elementSize = 4;
    fill.width = 2;
    fill.height = 1;
    fill.value = value;
    return fill;
  }

  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  cudaGraphNode_t node_ = nullptr;
  void* memory_ = nullptr;
};

TEST_F(RuntimeNodeKinds, AFillIsToldAndChanged) {
  cudaMemsetParams fill = Fill(7);
  ASSERT_EQ(cudaGraphAddMemsetNode(&node_, graph_, nullptr, 0, &fill), cudaSuccess);
  fill = {};
  EXPECT_EQ(cudaGraphMemsetNodeGetParams(node_, &fill), cudaSuccess);
  EXPECT_EQ(fill.width, 2u);
  EXPECT_EQ(fill.value, 7u);
  fill = Fill(8);
  EXPECT_EQ(cudaGraphMemsetNodeSetParams(node_, &fill), cudaSuccess);
  Run();
  EXPECT_EQ(Word(1), 8);
  EXPECT_EQ(Word(2), 0);
  fill = Fill(9);
  EXPECT_EQ(cudaGraphExecMemsetNodeSetParams(exec_, node_, &fill), cudaSuccess);
  Run();
  EXPECT_EQ(Word(1), 9);
}

TEST_F(RuntimeNodeKinds, AFillIsOfElementsThatThereAre) {
  cudaMemsetParams fill = Fill(7);
  ASSERT_EQ(cudaGraphAddMemsetNode(&node_, graph_, nullptr, 0, &fill), cudaSuccess);
  cudaGraphNode_t none = nullptr;
  fill.elementSize = 3;
  EXPECT_EQ(cudaGraphMemsetNodeSetParams(node_, &fill), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddMemsetNode(&none, graph_, nullptr, 0, &fill), cudaErrorInvalidValue);
  fill = Fill(7);
  fill.width = 0;
  EXPECT_EQ(cudaGraphAddMemsetNode(&none, graph_, nullptr, 0, &fill), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddMemsetNode(&none, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeNodeKinds, AFunctionOfTheHostIsToldAndChanged) {
  int calls[3] = {};
  cudaHostNodeParams host = {};
  host.fn = [](void* count) { ++*static_cast<int*>(count); };
  host.userData = &calls[0];
  ASSERT_EQ(cudaGraphAddHostNode(&node_, graph_, nullptr, 0, &host), cudaSuccess);
  cudaHostNodeParams found = {};
  EXPECT_EQ(cudaGraphHostNodeGetParams(node_, &found), cudaSuccess);
  EXPECT_EQ(found.fn, host.fn);
  EXPECT_EQ(found.userData, &calls[0]);
  host.userData = &calls[1];
  EXPECT_EQ(cudaGraphHostNodeSetParams(node_, &host), cudaSuccess);
  Run();
  host.userData = &calls[2];
  EXPECT_EQ(cudaGraphExecHostNodeSetParams(exec_, node_, &host), cudaSuccess);
  Run();
  Run();
  EXPECT_EQ(calls[0], 0);
  EXPECT_EQ(calls[1], 1);
  EXPECT_EQ(calls[2], 2);
  host.fn = nullptr;
  EXPECT_EQ(cudaGraphAddHostNode(&node_, graph_, nullptr, 0, &host), cudaErrorInvalidValue);
}

TEST_F(RuntimeNodeKinds, ANodeThatIsOffDoesNothing) {
  const cudaMemsetParams fill = Fill(7);
  unsigned int enabled = 77;
  ASSERT_EQ(cudaGraphAddMemsetNode(&node_, graph_, nullptr, 0, &fill), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec_, graph_, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphNodeSetEnabled(exec_, node_, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphNodeGetEnabled(exec_, node_, &enabled), cudaSuccess);
  EXPECT_EQ(enabled, 0u);
  Run();
  EXPECT_EQ(Word(0), 0);
  EXPECT_EQ(cudaGraphNodeSetEnabled(exec_, node_, 1), cudaSuccess);
  EXPECT_EQ(cudaGraphNodeGetEnabled(exec_, node_, &enabled), cudaSuccess);
  EXPECT_EQ(enabled, 1u);
  Run();
  EXPECT_EQ(Word(0), 7);
  EXPECT_EQ(cudaGraphNodeGetEnabled(exec_, node_, nullptr), cudaErrorInvalidValue);
}

// --- Events

class RuntimeEventNodes : public RuntimeNodeKinds {
 protected:
  RuntimeEventNodes() {
    for (cudaEvent_t& event : events_) EXPECT_EQ(cudaEventCreate(&event), cudaSuccess);
  }
  ~RuntimeEventNodes() override {
    for (const cudaEvent_t event : events_) EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  }
  // Only an event that was recorded has a time.
  bool IsRecorded(cudaEvent_t event) {
    float milliseconds = 0;
    return cudaEventElapsedTime(&milliseconds, event, event) == cudaSuccess;
  }

  cudaEvent_t events_[3] = {};
};

TEST_F(RuntimeEventNodes, RecordAnEventThatIsToldAndChanged) {
  cudaEvent_t found = nullptr;
  ASSERT_EQ(cudaGraphAddEventRecordNode(&node_, graph_, nullptr, 0, events_[0]), cudaSuccess);
  EXPECT_EQ(cudaGraphEventRecordNodeGetEvent(node_, &found), cudaSuccess);
  EXPECT_EQ(found, events_[0]);
  EXPECT_EQ(cudaGraphEventRecordNodeSetEvent(node_, events_[1]), cudaSuccess);
  Run();
  EXPECT_FALSE(IsRecorded(events_[0]));
  EXPECT_TRUE(IsRecorded(events_[1]));
  EXPECT_EQ(cudaGraphExecEventRecordNodeSetEvent(exec_, node_, events_[2]), cudaSuccess);
  EXPECT_FALSE(IsRecorded(events_[2]));
  Run();
  EXPECT_TRUE(IsRecorded(events_[2]));
  EXPECT_EQ(cudaGraphAddEventRecordNode(&node_, graph_, nullptr, 0, nullptr),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeEventNodes, WaitForAnEventThatIsToldAndChanged) {
  cudaEvent_t found = nullptr;
  ASSERT_EQ(cudaGraphAddEventWaitNode(&node_, graph_, nullptr, 0, events_[0]), cudaSuccess);
  EXPECT_EQ(cudaGraphEventWaitNodeGetEvent(node_, &found), cudaSuccess);
  EXPECT_EQ(found, events_[0]);
  EXPECT_EQ(cudaGraphEventWaitNodeSetEvent(node_, events_[1]), cudaSuccess);
  EXPECT_EQ(cudaGraphEventWaitNodeGetEvent(node_, &found), cudaSuccess);
  EXPECT_EQ(found, events_[1]);
  EXPECT_EQ(cudaGraphEventRecordNodeGetEvent(node_, &found), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventRecord(events_[1], nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(events_[2], nullptr), cudaSuccess);
  Run();
  EXPECT_EQ(cudaGraphExecEventWaitNodeSetEvent(exec_, node_, events_[2]), cudaSuccess);
  Run();
  EXPECT_EQ(cudaGraphExecEventWaitNodeSetEvent(exec_, node_, nullptr), cudaErrorInvalidValue);
}

// --- Graphs in graphs

TEST_F(RuntimeNodeKinds, AGraphInAGraphIsACopy) {
  cudaGraph_t child = nullptr;
  cudaGraph_t inside = nullptr;
  const cudaMemsetParams fill = Fill(7);
  ASSERT_EQ(cudaGraphCreate(&child, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemsetNode(&node_, child, nullptr, 0, &fill), cudaSuccess);
  ASSERT_EQ(cudaGraphAddChildGraphNode(&node_, graph_, nullptr, 0, child), cudaSuccess);
  EXPECT_EQ(cudaGraphChildGraphNodeGetGraph(node_, &inside), cudaSuccess);
  EXPECT_NE(inside, child);
  size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(inside, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  Run();
  EXPECT_EQ(Word(0), 7);
  EXPECT_EQ(cudaGraphGetNodes(child, &node_, &count), cudaSuccess);
  const cudaMemsetParams other = Fill(8);
  cudaGraphNode_t filling = node_;
  EXPECT_EQ(cudaGraphMemsetNodeSetParams(filling, &other), cudaSuccess);
  count = 1;
  EXPECT_EQ(cudaGraphGetNodes(graph_, &node_, &count), cudaSuccess);
  EXPECT_EQ(cudaGraphExecChildGraphNodeSetParams(exec_, node_, child), cudaSuccess);
  Run();
  EXPECT_EQ(Word(0), 8);
  EXPECT_EQ(cudaGraphAddChildGraphNode(&node_, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroy(child), cudaSuccess);
}

// --- Memory of graphs

TEST_F(RuntimeNodeKinds, AllocateAndFreeMemoryOfTheGraph) {
  cudaMemAllocNodeParams allocation = {};
  allocation.poolProps.allocType = 1;  // pinned
  allocation.poolProps.location = {1, 0};
  allocation.bytesize = 1000;
  cudaGraphNode_t end = nullptr;
  ASSERT_EQ(cudaGraphAddMemAllocNode(&node_, graph_, nullptr, 0, &allocation), cudaSuccess);
  cudaMemAllocNodeParams found = {};
  EXPECT_EQ(cudaGraphMemAllocNodeGetParams(node_, &found), cudaSuccess);
  EXPECT_EQ(found.bytesize, 1000u);
  EXPECT_EQ(found.dptr, allocation.dptr);
  void* const address = reinterpret_cast<void*>(static_cast<uintptr_t>(found.dptr));
  ASSERT_EQ(cudaGraphAddMemFreeNode(&end, graph_, &node_, 1, address), cudaSuccess);
  void* freed = nullptr;
  EXPECT_EQ(cudaGraphMemFreeNodeGetParams(end, &freed), cudaSuccess);
  EXPECT_EQ(freed, address);
  EXPECT_EQ(cudaGraphAddMemFreeNode(&end, graph_, &node_, 1, address), cudaErrorInvalidValue)
      << "a second time";
  allocation.bytesize = 0;
  EXPECT_EQ(cudaGraphAddMemAllocNode(&node_, graph_, nullptr, 0, &allocation),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeNodeKinds, TheDeviceSaysHowMuchMemoryGraphsHad) {
  constexpr int kUsed = 0;  // cudaGraphMemAttrUsedMemCurrent
  constexpr int kUsedHigh = 1;
  cudaMemAllocNodeParams allocation = {};
  allocation.poolProps.allocType = 1;
  allocation.poolProps.location = {1, 0};
  allocation.bytesize = 1000;
  ASSERT_EQ(cudaGraphAddMemAllocNode(&node_, graph_, nullptr, 0, &allocation), cudaSuccess);
  void* const address = reinterpret_cast<void*>(static_cast<uintptr_t>(allocation.dptr));
  ASSERT_EQ(cudaGraphAddMemFreeNode(&node_, graph_, &node_, 1, address), cudaSuccess);
  Run();
  const auto used_now = [](int attribute) {
    unsigned long long used = 77;
    EXPECT_EQ(cudaDeviceGetGraphMemAttribute(0, attribute, &used), cudaSuccess);
    return used;
  };
  EXPECT_GE(used_now(kUsed), 1000u) << "it is kept for the next launch";
  EXPECT_EQ(cudaGraphExecDestroy(exec_), cudaSuccess);
  exec_ = nullptr;
  EXPECT_EQ(cudaDeviceGraphMemTrim(0), cudaSuccess);
  EXPECT_EQ(used_now(kUsed), 0u);
  EXPECT_GE(used_now(kUsedHigh), 1000u);
  unsigned long long used = 0;
  EXPECT_EQ(cudaDeviceSetGraphMemAttribute(0, kUsedHigh, &used), cudaSuccess);
  EXPECT_EQ(used_now(kUsedHigh), 0u);
  EXPECT_EQ(cudaDeviceSetGraphMemAttribute(0, kUsed, &used), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetGraphMemAttribute(0, 77, &used), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetGraphMemAttribute(100, kUsed, &used), cudaErrorInvalidDevice);
}

// --- External semaphores, of which there are none

TEST_F(RuntimeNodeKinds, NodesOfNoSemaphoresDoNothing) {
  CUDA_EXT_SEM_NODE_PARAMS none = {};
  cudaGraphNode_t signal = nullptr;
  cudaGraphNode_t wait = nullptr;
  ASSERT_EQ(cudaGraphAddExternalSemaphoresSignalNode(&signal, graph_, nullptr, 0, &none),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddExternalSemaphoresWaitNode(&wait, graph_, &signal, 1, &none), cudaSuccess);
  none.numExtSems = 7;
  EXPECT_EQ(cudaGraphExternalSemaphoresSignalNodeGetParams(signal, &none), cudaSuccess);
  EXPECT_EQ(none.numExtSems, 0u);
  none.numExtSems = 7;
  EXPECT_EQ(cudaGraphExternalSemaphoresWaitNodeGetParams(wait, &none), cudaSuccess);
  EXPECT_EQ(none.numExtSems, 0u);
  Run();
  EXPECT_EQ(cudaGraphExternalSemaphoresSignalNodeSetParams(signal, &none), cudaSuccess);
  EXPECT_EQ(cudaGraphExternalSemaphoresWaitNodeSetParams(wait, &none), cudaSuccess);
  EXPECT_EQ(cudaGraphExecExternalSemaphoresSignalNodeSetParams(exec_, signal, &none), cudaSuccess);
  EXPECT_EQ(cudaGraphExecExternalSemaphoresWaitNodeSetParams(exec_, wait, &none), cudaSuccess);
  EXPECT_EQ(cudaGraphExternalSemaphoresSignalNodeGetParams(wait, &none), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExternalSemaphoresWaitNodeGetParams(signal, &none), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExternalSemaphoresSignalNodeSetParams(wait, &none), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExternalSemaphoresWaitNodeSetParams(signal, &none), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecExternalSemaphoresSignalNodeSetParams(exec_, wait, &none),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecExternalSemaphoresWaitNodeSetParams(exec_, signal, &none),
            cudaErrorInvalidValue);
}

}  // namespace

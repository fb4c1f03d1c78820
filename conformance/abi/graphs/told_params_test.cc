// What is told of a node by pointers: a program changes something beside it, and gives the pointers
// back, as often as it likes.

#include <vector>

#include "conformance/abi/graphs/graph_fixture.h"
#include "conformance/abi/streams/batch_operations.h"

namespace twinmmu::abi {
namespace {

constexpr int kTimes = 4;

// CUDA_EXT_SEM_NODE_PARAMS
struct SemaphoreParams {
  void** semaphores;
  const void* params;
  unsigned int count;
};

class ToldParamsTest : public GraphTest {
 protected:
  static CUDA_KERNEL_NODE_PARAMS ToldOf(CUgraphNode node) {
    CUDA_KERNEL_NODE_PARAMS told = {};
    EXPECT_EQ(cuGraphKernelNodeGetParams(node, &told), CUDA_SUCCESS);
    return told;
  }
  // Other grids for it, each with the arguments that it has.
  static void ChangeGrids(CUgraphNode node) {
    CUDA_KERNEL_NODE_PARAMS told = ToldOf(node);
    for (unsigned int grid = kTimes; grid != 0; --grid) {
      told.gridDimX = grid;
      EXPECT_EQ(cuGraphKernelNodeSetParams(node, &told), CUDA_SUCCESS);
    }
  }
};

// Source: an H200 with driver 580.159.
TEST_F(ToldParamsTest, AKernelKeepsItsArgumentsThroughManyGrids) {
  const CUgraphNode node = AddKernel(set_, 7);
  ChangeGrids(node);
  Run(Instantiate());
  EXPECT_EQ(Number(), 7u);
}

TEST_F(ToldParamsTest, AKernelKeepsItsBufferThroughManyGrids) {
  struct {
    CUdeviceptr to;
    unsigned int value;
  } buffer = {memory_, 7};
  size_t size = 12;
  void* extra[] = {reinterpret_cast<void*>(1), &buffer, reinterpret_cast<void*>(2), &size, nullptr};
  CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(set_, memory_, 0);
  kernel.kernelParams = nullptr;
  kernel.extra = extra;
  CUgraphNode node = nullptr;
  ASSERT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), CUDA_SUCCESS);
  ChangeGrids(node);
  Run(Instantiate());
  EXPECT_EQ(Number(), 7u);
}

TEST_F(ToldParamsTest, AChangeOfANodeChangesNoCopyOfIt) {
  const CUgraphNode node = AddKernel(set_, 7);
  const CUDA_KERNEL_NODE_PARAMS told = ToldOf(node);
  const CUgraphExec executable = Instantiate();
  CUgraph clone = nullptr;
  ASSERT_EQ(cuGraphClone(&clone, graph_), CUDA_SUCCESS);
  const CUDA_KERNEL_NODE_PARAMS told_of_clone = ToldOf(NodesOf(clone)[0]);
  EXPECT_NE(told_of_clone.kernelParams[1], told.kernelParams[1]);
  const CUDA_KERNEL_NODE_PARAMS other = KernelOf(set_, memory_, 9);
  EXPECT_EQ(cuGraphKernelNodeSetParams(node, &other), CUDA_SUCCESS);
  EXPECT_EQ(*static_cast<unsigned int*>(told_of_clone.kernelParams[1]), 7u);
  Run(executable);
  EXPECT_EQ(Number(), 7u);
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
}

// An H200 with driver 580.159 reads these two when it has freed them.
TEST_F(ToldParamsTest, ANodeKeepsItsOperationsOnMemory) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "this driver may end the process";
  const Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const BatchParams*)>
      add("cuGraphAddBatchMemOpNode");
  const Function<CUresult(CUgraphNode, BatchParams*)> get("cuGraphBatchMemOpNodeGetParams");
  const Function<CUresult(CUgraphNode, const BatchParams*)> set("cuGraphBatchMemOpNodeSetParams");
  std::vector<CUstreamBatchMemOpParams> operations = {Write(memory_, 7), Write(memory_ + 4, 8)};
  const BatchParams params = {context_, 2, operations.data(), 0};
  CUgraphNode node = nullptr;
  ASSERT_EQ(add(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  BatchParams told = {};
  ASSERT_EQ(get(node, &told), CUDA_SUCCESS);
  for (int i = 0; i < kTimes; ++i) EXPECT_EQ(set(node, &told), CUDA_SUCCESS);
  Run(Instantiate());
  EXPECT_EQ(Number(), 7u);
  EXPECT_EQ(Number(4), 8u);
}

TEST_F(ToldParamsTest, ANodeKeepsItsSemaphores) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "this driver may end the process";
  const Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                          const SemaphoreParams*)>
      add("cuGraphAddExternalSemaphoresSignalNode");
  const Function<CUresult(CUgraphNode, SemaphoreParams*)> get(
      "cuGraphExternalSemaphoresSignalNodeGetParams");
  const Function<CUresult(CUgraphNode, const SemaphoreParams*)> set(
      "cuGraphExternalSemaphoresSignalNodeSetParams");
  void* semaphores[] = {nullptr, nullptr, nullptr};
  const unsigned long long words[3 * 18] = {};
  const SemaphoreParams params{semaphores, words, 3};
  CUgraphNode node = nullptr;
  ASSERT_EQ(add(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  SemaphoreParams told = {};
  ASSERT_EQ(get(node, &told), CUDA_SUCCESS);
  for (int i = 0; i < kTimes; ++i) EXPECT_EQ(set(node, &told), CUDA_SUCCESS);
  ASSERT_EQ(get(node, &told), CUDA_SUCCESS);
  ASSERT_EQ(told.count, 3u);
  for (const void* const semaphore : {told.semaphores[0], told.semaphores[2]}) {
    EXPECT_EQ(semaphore, nullptr);
  }
}

}  // namespace
}  // namespace twinmmu::abi

// Nodes of graphs after a fault: what is looked at before it is told.

#include "conformance/abi/faults/fault_fixture.h"
#include "conformance/abi/graphs/node_types.h"
#include "conformance/abi/streams/batch_operations.h"

namespace twinmmu::abi {
namespace {

constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const BatchParams*)>
    add_batch("cuGraphAddBatchMemOpNode");
constexpr Function<CUresult(CUgraphNode, const BatchParams*)> set_batch(
    "cuGraphBatchMemOpNodeSetParams");
constexpr Function<CUresult(CUgraphNode, CUgraphNode)> copy_attributes(
    "cuGraphKernelNodeCopyAttributes");

class NodeFaultTest : public FaultTest {
 protected:
  // A graph of two kernels, a fill and operations on memory; and executable graphs of it and of
  // another one, which is empty but for an event.
  void MakeFaultBehindGraphs() {
    ASSERT_NO_FATAL_FAILURE(Begin());
    ASSERT_EQ(cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    kernel.func = function_;
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
    kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
    for (CUgraphNode& node : kernels_) {
      ASSERT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), CUDA_SUCCESS);
    }
    const CUDA_MEMSET_NODE_PARAMS fill = Fill();
    ASSERT_EQ(cuGraphAddMemsetNode(&fill_, graph_, nullptr, 0, &fill, context_), CUDA_SUCCESS);
    write_ = Write(memory_, 1);
    const BatchParams batch = Batch(0);
    ASSERT_EQ(add_batch(&batch_, graph_, nullptr, 0, &batch), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphCreate(&other_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphAddEventWaitNode(&event_node_, other_, nullptr, 0, event_), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&executable_, other_, 0), CUDA_SUCCESS);
    ASSERT_NO_FATAL_FAILURE(Fault());
  }

  CUDA_MEMSET_NODE_PARAMS Fill() const { return {memory_, 0, 1, 4, 8, 1}; }
  BatchParams Batch(unsigned flags) { return {context_, 1, &write_, flags}; }

  CUstreamBatchMemOpParams write_ = {};
  CUgraph graph_ = nullptr;
  CUgraph other_ = nullptr;
  CUgraphNode kernels_[2] = {};
  CUgraphNode fill_ = nullptr;
  CUgraphNode batch_ = nullptr;
  CUgraphNode event_node_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

TEST_F(NodeFaultTest, FillsAndCopiesOfExecutablesNeedNoNode) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindGraphs());
  const CUDA_MEMSET_NODE_PARAMS fill = Fill();
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(executable_, fill_, &fill, context_), kFault);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory_;
  copy.dstDevice = memory_ + 64;
  copy.WidthInBytes = 4;
  copy.Height = copy.Depth = 1;
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(executable_, event_node_, &copy, context_), kFault);
}

TEST_F(NodeFaultTest, KernelsOfExecutablesNeedOne) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindGraphs());
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  ASSERT_EQ(cuGraphKernelNodeGetParams(kernels_[0], &kernel), CUDA_SUCCESS);
  CUgraphNode empty = nullptr;
  ASSERT_EQ(cuGraphAddEmptyNode(&empty, other_, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(executable_, empty, &kernel), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(NodeFaultTest, OperationsOnMemoryLookAtDependenciesFirstAndAtFlagsLater) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindGraphs());
  CUgraphNode node = nullptr;
  BatchParams batch = Batch(1);
  EXPECT_EQ(add_batch(&node, graph_, nullptr, 0, &batch), kFault);
  EXPECT_EQ(set_batch(batch_, &batch), kFault);
  EXPECT_EQ(add_batch(&node, graph_, &event_node_, 1, &batch), CUDA_ERROR_INVALID_VALUE);
  const CUgraphNode twice[] = {batch_, batch_};
  EXPECT_EQ(add_batch(&node, graph_, twice, 2, &batch), kFault);
  batch.context = nullptr;
  EXPECT_EQ(add_batch(&node, graph_, nullptr, 0, &batch), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(NodeFaultTest, FillsLookAtDependenciesLater) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindGraphs());
  CUgraphNode node = nullptr;
  const CUDA_MEMSET_NODE_PARAMS fill = Fill();
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph_, &event_node_, 1, &fill, context_), kFault);
}

TEST_F(NodeFaultTest, AttributesAreNotCopied) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindGraphs());
  EXPECT_EQ(copy_attributes(kernels_[0], kernels_[1]), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi

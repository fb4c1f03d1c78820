// Nodes of graphs that wait for words of memory, and write them. Source: an H100 with driver
// 580.159.

#include <cstring>
#include <utility>
#include <vector>

#include "conformance/abi/graphs/graph_fixture.h"
#include "conformance/abi/streams/memory_words.h"

namespace twinmmu::abi {
namespace {

constexpr int kBatchType = 12;

constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const BatchParams*)>
    add_batch("cuGraphAddBatchMemOpNode");
constexpr Function<CUresult(CUgraphNode, BatchParams*)> get_params(
    "cuGraphBatchMemOpNodeGetParams");
constexpr Function<CUresult(CUgraphNode, const BatchParams*)> set_params(
    "cuGraphBatchMemOpNodeSetParams");
constexpr Function<CUresult(CUgraphExec, CUgraphNode, const BatchParams*)> set_in_exec(
    "cuGraphExecBatchMemOpNodeSetParams");

class BatchNodesTest : public GraphTest {
 protected:
  using Operations = std::vector<CUstreamBatchMemOpParams>;

  BatchParams Params(Operations& operations) const {
    return {context_, static_cast<unsigned int>(operations.size()), operations.data(), 0};
  }
  CUresult Add(Operations operations, CUgraphNode* node) {
    const BatchParams params = Params(operations);
    return add_batch(node, graph_, nullptr, 0, &params);
  }
  CUresult Add(Operations operations) {
    CUgraphNode node = nullptr;
    return Add(std::move(operations), &node);
  }
};

TEST_F(BatchNodesTest, OperationsAreDoneInOrder) {
  CUgraphNode node = nullptr;
  ASSERT_EQ(Add({Write(memory_, 5), Wait(memory_, 5, CU_STREAM_WAIT_VALUE_EQ),
                 Operation(CU_STREAM_MEM_OP_WRITE_VALUE_64, memory_ + 8, 6, 0)},
                &node),
            CUDA_SUCCESS);
  EXPECT_EQ(TypesOf(graph_),
            std::vector<CUgraphNodeType>{static_cast<CUgraphNodeType>(kBatchType)});
  Run(Instantiate());
  EXPECT_EQ(Number(), 5u);
  EXPECT_EQ(Number(8), 6u);
}

TEST_F(BatchNodesTest, ParametersAreACopy) {
  Operations operations = {Write(memory_, 5), Write(memory_ + 4, 6)};
  const BatchParams params = Params(operations);
  CUgraphNode node = nullptr;
  ASSERT_EQ(add_batch(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  operations[0] = Write(memory_, 99);
  BatchParams told = {};
  ASSERT_EQ(get_params(node, &told), CUDA_SUCCESS);
  EXPECT_EQ(told.context, context_);
  ASSERT_EQ(told.count, 2u);
  EXPECT_NE(told.operations, operations.data());
  EXPECT_EQ(told.operations[0].writeValue.value, 5u);
  EXPECT_EQ(told.flags, 0u);
}

TEST_F(BatchNodesTest, NodesAndExecutableNodesAreChanged) {
  CUgraphNode node = nullptr;
  ASSERT_EQ(Add({Write(memory_, 5)}, &node), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  Operations others = {Write(memory_, 9)};
  BatchParams params = Params(others);
  EXPECT_EQ(set_in_exec(executable, node, &params), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 9u);
  others = {Write(memory_, 1), Write(memory_ + 4, 2)};
  params = Params(others);
  EXPECT_EQ(set_in_exec(executable, node, &params), CUDA_ERROR_INVALID_VALUE) << "more than before";
  EXPECT_EQ(set_params(node, &params), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 9u);
  Run(Instantiate());
  EXPECT_EQ(Number(), 1u);
  EXPECT_EQ(Number(4), 2u);
}

// Source: an H200 with driver 580.159.
TEST_F(BatchNodesTest, OperationsOfExecutableNodesStayOfTheirTypes) {
  CUgraphNode node = nullptr;
  ASSERT_EQ(Add({Write(memory_, 5), Write(memory_ + 64, 6)}, &node), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  Operations others = {Write(memory_, 9),
                       Operation(CU_STREAM_MEM_OP_WRITE_VALUE_64, memory_ + 64, 9, 0)};
  BatchParams params = Params(others);
  EXPECT_EQ(set_in_exec(executable, node, &params), CUDA_ERROR_INVALID_VALUE);
  others[1] = Wait(memory_, 9, CU_STREAM_WAIT_VALUE_EQ);
  EXPECT_EQ(set_in_exec(executable, node, &params), CUDA_ERROR_INVALID_VALUE);
  Run(executable);
  EXPECT_EQ(Number(), 5u);
  EXPECT_EQ(set_params(node, &params), CUDA_SUCCESS) << "of the graph";
  others[1] = Write(memory_ + 128, 7);
  EXPECT_EQ(set_in_exec(executable, node, &params), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 9u);
  EXPECT_EQ(Number(128), 7u);
}

TEST_F(BatchNodesTest, UpdatesTakeTheOperationsOver) {
  ASSERT_EQ(Add({Write(memory_, 5)}), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  const CUgraph other = MakeGraph();
  Operations operations = {Write(memory_, 8)};
  const BatchParams params = Params(operations);
  CUgraphNode node = nullptr;
  ASSERT_EQ(add_batch(&node, other, nullptr, 0, &params), CUDA_SUCCESS);
  UpdateInfo info = {};
  EXPECT_EQ(update(executable, other, &info), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 8u);
}

TEST_F(BatchNodesTest, ImpossibleBatchesAreRefused) {
  EXPECT_EQ(Add({Write(memory_ + 2, 1)}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Add({Write(memory_, 1, 0x80)}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Add({Operation(77, memory_, 1, 0)}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Add(Operations(256, Write(memory_, 1))), CUDA_ERROR_INVALID_VALUE);
  Operations operations = {Write(memory_, 1)};
  CUgraphNode node = nullptr;
  BatchParams params = Params(operations);
  params.operations = nullptr;
  EXPECT_EQ(add_batch(&node, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  params = Params(operations);
  params.context = nullptr;
  EXPECT_EQ(add_batch(&node, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  params = Params(operations);
  params.flags = 1;
  EXPECT_EQ(add_batch(&node, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_batch(&node, graph_, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(NodesOf(graph_).empty());
}

TEST_F(BatchNodesTest, EmptyBatchesAndUnknownMemoryMakeNodes) {
  Operations operations = {Write(memory_, 1)};
  BatchParams none = Params(operations);
  none.count = 0;
  CUgraphNode node = nullptr;
  EXPECT_EQ(add_batch(&node, graph_, nullptr, 0, &none), CUDA_SUCCESS);
  Run(Instantiate());
  EXPECT_EQ(Add({Write(CUdeviceptr{0x10000}, 1)}), CUDA_SUCCESS);
  EXPECT_EQ(NodesOf(graph_).size(), 2u);
  EXPECT_EQ(cuGraphLaunch(Instantiate(), stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(BatchNodesTest, ParametersAreOfNodesOfTheirType) {
  CUgraphNode node = nullptr;
  ASSERT_EQ(Add({Write(memory_, 5)}, &node), CUDA_SUCCESS);
  const CUgraphNode empty = AddEmpty();
  BatchParams told = {};
  EXPECT_EQ(get_params(node, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_params(empty, &told), CUDA_ERROR_INVALID_VALUE);
  Operations operations = {Write(memory_, 5)};
  const BatchParams params = Params(operations);
  EXPECT_EQ(set_params(empty, &params), CUDA_ERROR_INVALID_VALUE);
  const CUgraphExec executable = Instantiate();
  EXPECT_EQ(set_in_exec(executable, node, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeSetEnabled(executable, node, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(BatchNodesTest, OperationsOfStreamsAreCaptured) {
  CUgraph graph = nullptr;
  CUstreamBatchMemOpParams two[] = {Write(memory_ + 16, 7), Write(memory_ + 20, 8)};
  EXPECT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(stream_, memory_, 5, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(stream_, memory_, 5, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue64(stream_, memory_ + 8, 6, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 2, two, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(stream_, memory_ + 1, 5, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  const Nodes nodes = NodesOf(graph);
  ASSERT_EQ(nodes.size(), 4u);
  BatchParams told = {};
  EXPECT_EQ(get_params(nodes[3], &told), CUDA_SUCCESS);
  EXPECT_EQ(told.count, 2u);
  EXPECT_EQ(told.context, context_);
  EXPECT_EQ(Number(), 0u) << "done, although it was captured";
  Run(Instantiate(graph));
  EXPECT_EQ(Number(), 5u);
  EXPECT_EQ(Number(8), 6u);
  EXPECT_EQ(Number(20), 8u);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi

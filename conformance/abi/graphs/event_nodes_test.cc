// Nodes that record an event or wait for one, and are given another, in a graph and in an
// executable graph. As the documentation has it.

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

using GetEvent = Function<CUresult(CUgraphNode, CUevent*)>;
using SetEvent = Function<CUresult(CUgraphNode, CUevent)>;
const GetEvent get_recorded("cuGraphEventRecordNodeGetEvent");
const SetEvent set_recorded("cuGraphEventRecordNodeSetEvent");
const GetEvent get_awaited("cuGraphEventWaitNodeGetEvent");
const SetEvent set_awaited("cuGraphEventWaitNodeSetEvent");
const Function<CUresult(CUgraphExec, CUgraphNode, CUevent)> set_recorded_of_executable(
    "cuGraphExecEventRecordNodeSetEvent");
const Function<CUresult(CUgraphExec, CUgraphNode, CUevent)> set_awaited_of_executable(
    "cuGraphExecEventWaitNodeSetEvent");

// Two events, and nodes for the first.
class EventNodesGraphTest : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    EXPECT_EQ(cuEventCreate(&first_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuEventCreate(&second_, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    for (CUevent event : {first_, second_}) {
      if (event == nullptr) continue;
      EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
    }
    GraphTest::TearDown();
  }

  CUgraphNode AddRecord() {
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddEventRecordNode(&node, graph_, nullptr, 0, first_), CUDA_SUCCESS);
    return node;
  }
  CUgraphNode AddWait() {
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddEventWaitNode(&node, graph_, nullptr, 0, first_), CUDA_SUCCESS);
    return node;
  }

  void ExpectTakesTheSecond(CUgraphNode node, const GetEvent& get, const SetEvent& set) {
    CUevent found = nullptr;
    EXPECT_EQ(get(node, &found), CUDA_SUCCESS);
    EXPECT_EQ(found, first_);
    EXPECT_EQ(set(node, second_), CUDA_SUCCESS);
    EXPECT_EQ(get(node, &found), CUDA_SUCCESS);
    EXPECT_EQ(found, second_);
  }

  CUevent first_ = nullptr;
  CUevent second_ = nullptr;
};

TEST_F(EventNodesGraphTest, AnotherEventIsRecorded) {
  ExpectTakesTheSecond(AddRecord(), get_recorded, set_recorded);
}

TEST_F(EventNodesGraphTest, AnotherEventIsAwaited) {
  ExpectTakesTheSecond(AddWait(), get_awaited, set_awaited);
}

TEST_F(EventNodesGraphTest, OtherNodesHaveNoEvent) {
  const CUgraphNode node = AddEmpty();
  const CUgraphExec executable = Instantiate();
  CUevent found = nullptr;
  EXPECT_EQ(get_recorded(node, &found), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_awaited(node, &found), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_recorded(node, second_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_awaited(node, second_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_recorded_of_executable(executable, node, second_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_awaited_of_executable(executable, node, second_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(found, nullptr);
}

// Of an event that is not recorded no time is told.
TEST_F(EventNodesGraphTest, AnExecutableGraphRecordsAnotherEvent) {
  const CUgraphNode node = AddRecord();
  const CUgraphExec executable = Instantiate();
  EXPECT_EQ(set_recorded_of_executable(executable, node, second_), CUDA_SUCCESS);
  Run(executable);
  float time = 0;
  EXPECT_EQ(cuEventElapsedTime(&time, second_, second_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&time, first_, first_), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(EventNodesGraphTest, AnExecutableGraphWaitsForAnotherEvent) {
  const CUdeviceptr gate = memory_ + kSize - 8;
  const CUstream behind = MakeStream();
  const CUgraphNode node = AddWait();
  const CUgraphExec executable = Instantiate();
  EXPECT_EQ(set_awaited_of_executable(executable, node, second_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(behind, gate, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(second_, behind), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamWriteValue32(MakeStream(), gate, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi

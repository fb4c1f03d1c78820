// Streams after a fault: none is made, and what names none is told so before it is told the fault.

#include "conformance/abi/faults/fault_fixture.h"
#include "conformance/abi/streams/batch_operations.h"

namespace twinmmu::abi {
namespace {

constexpr Function<CUresult(CUstream, CUgraph, const CUgraphNode*, const void*, size_t,
                            CUstreamCaptureMode)>
    begin_to_graph("cuStreamBeginCaptureToGraph");
constexpr Function<CUresult(CUevent, CUstream, unsigned)> record_with_flags(
    "cuEventRecordWithFlags");

const auto kLegacy = reinterpret_cast<CUstream>(1);
const auto kPerThread = reinterpret_cast<CUstream>(2);
constexpr CUresult kNoStream = CUDA_ERROR_INVALID_HANDLE;
constexpr CUstreamCaptureMode kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr auto kNoMode = static_cast<CUstreamCaptureMode>(3);

TWINMMU_ANY_TYPES void Nothing(void*) {}
TWINMMU_ANY_TYPES void CallBack(CUstream, CUresult, void*) {}

class StreamFaultTest : public FaultTest {
 protected:
  void MakeDeadStream() {
    ASSERT_NO_FATAL_FAILURE(MakeFault());
    ASSERT_EQ(cuStreamCreate(&dead_, 0), kFault);
  }

  CUstream dead_ = nullptr;
};

TEST_F(StreamFaultTest, OneThatCannotBeMadeLeavesAHandleOfNone) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeDeadStream());
  EXPECT_NE(dead_, nullptr);
  EXPECT_EQ(cuStreamDestroy(dead_), kNoStream);
  EXPECT_EQ(cuStreamDestroy(nullptr), kNoStream);
  EXPECT_EQ(cuStreamDestroy(kLegacy), kFault);
  EXPECT_EQ(cuStreamDestroy(stream_), kFault);
}

TEST_F(StreamFaultTest, WaitsLookForTheirStreamFirst) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeDeadStream());
  EXPECT_EQ(cuStreamSynchronize(dead_), kNoStream);
  EXPECT_EQ(cuStreamSynchronize(stream_), kFault);
  EXPECT_EQ(cuStreamSynchronize(nullptr), kFault);
}

TEST_F(StreamFaultTest, WorkLooksForItsStreamFirst) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeDeadStream());
  const auto launch = [&](CUstream stream) {
    return cuLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
  };
  EXPECT_EQ(launch(dead_), kNoStream);
  EXPECT_EQ(launch(stream_), kFault);
  EXPECT_EQ(cuLaunchHostFunc(dead_, Nothing, nullptr), kNoStream);
  EXPECT_EQ(cuLaunchHostFunc(stream_, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchHostFunc(stream_, Nothing, nullptr), kFault);
  EXPECT_EQ(cuStreamAddCallback(dead_, CallBack, nullptr, 0), kNoStream);
  EXPECT_EQ(cuMemsetD8Async(memory_, 1, 4, dead_), kNoStream);
  EXPECT_EQ(cuMemsetD32Async(memory_, 1, 4, dead_), kNoStream);
  EXPECT_EQ(cuMemsetD2D8Async(memory_, 16, 1, 4, 4, dead_), kNoStream);
  EXPECT_EQ(cuMemsetD32Async(memory_, 1, 4, stream_), kFault);
  EXPECT_EQ(cuStreamWriteValue32(dead_, memory_, 1, 0), kNoStream);
  EXPECT_EQ(cuStreamWriteValue32(dead_, memory_ + 1, 1, 0), kNoStream);
  CUstreamBatchMemOpParams write = Write(memory_, 1);
  EXPECT_EQ(cuStreamBatchMemOp(dead_, 1, &write, 0), kNoStream);
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 1, &write, 0), kFault);
}

TEST_F(StreamFaultTest, EventsLookForTheirStreamFirst) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeDeadStream());
  EXPECT_EQ(cuEventRecord(nullptr, dead_), kNoStream);
  EXPECT_EQ(cuEventRecord(nullptr, kPerThread), kFault);
  EXPECT_EQ(record_with_flags(nullptr, dead_, 1), kNoStream);
  EXPECT_EQ(cuEventRecord(event_, stream_), kFault);
  EXPECT_EQ(cuStreamWaitEvent(dead_, nullptr, 1), kNoStream);
  EXPECT_EQ(cuStreamWaitEvent(stream_, event_, 0), kFault);
}

TEST_F(StreamFaultTest, CopiesDoNot) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeDeadStream());
  unsigned word = 0;
  EXPECT_EQ(cuMemcpyDtoDAsync(memory_ + 64, memory_, 4, dead_), kFault);
  EXPECT_EQ(cuMemcpyHtoDAsync(memory_, &word, 4, dead_), kFault);
}

TEST_F(StreamFaultTest, CapturesLookAtModeAndGraphAndThenForTheirStream) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeDeadStream());
  CUgraph graph = nullptr;
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(dead_, kNoMode), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamBeginCapture(dead_, kGlobal), kNoStream);
  EXPECT_EQ(cuStreamBeginCapture(stream_, kGlobal), kFault);
  EXPECT_EQ(cuStreamBeginCapture(nullptr, kGlobal), kFault);
  EXPECT_EQ(begin_to_graph(dead_, nullptr, nullptr, nullptr, 0, kGlobal), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(begin_to_graph(dead_, graph, nullptr, nullptr, 1, kGlobal), kNoStream);
  EXPECT_EQ(begin_to_graph(nullptr, graph, nullptr, nullptr, 0, kGlobal), kFault);
  CUstreamCaptureStatus status = {};
  EXPECT_EQ(cuStreamIsCapturing(dead_, &status), kNoStream);
  EXPECT_EQ(cuStreamIsCapturing(stream_, &status), kFault);
  EXPECT_EQ(cuStreamEndCapture(dead_, &graph), kNoStream);
}

}  // namespace
}  // namespace twinmmu::abi

// The report names each call that is given an event which was destroyed: a driver may crash in it.

#include <cstdlib>
#include <string>
#include <vector>

#include "api/diagnostics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/report/report_reader.h"
#include "sim/libcuda/tests/own_report.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuCtxGetCurrent(CUcontext*);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxWaitEvent(CUcontext, CUevent);
CUresult cuEventCreate(CUevent*, unsigned int);
CUresult cuEventDestroy_v2(CUevent);
CUresult cuEventElapsedTime_v2(float*, CUevent, CUevent);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuEventRecordWithFlags(CUevent, CUstream, unsigned int);
CUresult cuGraphAddEventRecordNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUevent);
CUresult cuGraphAddEventWaitNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUevent);
CUresult cuGraphCreate(CUgraph*, unsigned int);
CUresult cuGraphDestroy(CUgraph);
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode, CUevent);
CUresult cuIpcGetEventHandle(CUipcEventHandle*, CUevent);
CUresult cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**);
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
CUresult cuStreamCreate(CUstream*, unsigned int);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamEndCapture(CUstream, CUgraph*);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned int);
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr CUresult kInvalidHandle = 400;
constexpr unsigned int kExternal = 1;
constexpr unsigned int kUntimed = 2;

// The calls that the report says were given unknown events since it was last asked.
std::vector<std::string> CallsOfUnknown() {
  static size_t seen = 0;
  std::vector<std::string> calls;
  for (const ReportedDiagnostic& found : ReportedOf(DiagnosticKind::kUseOfUnknownEvent)) {
    calls.push_back(found.place.call);
  }
  calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(seen));
  seen += calls.size();
  return calls;
}

class UnknownEventsTest : public testing::Test {
 protected:
  UnknownEventsTest() {
    CUcontext context = nullptr;
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamCreate(&stream_, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuEventCreate(&event_, kUntimed), CUDA_SUCCESS);
    EXPECT_EQ(cuEventCreate(&dead_, kUntimed), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy_v2(dead_), CUDA_SUCCESS);
  }
  ~UnknownEventsTest() override {
    EXPECT_EQ(cuEventDestroy_v2(event_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
  }

  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
  CUevent dead_ = nullptr;
};

TEST_F(UnknownEventsTest, LaunchesThatRecordOneAreReported) {
  constexpr char kPtx[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }\n";
  CUmodule module = nullptr;
  CUfunction nothing = nullptr;
  ASSERT_EQ(cuModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&nothing, module, "nothing"), CUDA_SUCCESS);
  // Two places: from one, the report counts them together.
  CUlaunchAttribute attribute = {};
  CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, stream_, &attribute, 1};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  attribute.value.programmaticEvent.event = dead_;
  EXPECT_EQ(cuLaunchKernelEx(&config, nothing, nullptr, nullptr), kInvalidHandle);
  EXPECT_THAT(CallsOfUnknown(), ElementsAre("cuLaunchKernelEx"));
  attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  attribute.value.launchCompletionEvent.event = dead_;
  EXPECT_EQ(cuLaunchKernelEx(&config, nothing, nullptr, nullptr), kInvalidHandle);
  EXPECT_THAT(CallsOfUnknown(), ElementsAre("cuLaunchKernelEx"));
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST_F(UnknownEventsTest, NodesThatRecordOrWaitForOneAreReported) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddEventRecordNode(&node, graph, nullptr, 0, dead_), kInvalidHandle);
  EXPECT_THAT(CallsOfUnknown(), ElementsAre("cuGraphAddEventRecordNode"));
  EXPECT_EQ(cuGraphAddEventWaitNode(&node, graph, nullptr, 0, dead_), kInvalidHandle);
  EXPECT_THAT(CallsOfUnknown(), ElementsAre("cuGraphAddEventWaitNode"));
  ASSERT_EQ(cuGraphAddEventRecordNode(&node, graph, nullptr, 0, event_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphEventRecordNodeSetEvent(node, dead_), kInvalidHandle);
  EXPECT_THAT(CallsOfUnknown(), ElementsAre("cuGraphEventRecordNodeSetEvent"));
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(UnknownEventsTest, CapturesThatRecordOneAreReported) {
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(dead_, stream_), kInvalidHandle);
  EXPECT_THAT(CallsOfUnknown(), ElementsAre("cuEventRecord"));
  EXPECT_EQ(cuStreamWaitEvent(stream_, dead_, 0), kInvalidHandle);
  EXPECT_THAT(CallsOfUnknown(), ElementsAre("cuStreamWaitEvent"));
  cuStreamEndCapture(stream_, &graph);
  if (graph != nullptr) cuGraphDestroy(graph);
}

// Also while a stream is captured, which would be wrong for any other event.
TEST_F(UnknownEventsTest, ContextsThatWaitForOneAreReported) {
  CUcontext context = nullptr;
  CUgraph graph = nullptr;
  ASSERT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxWaitEvent(context, dead_), kInvalidHandle);
  EXPECT_THAT(CallsOfUnknown(), ElementsAre("cuCtxWaitEvent"));
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(UnknownEventsTest, QuestionsAboutOneAreReported) {
  float time = 0;
  CUipcEventHandle handle;
  EXPECT_EQ(cuEventElapsedTime_v2(&time, dead_, event_), kInvalidHandle);
  EXPECT_THAT(CallsOfUnknown(), ElementsAre("cuEventElapsedTime"));
  EXPECT_EQ(cuIpcGetEventHandle(&handle, dead_), kInvalidHandle);
  EXPECT_THAT(CallsOfUnknown(), ElementsAre("cuIpcGetEventHandle"));
  EXPECT_EQ(cuEventRecordWithFlags(dead_, stream_, kExternal), kInvalidHandle);
  EXPECT_THAT(CallsOfUnknown(), ElementsAre("cuEventRecordWithFlags"));
}

TEST_F(UnknownEventsTest, EventsThatExistAreNot) {
  EXPECT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(stream_, event_, 0), CUDA_SUCCESS);
  EXPECT_THAT(CallsOfUnknown(), IsEmpty());
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  // Without one that is asked for, nothing is kept.
  setenv("TWINMMU_REPORT", (testing::TempDir() + "report.jsonl").c_str(), 1);
  return RUN_ALL_TESTS();
}

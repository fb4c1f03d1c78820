// Functions that streams call: calls that hang a driver there are refused, and the report says so.

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "api/diagnostics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/report/report_reader.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

extern "C" {
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuEventCreate(CUevent*, unsigned int);
CUresult cuEventDestroy_v2(CUevent);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuEventSynchronize(CUevent);
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuLaunchHostFunc(CUstream, void (*)(void*), void*);
CUresult cuStreamCreate(CUstream*, unsigned int);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamSynchronize(CUstream);
}

namespace {

constexpr CUresult kNotPermitted = static_cast<CUresult>(800);

// What the report says of calls that functions of streams made.
std::string Reported() {
  const ReportMemory& memory = *Process::Get().report().memory();
  const ProcessReport report = *ReadReport(memory.data(), memory.layout().size());
  std::string words;
  for (const ReportedDiagnostic& found : report.diagnostics) {
    if (found.kind == DiagnosticKind::kCallInHostFunction) words += found.words;
  }
  return words;
}

class CallsOfHostFunctionsTest : public testing::Test {
 protected:
  CallsOfHostFunctionsTest() {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc_v2(&memory_, 64), CUDA_SUCCESS);
    EXPECT_EQ(cuEventCreate(&event_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamCreate(&stream_, 0), CUDA_SUCCESS);
  }
  ~CallsOfHostFunctionsTest() override {
    EXPECT_EQ(cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy_v2(event_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree_v2(memory_), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

  // What `call` gives in a function that the stream calls.
  CUresult ResultOf(std::function<CUresult()> call) {
    call_ = std::move(call);
    EXPECT_EQ(cuLaunchHostFunc(
                  stream_,
                  [](void* test) {
                    auto& self = *static_cast<CallsOfHostFunctionsTest*>(test);
                    self.result_ = self.call_();
                  },
                  this),
              CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    return result_;
  }

  CUcontext context_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUevent event_ = nullptr;
  CUstream stream_ = nullptr;
  std::function<CUresult()> call_;
  CUresult result_ = CUDA_SUCCESS;
};

TEST_F(CallsOfHostFunctionsTest, CallsThatADriverRefusesAreReported) {
  EXPECT_EQ(ResultOf([&] { return cuMemFree_v2(memory_); }), kNotPermitted);
  EXPECT_THAT(Reported(), testing::HasSubstr("cuMemFree"));
}

TEST_F(CallsOfHostFunctionsTest, WaitsForTheirOwnStreamAreRefused) {
  EXPECT_EQ(ResultOf([&] { return cuStreamSynchronize(stream_); }), kNotPermitted);
  EXPECT_THAT(Reported(), testing::HasSubstr("cuStreamSynchronize"));
}

TEST_F(CallsOfHostFunctionsTest, WaitsForAnEventBehindThemAreRefused) {
  EXPECT_EQ(ResultOf([&] {
              EXPECT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
              return cuEventSynchronize(event_);
            }),
            kNotPermitted);
  EXPECT_THAT(Reported(), testing::HasSubstr("cuEventSynchronize"));
}

TEST_F(CallsOfHostFunctionsTest, WaitsForWhatIsDoneAreAllowed) {
  EXPECT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(ResultOf([&] { return cuEventSynchronize(event_); }), CUDA_SUCCESS);
}

// They are of the current context, which there is none of.
TEST_F(CallsOfHostFunctionsTest, DefaultStreamsAreGivenNoWork) {
  EXPECT_EQ(ResultOf([&] { return cuEventRecord(event_, nullptr); }), kNotPermitted);
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  setenv("TWINMMU_REPORT", (testing::TempDir() + "report.jsonl").c_str(), 1);
  return RUN_ALL_TESTS();
}

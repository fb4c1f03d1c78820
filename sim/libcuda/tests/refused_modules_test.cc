// Why a module is refused: in the program's logs, or in the report. The simulated driver is linked
// in: no other one can be meant.

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

namespace twinmmu::libcuda {
namespace {

using ::testing::HasSubstr;

constexpr CUresult kInvalidPtx = 218;
constexpr CUresult kNotSupported = 801;

constexpr char kNonsense[] = ".version 7.5\n.target sm_70\n.address_size 64\nnonsense\n";
constexpr char kUsesTensorMemory[] = R"(.version 8.6
.target sm_70
.address_size 64
.visible .entry k() {
  tcgen05.wait::ld.sync.aligned;
  ret;
}
)";

class RefusedModulesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuCtxPopCurrent_v2(&context_), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

  static CUresult Load(const char* text) {
    CUmodule module = nullptr;
    return cuModuleLoadDataEx(&module, text, 0, nullptr, nullptr);
  }
  // What the report says of that kind.
  static std::vector<std::string> Reasons(DiagnosticKind kind = DiagnosticKind::kModuleRefused) {
    std::vector<std::string> reasons;
    for (const ReportedDiagnostic& found : ReportedOf(kind)) reasons.push_back(found.json);
    return reasons;
  }

  CUcontext context_ = nullptr;
};

// One after the other: the report only grows.
TEST_F(RefusedModulesTest, TheReasonIsInTheReportIfThereIsNoLog) {
  char log[200] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadDataEx(&module, kNonsense, 2, options, values), kInvalidPtx);
  EXPECT_THAT(log, HasSubstr("nonsense"));
  EXPECT_EQ(Reasons().size(), 0u);
  EXPECT_EQ(Load(kNonsense), kInvalidPtx);
  ASSERT_EQ(Reasons().size(), 1u);
  EXPECT_THAT(Reasons()[0], HasSubstr("nonsense"));
}

// A module is loaded whatever its kernels need; the launch says what is not covered.
TEST_F(RefusedModulesTest, KernelsThatUseTensorMemoryAreNotCovered) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleLoadDataEx(&module, kUsesTensorMemory, 0, nullptr, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "k"), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            kNotSupported);
  const std::vector<std::string> reasons = Reasons(DiagnosticKind::kKernelNotCovered);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_THAT(reasons[0], HasSubstr("tcgen05.wait::ld.sync.aligned"));
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // Without one that is asked for, nothing is kept.
  setenv("TWINMMU_REPORT", (testing::TempDir() + "report.jsonl").c_str(), 1);
  return RUN_ALL_TESTS();
}

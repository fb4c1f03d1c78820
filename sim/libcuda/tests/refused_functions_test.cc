// Functions that the simulator does not have yet. The simulated driver is linked in: no other one
// can be meant.

#include <cstdlib>
#include <string>
#include <vector>

#include "api/diagnostics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/report/report_reader.h"

// As a program calls them: their parameters are never looked at.
extern "C" int cuDeviceGetNvSciSyncAttributes(void* list, int device, int flags);
extern "C" int cuGraphicsUnregisterResource(void* resource);

namespace twinmmu::libcuda {
namespace {

using ::testing::ElementsAre;

constexpr CUresult kNotInitialized = 3;
constexpr CUresult kNotSupported = 801;

// The functions that the report says were refused.
std::vector<std::string> Refused() {
  const ReportMemory& memory = *Process::Get().report().memory();
  const ProcessReport report = *ReadReport(memory.data(), memory.layout().size());
  std::vector<std::string> refused;
  for (const ReportedDiagnostic& found : report.diagnostics) {
    if (found.kind == DiagnosticKind::kFunctionNotSimulated) refused.push_back(found.place.call);
  }
  return refused;
}

// One after the other: the first call is made before cuInit.
TEST(RefusedFunctionsTest, AreRefusedAndNamedOnceEach) {
  EXPECT_EQ(cuDeviceGetNvSciSyncAttributes(nullptr, 0, 1), kNotInitialized);
  EXPECT_THAT(Refused(), ElementsAre());
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cuDeviceGetNvSciSyncAttributes(nullptr, 0, 1), kNotSupported);
    EXPECT_EQ(cuGraphicsUnregisterResource(nullptr), kNotSupported);
  }
  EXPECT_THAT(Refused(),
              ElementsAre("cuDeviceGetNvSciSyncAttributes", "cuGraphicsUnregisterResource"));
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // Without one that is asked for, nothing is kept.
  setenv("TWINMMU_REPORT", (testing::TempDir() + "report.jsonl").c_str(), 1);
  return RUN_ALL_TESTS();
}

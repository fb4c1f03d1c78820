// Functions that the simulator does not have yet. The simulated driver is linked in: no other one
// can be meant.

#include <cstdlib>
#include <string>
#include <utility>
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

// What the backend does not call.
using CUlibrary = struct CUlib_st*;
using CUkernel = struct CUkern_st*;
extern "C" {
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS*, unsigned int, unsigned int);
CUresult cuLibraryLoadData(CUlibrary*, const void*, CUjit_option*, void**, unsigned int, int*,
                           void**, unsigned int);
CUresult cuLibraryGetKernel(CUkernel*, CUlibrary, const char*);
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
}

namespace {

using ::testing::Contains;
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

// Also where one of the kernels is on no device: the second one has no room for its library.
TEST(RefusedFunctionsTest, CooperativeLaunchesOnTwoDevicesAreRefused) {
  constexpr char kPtx[] =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .global .align 4 .b8 room[8000000];\n.visible .entry nothing() { ret; }\n";
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  CUcontext contexts[2] = {};
  CUfunction functions[2] = {};
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  for (int device = 0; device < 2; ++device) {
    CUmodule module = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&contexts[device], device), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(contexts[device]), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&functions[device], module, "nothing"), CUDA_SUCCESS);
    if (device > 0) continue;
    ASSERT_EQ(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "nothing"), CUDA_SUCCESS);
  }
  size_t free = 0;
  size_t total = 0;
  CUdeviceptr all = 0;
  ASSERT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc_v2(&all, free - (4 << 20)), CUDA_SUCCESS);
  const auto nowhere = reinterpret_cast<CUfunction>(kernel);
  for (const auto& [first, second] :
       {std::pair(functions[0], functions[1]), {nowhere, functions[1]}, {functions[1], nowhere}}) {
    CUDA_LAUNCH_PARAMS list[] = {{first, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr},
                                 {second, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr}};
    EXPECT_EQ(cuLaunchCooperativeKernelMultiDevice(list, 2, 0), kNotSupported);
  }
  EXPECT_THAT(Refused(), Contains("cuLaunchCooperativeKernelMultiDevice"));
  EXPECT_EQ(cuMemFree_v2(all), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // Without one that is asked for, nothing is kept.
  setenv("TWINMMU_REPORT", (testing::TempDir() + "report.jsonl").c_str(), 1);
  return RUN_ALL_TESTS();
}

// Functions that the simulator does not have yet. The simulated driver is linked in: no other one
// can be meant.

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "api/diagnostics.h"
#include "api/sparse_arrays.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/report/report_reader.h"
#include "sim/libcuda/tests/own_report.h"
#include "third_party/cuda_abi/graph_abi.h"
#include "third_party/cuda_abi/texture_abi.h"

// As a program calls them: their parameters are never looked at.
extern "C" int cuGraphicsMapResources(unsigned int count, void* resources, void* stream);
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
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
CUresult cuStreamEndCapture(CUstream, CUgraph*);
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemPoolCreate(CUmemoryPool*, const CUmemPoolProps*);
CUresult cuMemPoolDestroy(CUmemoryPool);
CUresult cuMemPoolExportToShareableHandle(void*, CUmemoryPool, CUmemAllocationHandleType,
                                          unsigned long long);
CUresult cuImportExternalMemory(CUexternalMemory*, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*);
CUresult cuTexObjectCreate(CUtexObject*, const CUDA_RESOURCE_DESC*, const CUDA_TEXTURE_DESC*,
                           const CUDA_RESOURCE_VIEW_DESC*);
}

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr CUresult kNotInitialized = 3;
constexpr CUresult kNotSupported = 801;

// What the report says was refused.
std::vector<ReportedDiagnostic> Refusals() {
  return ReportedOf(DiagnosticKind::kFunctionNotSimulated);
}
std::vector<std::string> Refused() {
  std::vector<std::string> functions;
  for (const ReportedDiagnostic& found : Refusals()) functions.push_back(found.place.call);
  return functions;
}

// One after the other: the first call is made before cuInit.
TEST(RefusedFunctionsTest, AreRefusedAndNamedOnceEach) {
  EXPECT_EQ(cuGraphicsMapResources(0, nullptr, nullptr), kNotInitialized);
  EXPECT_THAT(Refused(), ElementsAre());
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphicsMapResources(0, nullptr, nullptr), kNotSupported);
  EXPECT_THAT(Refused(), ElementsAre("cuGraphicsMapResources")) << "at its first call";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cuGraphicsMapResources(0, nullptr, nullptr), kNotSupported);
    EXPECT_EQ(cuGraphicsUnregisterResource(nullptr), kNotSupported);
  }
  EXPECT_THAT(Refused(), ElementsAre("cuGraphicsMapResources", "cuGraphicsUnregisterResource"));
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

// What is only refused for what it is passed.
class RefusedPartsTest : public testing::Test {
 protected:
  void SetUp() override {
    CUcontext context = nullptr;
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    before_ = Refusals().size();
  }

  // That the report has one line more, with these words.
  void ExpectNamed(const char* function, const char* part) const {
    const std::vector<ReportedDiagnostic> refusals = Refusals();
    ASSERT_EQ(refusals.size(), before_ + 1);
    EXPECT_EQ(refusals.back().place.call, function);
    EXPECT_THAT(refusals.back().words, HasSubstr(part));
  }
  static CUDA_ARRAY3D_DESCRIPTOR Pixels(ArrayFormat format, unsigned int flags) {
    return {16, 16, 0, static_cast<CUarray_format>(format), 4, flags};
  }

 private:
  size_t before_ = 0;
};

TEST_F(RefusedPartsTest, FormatsOfArrays) {
  const CUDA_ARRAY3D_DESCRIPTOR compressed = Pixels(static_cast<ArrayFormat>(0x91), 0);
  for (int i = 0; i < 3; ++i) {
    CUarray array = nullptr;
    EXPECT_EQ(cuArray3DCreate_v2(&array, &compressed), kNotSupported);
  }
  ExpectNamed("cuArray3DCreate", "arrays of format 0x91");
}

TEST_F(RefusedPartsTest, NodesThatDevicesUpdate) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  constexpr char kPtx[] =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n";
  ASSERT_EQ(cuModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "nothing"), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
  attribute.value.deviceUpdatableKernelNode.deviceUpdatable = 1;
  const CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, stream, &attribute, 1};
  EXPECT_EQ(cuLaunchKernelEx(&config, function, nullptr, nullptr), kNotSupported);
  ExpectNamed("cuLaunchKernelEx", "nodes that devices update");
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  // No launch has such a node where nothing is captured: a driver refuses it, too.
  EXPECT_EQ(cuLaunchKernelEx(&config, function, nullptr, nullptr), kNotSupported);
  ExpectNamed("cuLaunchKernelEx", "nodes that devices update");
}

TEST_F(RefusedPartsTest, ViewsOfBlocks) {
  constexpr auto kBlocks = CUresourceViewFormat{0x19};
  CUDA_ARRAY3D_DESCRIPTOR descriptor = Pixels(ArrayFormat::kUint32, 0);
  descriptor.NumChannels = 2;  // 8 bytes, as a block
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  ASSERT_EQ(cuArray3DCreate_v2(&resource.res.array.hArray, &descriptor), CUDA_SUCCESS);
  const CUDA_TEXTURE_DESC sampling = {};
  CUDA_RESOURCE_VIEW_DESC view = {};
  view.format = kBlocks;
  view.width = 64;
  view.height = 64;
  CUtexObject texture = 0;
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &sampling, &view), kNotSupported);
  ExpectNamed("cuTexObjectCreate", "views of compressed blocks");
  EXPECT_EQ(cuArrayDestroy(resource.res.array.hArray), CUDA_SUCCESS);
}

TEST_F(RefusedPartsTest, PoolsAsExternalMemory) {
  CUmemPoolProps props = {};
  props.allocType = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  props.location.type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  CUmemoryPool pool = nullptr;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
  description.type = 1;  // CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD
  description.size = 4096;
  ASSERT_EQ(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
  ASSERT_EQ(cuMemPoolExportToShareableHandle(&description.handle.fd, pool, props.handleTypes, 0),
            CUDA_SUCCESS);
  CUexternalMemory memory = nullptr;
  EXPECT_EQ(cuImportExternalMemory(&memory, &description), kNotSupported);
  ExpectNamed("cuImportExternalMemory", "a pool as external memory");
  EXPECT_EQ(close(description.handle.fd), 0);
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // Without one that is asked for, nothing is kept.
  setenv("TWINMMU_REPORT", (testing::TempDir() + "report.jsonl").c_str(), 1);
  return RUN_ALL_TESTS();
}

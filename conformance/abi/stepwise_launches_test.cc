// Launches as CUDA 3 had them, whose shape and arguments are set call by call; and cooperative ones
// of several devices, of which there is one here.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

// Writes its arguments, and the shape of its launch.
const char kText[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry kernel(.param .u64 out, .param .u32 a, .param .f32 b) {
  .reg .b64 %d;
  .reg .b32 %r;
  ld.param.u64 %d, [out];
  ld.param.u32 %r, [a];
  st.global.u32 [%d], %r;
  ld.param.b32 %r, [b];
  st.global.u32 [%d+4], %r;
  mov.u32 %r, %ntid.x;
  st.global.u32 [%d+8], %r;
  mov.u32 %r, %ntid.y;
  st.global.u32 [%d+12], %r;
  mov.u32 %r, %nctaid.x;
  st.global.u32 [%d+16], %r;
  mov.u32 %r, %nctaid.y;
  st.global.u32 [%d+20], %r;
  mov.u32 %r, %dynamic_smem_size;
  st.global.u32 [%d+24], %r;
  ret;
}
.visible .entry nothing() { ret; }
)";
constexpr uint32_t kOne = 0x3f800000;  // 1.0f

using Load = Function<CUresult(void**, const void*)>;
using Unload = Function<CUresult(void*)>;
using GetFunction = Function<CUresult(void**, void*, const char*)>;
using SetShape = Function<CUresult(void*, int, int, int)>;
using SetSize = Function<CUresult(void*, unsigned)>;
using SetInteger = Function<CUresult(void*, int, unsigned)>;
using SetFloat = Function<CUresult(void*, int, float)>;
using SetBytes = Function<CUresult(void*, int, const void*, unsigned)>;
using Launch = Function<CUresult(void*)>;
using LaunchGrid = Function<CUresult(void*, int, int)>;
using LaunchGridAsync = Function<CUresult(void*, int, int, CUstream)>;

class StepwiseLaunchTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    ASSERT_EQ(Load("cuModuleLoadData")(&module_, kText), CUDA_SUCCESS);
    ASSERT_EQ(GetFunction("cuModuleGetFunction")(&kernel_, module_, "kernel"), CUDA_SUCCESS);
    ASSERT_EQ(GetFunction("cuModuleGetFunction")(&nothing_, module_, "nothing"), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&out_, 256), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuMemFree(out_), CUDA_SUCCESS);
    EXPECT_EQ(Unload("cuModuleUnload")(module_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }
  void SetAll() {
    EXPECT_EQ(SetBytes("cuParamSetv")(kernel_, 0, &out_, 8), CUDA_SUCCESS);
    EXPECT_EQ(SetInteger("cuParamSeti")(kernel_, 8, 42), CUDA_SUCCESS);
    EXPECT_EQ(SetFloat("cuParamSetf")(kernel_, 12, 1.0f), CUDA_SUCCESS);
    EXPECT_EQ(SetSize("cuParamSetSize")(kernel_, 16), CUDA_SUCCESS);
    EXPECT_EQ(SetShape("cuFuncSetBlockShape")(kernel_, 4, 2, 1), CUDA_SUCCESS);
    EXPECT_EQ(SetSize("cuFuncSetSharedSize")(kernel_, 64), CUDA_SUCCESS);
  }
  std::vector<uint32_t> Written() {
    std::vector<uint32_t> words(7);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(words.data(), out_, 28), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8(out_, 0xee, 28), CUDA_SUCCESS);
    return words;
  }
  using Words = std::vector<uint32_t>;

  void* module_ = nullptr;
  void* kernel_ = nullptr;
  void* nothing_ = nullptr;
  CUdeviceptr out_ = 0;
};

TEST_F(StepwiseLaunchTest, ALaunchTakesWhatWasSet) {
  SetAll();
  EXPECT_EQ(LaunchGrid("cuLaunchGrid")(kernel_, 3, 2), CUDA_SUCCESS);
  EXPECT_EQ(Written(), (Words{42, kOne, 4, 2, 3, 2, 64}));
}

TEST_F(StepwiseLaunchTest, WhatWasSetIsThatOfEveryLaunch) {
  SetAll();
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(Launch("cuLaunch")(kernel_), CUDA_SUCCESS);
  EXPECT_EQ(Written(), (Words{42, kOne, 4, 2, 1, 1, 64}));
  EXPECT_EQ(LaunchGridAsync("cuLaunchGridAsync")(kernel_, 2, 1, stream), CUDA_SUCCESS);
  EXPECT_EQ(Written(), (Words{42, kOne, 4, 2, 2, 1, 64}));
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

// What they are then is nobody's business.
TEST_F(StepwiseLaunchTest, ParametersBehindTheSizeAreNotNeeded) {
  SetAll();
  EXPECT_EQ(SetSize("cuParamSetSize")(kernel_, 12), CUDA_SUCCESS);
  EXPECT_EQ(Launch("cuLaunch")(kernel_), CUDA_SUCCESS);
  EXPECT_EQ(Written()[0], 42u);
}

TEST_F(StepwiseLaunchTest, MoreParametersThanTheKernelHasAreRefused) {
  SetAll();
  EXPECT_EQ(SetSize("cuParamSetSize")(kernel_, 20), CUDA_SUCCESS);
  EXPECT_EQ(Launch("cuLaunch")(kernel_), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

TEST_F(StepwiseLaunchTest, AKernelWithoutParametersNeedsNothingSet) {
  EXPECT_EQ(Launch("cuLaunch")(nothing_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(StepwiseLaunchTest, ABlockHasAShapeThatThereIs) {
  const SetShape set("cuFuncSetBlockShape");
  EXPECT_EQ(set(nothing_, 1024, 1, 1), CUDA_SUCCESS);
  const int shapes[][3] = {{0, 1, 1},    {1, 0, 1},    {1, 1, 0}, {-1, 1, 1},
                           {1025, 1, 1}, {1024, 2, 1}, {1, 1, 65}};
  for (const auto& shape : shapes) {
    EXPECT_EQ(set(nothing_, shape[0], shape[1], shape[2]), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(Launch("cuLaunch")(nothing_), CUDA_SUCCESS);
}

TEST_F(StepwiseLaunchTest, SizesHaveTheirLimits) {
  EXPECT_EQ(SetSize("cuFuncSetSharedSize")(nothing_, 49152), CUDA_SUCCESS);
  EXPECT_EQ(SetSize("cuFuncSetSharedSize")(nothing_, 49153), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(SetSize("cuParamSetSize")(nothing_, 32764), CUDA_SUCCESS);
  EXPECT_EQ(SetSize("cuParamSetSize")(nothing_, 32765), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(SetInteger("cuParamSeti")(nothing_, 0x7fffffff, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(SetFloat("cuParamSetf")(nothing_, 0x7fffffff, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(SetBytes("cuParamSetv")(nothing_, 0x7ffffff0, &out_, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(SetBytes("cuParamSetv")(nothing_, 0, nullptr, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(SetBytes("cuParamSetv")(nothing_, 0, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StepwiseLaunchTest, ParametersEndWhereTheyMay) {
  EXPECT_EQ(SetInteger("cuParamSeti")(nothing_, 32760, 1), CUDA_SUCCESS);
  EXPECT_EQ(SetInteger("cuParamSeti")(nothing_, 32761, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(SetBytes("cuParamSetv")(nothing_, 32756, &out_, 8), CUDA_SUCCESS);
  EXPECT_EQ(SetBytes("cuParamSetv")(nothing_, 32757, &out_, 8), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StepwiseLaunchTest, AGridHasBlocks) {
  const LaunchGrid launch("cuLaunchGrid");
  EXPECT_EQ(launch(nothing_, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(nothing_, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(nothing_, -1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(nothing_, 1, 65536), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StepwiseLaunchTest, ThereIsNoFunctionThatIsNull) {
  const int word = 0;
  EXPECT_EQ(SetShape("cuFuncSetBlockShape")(nullptr, 1, 1, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(SetSize("cuFuncSetSharedSize")(nullptr, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(SetSize("cuParamSetSize")(nullptr, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(SetInteger("cuParamSeti")(nullptr, 0, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(SetFloat("cuParamSetf")(nullptr, 0, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(SetBytes("cuParamSetv")(nullptr, 0, &word, 4), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch("cuLaunch")(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(LaunchGrid("cuLaunchGrid")(nullptr, 1, 1), CUDA_ERROR_INVALID_HANDLE);
}

// CUDA_LAUNCH_PARAMS
struct LaunchParams {
  void* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  CUstream stream;
  void** arguments;
};
using LaunchMulti = Function<CUresult(const LaunchParams*, unsigned, unsigned)>;

class MultiLaunchTest : public StepwiseLaunchTest {
 protected:
  void SetUp() override {
    StepwiseLaunchTest::SetUp();
    ASSERT_EQ(cuStreamCreate(&params_.stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    stream_ = params_.stream;
    params_.function = nothing_;
  }
  void TearDown() override {
    EXPECT_EQ(cuStreamDestroy(stream_), CUDA_SUCCESS);
    StepwiseLaunchTest::TearDown();
  }
  CUresult Run(unsigned count = 1, unsigned flags = 0) {
    const std::vector<LaunchParams> list(std::max(count, 1u), params_);
    return LaunchMulti("cuLaunchCooperativeKernelMultiDevice")(list.data(), count, flags);
  }

  LaunchParams params_ = {nullptr, {1, 1, 1}, {1, 1, 1}, 0, nullptr, nullptr};
  CUstream stream_ = nullptr;
};

TEST_F(MultiLaunchTest, OneDeviceRunsTheKernel) {
  unsigned a = 5;
  float b = 1;
  void* arguments[] = {&out_, &a, &b};
  params_.function = kernel_;
  params_.arguments = arguments;
  EXPECT_EQ(Run(), CUDA_SUCCESS);
  EXPECT_EQ(Written()[0], 5u);
}

TEST_F(MultiLaunchTest, ThereAreTwoFlags) {
  for (const unsigned flags : {0u, 1u, 2u, 3u}) EXPECT_EQ(Run(1, flags), CUDA_SUCCESS);
  EXPECT_EQ(Run(1, 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MultiLaunchTest, ThereIsALaunchForADeviceAtMost) {
  EXPECT_EQ(Run(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(65), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LaunchMulti("cuLaunchCooperativeKernelMultiDevice")(nullptr, 1, 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MultiLaunchTest, EachLaunchIsOnADeviceOfItsOwn) {
  if (DeviceCount() < 2) GTEST_SKIP() << "there is one device";
  params_.function = kernel_;
  EXPECT_EQ(Run(2), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(MultiLaunchTest, TheStreamIsNoDefaultStream) {
  for (const uintptr_t stream : {uintptr_t{0}, uintptr_t{2}}) {
    params_.stream = reinterpret_cast<CUstream>(stream);
    EXPECT_EQ(Run(), CUDA_ERROR_INVALID_HANDLE);
  }
}

TEST_F(MultiLaunchTest, TheBlocksFitOntoTheDevice) {
  params_.grid[0] = 0;
  EXPECT_EQ(Run(), CUDA_ERROR_INVALID_VALUE);
  params_.grid[0] = 1000000;
  EXPECT_EQ(Run(), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  params_.grid[0] = 1;
  params_.shared_bytes = 1 << 20;
  EXPECT_EQ(Run(), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_F(MultiLaunchTest, AKernelGetsItsArguments) {
  params_.function = nullptr;
  EXPECT_EQ(Run(), CUDA_ERROR_INVALID_HANDLE);
  params_.function = kernel_;
  EXPECT_EQ(Run(), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MultiLaunchTest, ItIsNotCaptured) {
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(Run(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

}  // namespace
}  // namespace twinmmu::abi

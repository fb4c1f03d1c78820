#include "conformance/abi/tensors/tensor_fixture.h"

#include <algorithm>

namespace twinmmu::abi {
namespace {

using Load = Function<CUresult(void**, const void*)>;
using Unload = Function<CUresult(void*)>;
using GetFunction = Function<CUresult(void**, void*, const char*)>;
using Launch = Function<CUresult(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, CUstream, void**, void**)>;

constexpr uint32_t kShared = 1024;  // words

std::string KernelWith(const std::string& copy) {
  const bool loads = copy.find("complete_tx") != std::string::npos;
  return R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .align 4 .b8 at[20])
{
.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
.shared .align 1024 .b8 s[4096]; .shared .align 8 .b64 m;
mov.b64 %rd3, map; cvta.param.u64 %rd1, %rd3; ld.param.u64 %rd2, [out];
ld.param.u32 %r1, [at]; ld.param.u32 %r2, [at+4]; ld.param.u32 %r3, [at+8];
ld.param.u32 %r4, [at+12]; ld.param.u32 %r5, [at+16];
mov.u32 %r9, s; mov.u32 %r10, m; mov.u32 %r11, 0; mov.u32 %r12, %r9;
F: add.u32 %r13, %r11, 1000; st.shared.u32 [%r12], %r13; add.u32 %r12, %r12, 4;
add.u32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, 1024; @%p1 bra F;
mbarrier.init.shared::cta.b64 [%r10], 1; fence.proxy.async;
)" + copy +
         (loads ? R"(
W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r10], 0; @!%p2 bra W;
)"
                : R"(
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
)") + R"(mov.u32 %r11, 0; mov.u32 %r12, %r9;
D: ld.shared.u32 %r13, [%r12]; st.global.u32 [%rd2], %r13; add.u32 %r12, %r12, 4;
add.u64 %rd2, %rd2, 4; add.u32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, 1024; @%p1 bra D;
ret;
}
)";
}

}  // namespace

CUresult TiledMap::Encode(CUtensorMap* map) const {
  return cuTensorMapEncodeTiled(
      map, static_cast<CUtensorMapDataType>(element), rank, reinterpret_cast<void*>(address),
      dims.data(), strides.data(), box.data(), steps.data(),
      static_cast<CUtensorMapInterleave>(interleave), static_cast<CUtensorMapSwizzle>(swizzle),
      static_cast<CUtensorMapL2promotion>(promotion), static_cast<CUtensorMapFloatOOBfill>(fill));
}

CUresult Im2colMap::Encode(CUtensorMap* map) const {
  return cuTensorMapEncodeIm2col(
      map, static_cast<CUtensorMapDataType>(element), rank, reinterpret_cast<void*>(address),
      dims.data(), strides.data(), lower.data(), upper.data(), channels, pixels, steps.data(),
      static_cast<CUtensorMapInterleave>(interleave), CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

void TensorMapTest::SetUp() {
  ContextTest::SetUp();
  if (HasFatalFailure()) return;
  if (DriverVersion() < 12000) GTEST_SKIP() << "the driver is older than tensor maps";
  int major = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
            CUDA_SUCCESS);
  if (major < 9) GTEST_SKIP() << "the device is older than tensor maps";
}

void TensorKernelTest::SetUp() {
  TensorMapTest::SetUp();
  if (HasFatalFailure() || IsSkipped()) return;
  memory_.emplace(kWords * 4);
  tensor_.resize(kWords);
  for (uint32_t i = 0; i < kWords; ++i) tensor_[i] = i;
  ASSERT_EQ(cuMemcpyHtoD(address(), tensor_.data(), kWords * 4), CUDA_SUCCESS);
}

void TensorKernelTest::TearDown() {
  memory_.reset();
  TensorMapTest::TearDown();
}

void TensorKernelTest::Run(const std::string& copy, const CUtensorMap& map,
                           const std::vector<int>& coordinates) {
  void* module = nullptr;
  const std::string text = KernelWith(copy);
  ASSERT_EQ(Load("cuModuleLoadData")(&module, text.c_str()), CUDA_SUCCESS) << text;
  void* kernel = nullptr;
  ASSERT_EQ(GetFunction("cuModuleGetFunction")(&kernel, module, "k"), CUDA_SUCCESS);
  const Buffer result(kShared * 4);
  CUtensorMap passed = map;
  CUdeviceptr out = result.address();
  std::array<int, 5> at = {};
  std::copy(coordinates.begin(), coordinates.end(), at.begin());
  void* arguments[] = {&passed, &out, at.data()};
  ASSERT_EQ(Launch("cuLaunchKernel")(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  shared_.resize(kShared);
  ASSERT_EQ(cuMemcpyDtoH(shared_.data(), out, kShared * 4), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(tensor_.data(), address(), kWords * 4), CUDA_SUCCESS);
  EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
}

}  // namespace twinmmu::abi

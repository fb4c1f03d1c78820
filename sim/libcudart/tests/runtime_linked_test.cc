// Device code that was compiled separately: the compilers hand over the parts beside what they
// linked, which is nothing where all of it is PTX.

#include <cstdint>
#include <thread>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/fat_binary_image.h"
#include "third_party/cuda_abi/cudart_abi.h"

namespace {

TWINMMU_FAT_BINARY(kCaller, 70,
                   ".version 7.0\n.target sm_70\n.address_size 64\n"
                   ".extern .func (.param .u32 result) Seven();\n"
                   ".visible .entry Store(.param .u64 Store_to) {\n"
                   "  .reg .b32 %r1;\n"
                   "  .reg .b64 %rd1;\n"
                   "  ld.param.u64 %rd1, [Store_to];\n"
                   "  {\n"
                   "    .param .b32 value;\n"
                   "    call.uni (value), Seven;\n"
                   "    ld.param.b32 %r1, [value];\n"
                   "  }\n"
                   "  st.global.u32 [%rd1], %r1;\n"
                   "  ret;\n"
                   "}\n");
TWINMMU_FAT_BINARY(kCallee, 70,
                   ".version 7.0\n.target sm_70\n.address_size 64\n"
                   ".visible .func (.param .u32 result) Seven() {\n"
                   "  .reg .b32 %r1;\n"
                   "  mov.u32 %r1, 7;\n"
                   "  st.param.u32 [result], %r1;\n"
                   "  ret;\n"
                   "}\n");
// The toolkit's own part, which every program has and few need.
TWINMMU_FAT_BINARY_OF(TWINMMU_FAT_MACHINE_CODE, kOfToolkit, 70, "no machine code");
TWINMMU_FAT_BINARY(kOfNewerDevices, 200, "no PTX");

char store;  // stands for the kernel

constexpr uint32_t kLinked = 2;

class RuntimeLinked : public testing::Test {
 protected:
  // The parts, the last of them null.
  void** Register(void* parts) {
    nothing_.magic = kCallerImage.headers.magic;
    nothing_.header_bytes = kCallerImage.headers.header_bytes;
    wrapper_ = {kCaller.magic, kLinked, &nothing_, parts};
    module_ = __cudaRegisterFatBinary(&wrapper_);
    __cudaRegisterFunction(module_, &store, &store, "Store", -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
    __cudaRegisterFatBinaryEnd(module_);
    return module_;
  }
  ~RuntimeLinked() override {
    __cudaUnregisterFatBinary(module_);
    cudaGetLastError();
  }

  twinmmu_fat_headers nothing_ = {};
  twinmmu_fat_wrapper wrapper_ = {};
  void** module_ = nullptr;
};

// As nvcc has it for a launch, which may be the first call of a program.
TEST_F(RuntimeLinked, AKernelIsLookedUpWithoutAContext) {
  const void* parts[] = {kCaller.image, kCallee.image, nullptr};
  Register(parts);
  std::thread([] {
    cudaKernel_t kernel = nullptr;
    EXPECT_EQ(cudaGetKernel(&kernel, &store), cudaSuccess);
    EXPECT_NE(kernel, nullptr);
  }).join();
}

TEST_F(RuntimeLinked, AKernelIsLookedUpWhereTheContextWasReset) {
  const void* parts[] = {kCaller.image, kCallee.image, nullptr};
  Register(parts);
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(cudaGetKernel(&kernel, &store), cudaSuccess);
  EXPECT_NE(kernel, nullptr);
}

TEST_F(RuntimeLinked, AKernelCallsAFunctionOfAnotherPart) {
  const void* parts[] = {kCaller.image, kOfToolkit.image, kCallee.image, kOfNewerDevices.image,
                         nullptr};
  Register(parts);
  void* to = nullptr;
  ASSERT_EQ(cudaMalloc(&to, sizeof(int)), cudaSuccess);
  void* arguments[] = {&to};
  EXPECT_EQ(cudaLaunchKernel(&store, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), cudaSuccess);
  int value = 0;
  EXPECT_EQ(cudaMemcpy(&value, to, sizeof(value), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(cudaFree(to), cudaSuccess);
}

TEST_F(RuntimeLinked, WhatIsMissingIsAnErrorOfTheFirstUse) {
  const void* parts[] = {kCaller.image, nullptr};
  Register(parts);
  cudaFuncAttributes attributes = {};
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &store), cudaErrorInvalidSource);
}

}  // namespace

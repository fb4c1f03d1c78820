// Variables of the device, by the object of the host that stands for each.

#include <cstdint>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/vector_kernels.h"

namespace {

class RuntimeVariables : public testing::Test {
 protected:
  ~RuntimeVariables() override {
    __cudaUnregisterFatBinary(module_);
    cudaGetLastError();
  }

  void** const module_ = RegisterVectorKernels();
};

TEST_F(RuntimeVariables, AreReadAndWritten) {
  int value = 0;
  EXPECT_EQ(cudaMemcpyFromSymbol(&value, &scale, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 2) << "as the device code says";
  value = 7;
  EXPECT_EQ(cudaMemcpyToSymbol(&scale, &value, 4, 0, cudaMemcpyHostToDevice), cudaSuccess);
  value = 0;
  EXPECT_EQ(cudaMemcpyFromSymbolAsync(&value, &scale, 4, 0, cudaMemcpyDefault, nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(value, 7);
}

TEST_F(RuntimeVariables, HaveAnAddressAndASize) {
  void* address = nullptr;
  size_t size = 0;
  EXPECT_EQ(cudaGetSymbolAddress(&address, offset), cudaSuccess);
  EXPECT_EQ(cudaGetSymbolSize(&size, offset), cudaSuccess);
  EXPECT_EQ(size, 8u);
  const int values[] = {1, 2};
  int second = 0;
  EXPECT_EQ(cudaMemcpyToSymbol(offset, values, 8, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(&second, static_cast<char*>(address) + 4, 4, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(second, 2);
}

TEST_F(RuntimeVariables, EndWhereTheyEnd) {
  const int values[] = {1, 2};
  EXPECT_EQ(cudaMemcpyToSymbol(offset, values, 8, 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(offset, values, 8, static_cast<size_t>(-4), cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeVariables, AreNotReachedByAnOffsetFromAnother) {
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress(&first, &scale), cudaSuccess);
  ASSERT_EQ(cudaGetSymbolAddress(&second, offset), cudaSuccess);
  const size_t apart = reinterpret_cast<uintptr_t>(second) - reinterpret_cast<uintptr_t>(first);
  const int value = 1;
  EXPECT_EQ(cudaMemcpyToSymbol(&scale, &value, 4, apart, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(offset, &value, 4, 0 - apart, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeVariables, OfNoModuleAreInvalid) {
  int other = 0;
  void* address = nullptr;
  EXPECT_EQ(cudaGetSymbolAddress(&address, &other), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaMemcpyToSymbol(&other, &other, 4, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidSymbol);
}

TEST_F(RuntimeVariables, TakeCopiesInTheirDirectionOnly) {
  int value = 0;
  EXPECT_EQ(cudaMemcpyToSymbol(&scale, &value, 4, 0, cudaMemcpyDeviceToHost),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpyFromSymbol(&value, &scale, 4, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidMemcpyDirection);
}

TEST_F(RuntimeVariables, AreFoundBeforeTheDirectionIsLookedAt) {
  const int values[] = {1, 2, 3};
  constexpr cudaMemcpyKind kWrong = cudaMemcpyDeviceToHost;
  EXPECT_EQ(cudaMemcpyToSymbol(values, values, 0, 0, kWrong), cudaSuccess) << "nothing";
  EXPECT_EQ(cudaMemcpyToSymbolAsync(values, values, 4, 0, kWrong, nullptr), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaMemcpyToSymbol(offset, values, 12, 0, kWrong), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbolAsync(offset, values, 12, 0, kWrong, nullptr),
            cudaErrorInvalidMemcpyDirection)
      << "a queued copy looks for the end last";
}

// As flang registers a variable of the host, of which the device code knows the name only:
//
//   int of_host;
//   __global__ void Count(int* was);   // *was = of_host++
TWINMMU_FAT_BINARY(kHostKernels, 70,
                   ".version 7.0\n"
                   ".target sm_70\n"
                   ".address_size 64\n"
                   ".extern .global .align 4 .u32 of_host;\n"
                   ".visible .entry Count(.param .u64 Count_was) {\n"
                   "  .reg .b32 %r<3>;\n"
                   "  .reg .b64 %rd<2>;\n"
                   "  ld.param.u64 %rd1, [Count_was];\n"
                   "  ld.global.u32 %r1, [of_host];\n"
                   "  st.global.u32 [%rd1], %r1;\n"
                   "  add.u32 %r2, %r1, 1;\n"
                   "  st.global.u32 [of_host], %r2;\n"
                   "  ret;\n"
                   "}\n");
alignas(4096) char of_host[4096];
char Count;

class RuntimeHostVariables : public testing::Test {
 protected:
  RuntimeHostVariables() {
    __cudaRegisterFunction(module_, &Count, &Count, "Count", -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
  }
  ~RuntimeHostVariables() override {
    __cudaUnregisterFatBinary(module_);
    cudaGetLastError();
  }

  cudaError_t Launch() {
    void* arguments[] = {&was_};
    return cudaLaunchKernel(&Count, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr);
  }

  void** const module_ = __cudaRegisterFatBinary(&kHostKernels);
  int* was_ = nullptr;
};

// As with the genuine runtime on an H200.
TEST_F(RuntimeHostVariables, AreRefused) {
  __cudaRegisterHostVar(module_, "of_host", of_host, sizeof(int));
  ASSERT_EQ(cudaHostRegister(of_host, sizeof(of_host), 2), cudaSuccess);
  EXPECT_EQ(Launch(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostUnregister(of_host), cudaSuccess);
}

TEST_F(RuntimeHostVariables, ThatNobodyRegisteredAreOfTheModuleAndZero) {
  __cudaRegisterHostVar(module_, "another", of_host, sizeof(int));
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&was_), sizeof(int)), cudaSuccess);
  of_host[0] = 41;
  *was_ = 77;
  EXPECT_EQ(Launch(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(*was_, 0);
  EXPECT_EQ(of_host[0], 41);
  EXPECT_EQ(cudaFreeHost(was_), cudaSuccess);
}

}  // namespace

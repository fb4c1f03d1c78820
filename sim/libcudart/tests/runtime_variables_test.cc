// Variables of the device, by the object of the host that stands for each.

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
  EXPECT_EQ(cudaMemcpyToSymbol(offset, values, 0, 9, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(offset, values, 8, static_cast<size_t>(-4), cudaMemcpyHostToDevice),
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

}  // namespace

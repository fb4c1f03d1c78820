// Cooperative launches on several devices at once, as a program of CUDA 12 has them. The argument
// is the file of libcudart.so.12.

#include "gtest/gtest.h"
#include "sim/libcudart/testing/fat_binary_image.h"
#include "sim/libcudart/testing/older_runtime.h"
#include "third_party/cuda_abi/cudart_abi.h"

namespace {

TWINMMU_FAT_BINARY(kKernels, 70,
                   ".version 7.0\n.target sm_70\n.address_size 64\n"
                   ".visible .entry Store(.param .u64 Store_to, .param .u32 Store_value) {\n"
                   "  .reg .b32 %r<2>;\n  .reg .b64 %rd<2>;\n"
                   "  ld.param.u64 %rd1, [Store_to];\n"
                   "  ld.param.u32 %r1, [Store_value];\n"
                   "  st.global.u32 [%rd1], %r1;\n"
                   "  ret;\n}\n");
char Store;  // a kernel is an address, no more

class RuntimeMultiLaunches : public testing::Test {
 protected:
  RuntimeMultiLaunches() : module_(OLD(__cudaRegisterFatBinary)(&kKernels)) {
    OLD(__cudaRegisterFunction)
    (module_, &Store, &Store, "Store", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    EXPECT_EQ(OLD(cudaMalloc)(&memory_, 4), cudaSuccess);
    EXPECT_EQ(OLD(cudaStreamCreate)(&launch_.stream), cudaSuccess);
    launch_.func = &Store;
    launch_.gridDim = launch_.blockDim = {1, 1, 1};
    launch_.args = arguments_;
  }
  ~RuntimeMultiLaunches() override {
    EXPECT_EQ(OLD(cudaStreamDestroy)(launch_.stream), cudaSuccess);
    EXPECT_EQ(OLD(cudaFree)(memory_), cudaSuccess);
    OLD(cudaGetLastError)();
    OLD(__cudaUnregisterFatBinary)(module_);
  }

  static cudaError_t Launch(cudaLaunchParams launch, unsigned int flags = 0) {
    return OLD(cudaLaunchCooperativeKernelMultiDevice)(&launch, 1, flags);
  }
  int Stored() {
    int stored = 0;
    EXPECT_EQ(OLD(cudaStreamSynchronize)(launch_.stream), cudaSuccess);
    EXPECT_EQ(OLD(cudaMemcpy)(&stored, memory_, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    return stored;
  }

  void** const module_;
  void* memory_ = nullptr;
  int value_ = 42;
  void* arguments_[2] = {&memory_, &value_};
  cudaLaunchParams launch_ = {};
};

TEST_F(RuntimeMultiLaunches, RunOnTheDeviceOfTheStream) {
  constexpr unsigned int kNoSynchronization = 3;
  EXPECT_EQ(Launch(launch_), cudaSuccess);
  EXPECT_EQ(Stored(), 42);
  value_ = 43;
  EXPECT_EQ(Launch(launch_, kNoSynchronization), cudaSuccess);
  EXPECT_EQ(Stored(), 43);
}

// The simulated driver refuses what its kernels cannot do: wait for those of another device.
TEST_F(RuntimeMultiLaunches, OfMoreDevicesAreRefused) {
  int devices = 0;
  ASSERT_EQ(OLD(cudaGetDeviceCount)(&devices), cudaSuccess);
  ASSERT_GE(devices, 2);
  cudaLaunchParams both[] = {launch_, launch_};
  ASSERT_EQ(OLD(cudaSetDevice)(1), cudaSuccess);
  ASSERT_EQ(OLD(cudaStreamCreate)(&both[1].stream), cudaSuccess);
  EXPECT_EQ(OLD(cudaLaunchCooperativeKernelMultiDevice)(both, 2, 0), cudaErrorNotSupported);
  int device = 0;
  EXPECT_EQ(OLD(cudaGetDevice)(&device), cudaSuccess);
  EXPECT_EQ(device, 1) << "stays current";
  EXPECT_EQ(OLD(cudaStreamDestroy)(both[1].stream), cudaSuccess);
  EXPECT_EQ(OLD(cudaSetDevice)(0), cudaSuccess);
}

// Their order was not measured.
TEST_F(RuntimeMultiLaunches, RefuseWrongArguments) {
  const auto of = [](cudaLaunchParams* list, unsigned int count) {
    return OLD(cudaLaunchCooperativeKernelMultiDevice)(list, count, 0);
  };
  EXPECT_EQ(of(nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(of(&launch_, 0), cudaErrorInvalidValue);
  EXPECT_EQ(of(&launch_, ~0u), cudaErrorInvalidValue);
  EXPECT_EQ(Launch(launch_, 4), cudaErrorInvalidValue);
  cudaLaunchParams other = launch_;
  other.stream = nullptr;
  EXPECT_EQ(Launch(other), cudaErrorInvalidResourceHandle) << "a default stream";
  other = launch_;
  other.func = &value_;
  EXPECT_EQ(Launch(other), cudaErrorInvalidDeviceFunction);
  other = launch_;
  other.gridDim.y = 0;
  EXPECT_EQ(Launch(other), cudaErrorInvalidConfiguration);
  EXPECT_EQ(of(&other, 0), cudaErrorInvalidValue) << "whatever stands in the list";
  other = launch_;
  other.blockDim = {1024, 2, 1};
  EXPECT_EQ(Launch(other), cudaErrorInvalidConfiguration) << "more threads than a block may have";
  other = launch_;
  other.sharedMem = size_t{1} << 32;
  EXPECT_EQ(Launch(other), cudaErrorInvalidValue);
  EXPECT_EQ(OLD(cudaPeekAtLastError)(), cudaErrorInvalidValue);
}

}  // namespace

int main(int argc, char** argv) {
  return twinmmu::cudart::RunTestsOfOlder("libcudart.so.12", argc, argv);
}

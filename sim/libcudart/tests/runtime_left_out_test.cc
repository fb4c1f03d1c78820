// What counts first where arguments are left out, and where the context cannot be used. Source: the
// genuine runtime 13.0 on an H200.

#include <thread>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/vector_kernels.h"
#include "third_party/cuda_abi/include/cuda.h"

namespace {

constexpr cudaMemcpyKind kWithin = cudaMemcpyDeviceToDevice;

class RuntimeLeftOut : public testing::Test {
 protected:
  RuntimeLeftOut() : module_(RegisterVectorKernels()) {
    EXPECT_EQ(cudaMalloc(&memory_, 64), cudaSuccess);
    EXPECT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    EXPECT_EQ(cudaEventCreate(&event_), cudaSuccess);
    EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool_, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphAddEmptyNode(&node_, graph_, nullptr, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec_, graph_, 0), cudaSuccess);
  }
  ~RuntimeLeftOut() override {
    EXPECT_EQ(cudaGraphExecDestroy(exec_), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaFree(memory_), cudaSuccess);
    __cudaUnregisterFatBinary(module_);
    cudaGetLastError();
  }

  void** const module_;
  void* memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphNode_t node_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

// --- A destroyed context

// Another thread destroys the context that is current.
class RuntimeDestroyed : public RuntimeLeftOut {
 protected:
  RuntimeDestroyed() {
    EXPECT_EQ(cuCtxGetCurrent(&primary_), CUDA_SUCCESS);
    CUcontext context = nullptr;
    EXPECT_EQ(cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    std::thread([&] { EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS); }).join();
  }
  ~RuntimeDestroyed() override { EXPECT_EQ(cuCtxSetCurrent(primary_), CUDA_SUCCESS); }

  CUcontext primary_ = nullptr;
};

TEST_F(RuntimeDestroyed, CountsBeforeAnythingElse) {
  void* address = memory_;
  EXPECT_EQ(cudaMemcpy(memory_, memory_, 0, kWithin), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaMemcpy(memory_, memory_, 1, kWithin), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaMemset2DAsync(nullptr, 0, 0, 0, 0, stream_), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaMalloc(&address, 0), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaFreeArray(nullptr), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaEventDestroy(event_), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaLaunchKernel(nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, stream_),
            cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaGetSymbolAddress(nullptr, nullptr), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaSetDeviceFlags(0), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaGetLastError(), cudaErrorDeviceUninitialized);
  EXPECT_EQ(address, memory_);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(memory_, memory_, 1, kWithin), cudaSuccess);
}

}  // namespace

// FaultTest: what a driver does after a kernel has stopped with a trap.

#ifndef TWINMMU_CONFORMANCE_ABI_FAULTS_FAULT_FIXTURE_H_
#define TWINMMU_CONFORMANCE_ABI_FAULTS_FAULT_FIXTURE_H_

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {

// Each test is a process: nothing of its context works in it any more. Source: an H200 with driver
// 580.159.
class FaultTest : public NewProcessTest {
 protected:
  static constexpr CUresult kFault = static_cast<CUresult>(719);

  // Whatever a test needs of the time before the fault.
  void Begin() {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuEventCreate(&event_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&memory_, 4096), CUDA_SUCCESS);
    CUmodule module = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module,
                               ".version 7.0\n.target sm_70\n.address_size 64\n"
                               ".visible .entry stop() { trap; }\n"),
              CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&function_, module, "stop"), CUDA_SUCCESS);
  }
  void Fault() {
    ASSERT_EQ(cuLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), kFault);
  }
  void MakeFault() {
    ASSERT_NO_FATAL_FAILURE(Begin());
    ASSERT_NO_FATAL_FAILURE(Fault());
  }

  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUfunction function_ = nullptr;
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_FAULTS_FAULT_FIXTURE_H_

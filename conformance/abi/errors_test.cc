// Names and texts of results, and what is told after a fault.

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/driver_under_test.h"

namespace twinmmu::abi {
namespace {

TEST(ErrorsTest, HaveTheirNamesAndTexts) {
#define ERROR(name, text) \
  { CUDA_##name, "CUDA_" #name, text }
  const struct {
    CUresult result;
    const char* name;
    const char* text;
  } kErrors[] = {
      ERROR(SUCCESS, "no error"),
      ERROR(ERROR_INVALID_VALUE, "invalid argument"),
      ERROR(ERROR_OUT_OF_MEMORY, "out of memory"),
      ERROR(ERROR_NOT_INITIALIZED, "initialization error"),
      ERROR(ERROR_DEINITIALIZED, "driver shutting down"),
      ERROR(ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
      ERROR(ERROR_CALL_REQUIRES_NEWER_DRIVER,
            "API call is not supported in the installed CUDA driver"),
      ERROR(ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
      ERROR(ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
      ERROR(ERROR_INVALID_DEVICE, "invalid device ordinal"),
      ERROR(ERROR_INVALID_IMAGE, "device kernel image is invalid"),
      ERROR(ERROR_INVALID_CONTEXT, "invalid device context"),
      ERROR(ERROR_MAP_FAILED, "mapping of buffer object failed"),
      ERROR(ERROR_UNMAP_FAILED, "unmapping of buffer object failed"),
      ERROR(ERROR_ALREADY_MAPPED, "resource already mapped"),
      ERROR(ERROR_NOT_MAPPED, "resource not mapped"),
      ERROR(ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
      ERROR(ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
      ERROR(ERROR_PEER_ACCESS_UNSUPPORTED,
            "peer access is not supported between these two devices"),
      ERROR(ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
      ERROR(ERROR_UNSUPPORTED_PTX_VERSION,
            "the provided PTX was compiled with an unsupported toolchain."),
      ERROR(ERROR_FILE_NOT_FOUND, "file not found"),
      ERROR(ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found"),
      ERROR(ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
      ERROR(ERROR_INVALID_HANDLE, "invalid resource handle"),
      ERROR(ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
      ERROR(ERROR_NOT_FOUND, "named symbol not found"),
      ERROR(ERROR_NOT_READY, "device not ready"),
      ERROR(ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
      ERROR(ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
      ERROR(ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
      ERROR(ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
      ERROR(ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
      ERROR(ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
      ERROR(ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
      ERROR(ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted"),
      ERROR(ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            "part or all of the requested memory range is already mapped"),
      ERROR(ERROR_HOST_MEMORY_NOT_REGISTERED,
            "pointer does not correspond to a registered memory region"),
      ERROR(ERROR_MISALIGNED_ADDRESS, "misaligned address"),
      ERROR(ERROR_LAUNCH_FAILED, "unspecified launch failure"),
      ERROR(ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
      ERROR(ERROR_NOT_PERMITTED, "operation not permitted"),
      ERROR(ERROR_NOT_SUPPORTED, "operation not supported"),
      ERROR(ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
      ERROR(ERROR_SYSTEM_DRIVER_MISMATCH,
            "system has unsupported display driver / cuda driver combination"),
      ERROR(ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
      ERROR(ERROR_STREAM_CAPTURE_INVALIDATED,
            "operation failed due to a previous error during capture"),
      ERROR(ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
      ERROR(ERROR_STREAM_CAPTURE_IMPLICIT,
            "operation would make the legacy stream depend on a capturing blocking stream"),
      ERROR(ERROR_TIMEOUT, "wait operation timed out"),
      ERROR(ERROR_GRAPH_EXEC_UPDATE_FAILURE,
            "the graph update was not performed because it included changes which violated "
            "constraints specific to instantiated graph update"),
      ERROR(ERROR_UNKNOWN, "unknown error"),
  };
#undef ERROR
  for (const auto& error : kErrors) {
    const char* name = nullptr;
    const char* text = nullptr;
    EXPECT_EQ(cuGetErrorName(error.result, &name), CUDA_SUCCESS);
    EXPECT_EQ(cuGetErrorString(error.result, &text), CUDA_SUCCESS);
    EXPECT_STREQ(name, error.name);
    EXPECT_STREQ(text, error.text);
  }
}

// The texts of what was never a result are null, not "unknown".
TEST(ErrorsTest, UnknownNumbersHaveNeither) {
  for (const int number : {-1, 918, 9999}) {
    const char* name = "before";
    const char* text = "before";
    EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(number), &name), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuGetErrorString(static_cast<CUresult>(number), &text), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(name, nullptr) << number;
    EXPECT_EQ(text, nullptr) << number;
  }
}

// A kernel has stopped with a trap. Each test is a process: nothing works in it any more. Source:
// an H200 with driver 580.159.
class FaultTest : public NewProcessTest {
 protected:
  void MakeFault() {
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
    ASSERT_EQ(cuLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), kFault);
  }

  static constexpr CUresult kFault = static_cast<CUresult>(719);
  static CUresult Registers(CUfunction function) {
    constexpr int kRegisters = 4;
    int number = 0;
    return Function<CUresult(int*, int, CUfunction)>("cuFuncGetAttribute")(&number, kRegisters,
                                                                           function);
  }

  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUfunction function_ = nullptr;
};

TEST_F(FaultTest, WhatIsOfTheContextGivesItsCode) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFault());
  CUdeviceptr memory = 0;
  size_t size = 0;
  int number = 0;
  unsigned int flags = 0;
  EXPECT_EQ(cuMemAlloc(&memory, 64), kFault);
  EXPECT_EQ(cuMemFree(memory_), kFault);
  EXPECT_EQ(cuMemsetD8(memory_, 0, 64), kFault);
  EXPECT_EQ(cuMemGetAddressRange(&memory, &size, memory_), kFault);
  EXPECT_EQ(cuMemHostGetFlags(&flags, &number), kFault);
  EXPECT_EQ(cuStreamQuery(stream_), kFault);
  EXPECT_EQ(cuStreamGetFlags(stream_, &flags), kFault);
  EXPECT_EQ(cuStreamGetPriority(stream_, &number), kFault);
  EXPECT_EQ(cuStreamDestroy(stream_), kFault);
  EXPECT_EQ(cuEventRecord(event_, stream_), kFault);
  EXPECT_EQ(cuEventDestroy(event_), kFault);
  EXPECT_EQ(cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE), kFault);
  EXPECT_EQ(Registers(function_), kFault);
}

TEST_F(FaultTest, ItCountsBeforeWrongArguments) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFault());
  CUdeviceptr memory = 0;
  size_t size = 0;
  EXPECT_EQ(cuMemAlloc(&memory, 0), kFault);
  EXPECT_EQ(cuMemAllocPitch(&memory, &size, 64, 4, 3), kFault);
  EXPECT_EQ(cuMemFree(1), kFault);
  EXPECT_EQ(cuCtxGetLimit(&size, static_cast<CUlimit>(99)), kFault);
  EXPECT_EQ(cuMemcpyDtoH(&size, 1, sizeof(size)), kFault);
}

TEST_F(FaultTest, NullAndUnknownFlagsCountBeforeIt) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFault());
  CUstream stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamCreate(&stream, 0), kFault);
  EXPECT_EQ(cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Registers(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), kFault);
}

TEST_F(FaultTest, VirtualMemoryAndWhatIsOfNoContextGoOn) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFault());
  CUdeviceptr reserved = 0;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  constexpr size_t kSize = size_t{2} << 20;
  EXPECT_EQ(cuMemAddressReserve(&reserved, kSize, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemCreate(&handle, kSize, &prop, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(reserved, kSize, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemUnmap(reserved, kSize), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(reserved, kSize), CUDA_SUCCESS);
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, nullptr, 0), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), kFault);
}

}  // namespace
}  // namespace twinmmu::abi

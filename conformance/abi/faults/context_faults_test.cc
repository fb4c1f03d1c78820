// What gives the code of a fault, what counts before it, and what goes on.

#include "conformance/abi/faults/fault_fixture.h"

namespace twinmmu::abi {
namespace {

CUresult Registers(CUfunction function) {
  constexpr int kRegisters = 4;
  int number = 0;
  return Function<CUresult(int*, int, CUfunction)>("cuFuncGetAttribute")(&number, kRegisters,
                                                                         function);
}

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

TEST_F(FaultTest, FlagsOfBatchesCountBeforeIt) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Begin());
  if (DriverVersion() < 13000) GTEST_SKIP() << "the driver is older than these functions";
  constexpr size_t kSize = size_t{2} << 20;
  CUdeviceptr managed = 0;
  ASSERT_EQ(cuMemAllocManaged(&managed, kSize, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(Fault());
  using PrefetchBatch = Function<CUresult(CUdeviceptr*, size_t*, size_t, CUmemLocation*, size_t*,
                                          size_t, unsigned long long, CUstream)>;
  size_t size = kSize;
  size_t first = 0;
  CUmemLocation place = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  for (const char* const name : {"cuMemPrefetchBatchAsync", "cuMemDiscardAndPrefetchBatchAsync"}) {
    const PrefetchBatch prefetch(name);
    EXPECT_EQ(prefetch(&managed, &size, 1, &place, &first, 1, 1, stream_),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(prefetch(&managed, &size, 1, &place, &first, 1, 0, stream_), kFault);
  }
  const Function<CUresult(CUdeviceptr*, size_t*, size_t, unsigned long long, CUstream)> discard(
      "cuMemDiscardBatchAsync");
  EXPECT_EQ(discard(&managed, &size, 1, 1, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(discard(&managed, &size, 1, 0, stream_), kFault);
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

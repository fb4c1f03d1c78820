// Managed memory: one copy, which the CPU and the devices see at the same address.

#include "conformance/abi/managed/managed_memory.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace twinmmu::abi {
namespace {

using ManagedMemoryTest = ContextTest;

// --- Allocation ----------------------------------------------------------------------------------

TEST_F(ManagedMemoryTest, NeedsOneOfTwoFlags) {
  for (const unsigned int flags : {0u, 3u, 4u, 5u, 8u, 0x80000001u}) {
    CUdeviceptr address = 7;
    EXPECT_EQ(cuMemAllocManaged(&address, 100, flags), CUDA_ERROR_INVALID_VALUE) << flags;
    EXPECT_EQ(address, 0u) << "written, although it failed";
  }
  const Managed global(100, CU_MEM_ATTACH_GLOBAL);
  const Managed host(100, CU_MEM_ATTACH_HOST);
}

TEST_F(ManagedMemoryTest, NoBytesAreRefused) {
  CUdeviceptr address = 7;
  EXPECT_EQ(cuMemAllocManaged(&address, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(address, 0u);
  EXPECT_EQ(cuMemAllocManaged(nullptr, 100, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedMemoryTest, TooManyBytesAreOutOfMemory) {
  for (const size_t size : {size_t{1} << 47, size_t{1} << 62, ~size_t{0}, ~size_t{0} - 4095}) {
    CUdeviceptr address = 7;
    EXPECT_EQ(cuMemAllocManaged(&address, size, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(address, 0u);
  }
}

TEST_F(ManagedMemoryTest, ArgumentsAreCheckedBeforeTheContext) {
  EmptyStack();
  CUdeviceptr address = 7;
  EXPECT_EQ(cuMemAllocManaged(&address, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocManaged(nullptr, 100, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocManaged(&address, 100, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(address, 0u);
}

TEST_F(ManagedMemoryTest, SmallPiecesAre512BytesApart) {
  const Managed first(100);
  const Managed second(100);
  const Managed third(100);
  EXPECT_EQ(first.address() % 512, 0u);
  EXPECT_EQ(second.address() % 512, 0u);
  EXPECT_EQ(third.address() - second.address(), 512u);
}

TEST_F(ManagedMemoryTest, LargePiecesHaveChunksOfTheirOwn) {
  for (const size_t size : {kMiB + 1, 2 * kMiB, 5 * kMiB + 1}) {
    EXPECT_EQ(Managed(size).address() % kChunk, 0u) << size;
  }
}

TEST_F(ManagedMemoryTest, IsZeroAtFirst) {
  const Managed memory(4 * kMiB);
  for (size_t i = 0; i < memory.size(); i += kPage) ASSERT_EQ(memory.bytes()[i], 0);
}

TEST_F(ManagedMemoryTest, TakesNoneOfTheDevicesFreeMemory) {
  const size_t before = FreeMemory();
  const Managed memory(64 * kMiB);
  EXPECT_EQ(FreeMemory(), before);
}

// --- Use -----------------------------------------------------------------------------------------

TEST_F(ManagedMemoryTest, CpuSeesWhatCopiesAndFillsWrote) {
  const Managed memory(4096);
  EXPECT_EQ(cuMemsetD32(memory.address(), 7, 1024), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(memory.ints()[1023], 7);
  const int nine = 9;
  EXPECT_EQ(cuMemcpyHtoD(memory.address() + 4, &nine, sizeof(nine)), CUDA_SUCCESS);
  EXPECT_EQ(memory.ints()[1], 9);
}

TEST_F(ManagedMemoryTest, CopiesReadWhatTheCpuWrote) {
  const Managed memory(4096);
  memory.ints()[100] = 5;
  int read = 0;
  EXPECT_EQ(cuMemcpyDtoH(&read, memory.address() + 400, sizeof(read)), CUDA_SUCCESS);
  EXPECT_EQ(read, 5);
}

TEST_F(ManagedMemoryTest, IsMemoryOfTheHostAndOfADeviceForCopies) {
  const Managed memory(4096);
  const Buffer buffer(4096);
  memory.ints()[0] = 3;
  EXPECT_EQ(cuMemcpyHtoD(buffer.address(), memory.pointer(), 4096), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(memory.address(), 0, 4096), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(memory.pointer(), buffer.address(), 4096), CUDA_SUCCESS);
  EXPECT_EQ(memory.ints()[0], 3);
  EXPECT_EQ(cuMemcpyDtoD(buffer.address(), memory.address(), 4096), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy(memory.address(), buffer.address(), 4096), CUDA_SUCCESS);
  EXPECT_EQ(memory.ints()[0], 3);
}

TEST_F(ManagedMemoryTest, CopiesAndFillsEndWhereItEnds) {
  const Managed memory(100);
  const Managed other(4096);
  char host[200] = {};
  const CUdeviceptr address = memory.address();
  EXPECT_EQ(cuMemcpyHtoD(address, host, 100), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD(address, host, 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(host, address + 50, 51), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoD(other.address(), address, 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(address, 1, 101), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedMemoryTest, CopiesEndThereAlsoWhereItIsGivenAsAPointer) {
  const Managed memory(100);
  const Managed other(4096);
  EXPECT_EQ(cuMemcpyHtoD(other.address(), memory.pointer(), 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(memory.pointer(), other.address(), 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy(other.address(), memory.address(), 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy(memory.address(), other.address(), 101), CUDA_ERROR_INVALID_VALUE);
}

// --- Freeing -------------------------------------------------------------------------------------

TEST_F(ManagedMemoryTest, IsFreedOnceAtItsBase) {
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemAllocManaged(&address, 4 * kMiB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  for (const size_t inside : {size_t{8}, kPage, 2 * kMiB}) {
    EXPECT_EQ(cuMemFree(address + inside), CUDA_ERROR_INVALID_VALUE) << inside;
  }
  EXPECT_EQ(cuMemFreeHost(reinterpret_cast<void*>(address)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedMemoryTest, IsNothingOnceItIsFreed) {
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemAllocManaged(&address, 4 * kMiB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree(address), CUDA_SUCCESS);
  int value = 0;
  EXPECT_EQ(cuMemcpyHtoD(address, &value, sizeof(value)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(address, 0, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPrefetchAsync(address, 4, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAdvise(address, 4, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_IS_MANAGED, address),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedMemoryTest, GoesWithItsContext) {
  CUcontext context = nullptr;
  ASSERT_EQ(cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAllocManaged(&address, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
}

// --- What is told of it --------------------------------------------------------------------------

uint64_t Attribute(CUpointer_attribute attribute, CUdeviceptr address) {
  uint64_t value = 0;
  EXPECT_EQ(cuPointerGetAttribute(&value, attribute, address), CUDA_SUCCESS) << attribute;
  return value;
}

TEST_F(ManagedMemoryTest, IsOfADeviceAndSeenByTheHost) {
  for (const unsigned int flags : {CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST}) {
    const Managed memory(100000, flags);
    const CUdeviceptr inside = memory.address() + 100;
    EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, inside), 1u);
    EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside), 2u);  // CU_MEMORYTYPE_DEVICE
    EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside), inside);
    EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_HOST_POINTER, inside), inside);
    EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside), 0u);
    EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_CONTEXT, inside),
              reinterpret_cast<uint64_t>(context_));
  }
}

TEST_F(ManagedMemoryTest, TellsItsRangeAndItsBlock) {
  const Managed memory(5 * kMiB + 1);
  const CUdeviceptr inside = memory.address() + 3 * kMiB;
  EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside), memory.address());
  EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside), memory.size());
  EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, inside), memory.address());
  EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, inside), 6 * kMiB);
  CUdeviceptr base = 0;
  size_t size = 0;
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, inside), CUDA_SUCCESS);
  EXPECT_EQ(base, memory.address());
  EXPECT_EQ(size, memory.size());
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, memory.address() + memory.size()),
            CUDA_ERROR_NOT_FOUND);
}

TEST_F(ManagedMemoryTest, CannotBeShared) {
  const Managed memory(4 * kMiB);
  EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory.address()), 0u);
  EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, memory.address()), 0u);
  EXPECT_EQ(Attribute(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, memory.address()), 0u);
  char handle[64];
  EXPECT_EQ(Function<CUresult(void*, CUdeviceptr)>("cuIpcGetMemHandle")(handle, memory.address()),
            CUDA_ERROR_INVALID_VALUE);
  CUmemGenericAllocationHandle allocation = 0;
  EXPECT_EQ(cuMemRetainAllocationHandle(&allocation, memory.pointer()), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedMemoryTest, SynchronisesMemoryOperationsUntilItIsToldNotTo) {
  const Managed memory(4096);
  constexpr CUpointer_attribute kSync = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
  EXPECT_EQ(Attribute(kSync, memory.address()), 1u);
  for (const unsigned int wanted : {1, 0, 1}) {
    EXPECT_EQ(cuPointerSetAttribute(&wanted, kSync, memory.address()), CUDA_SUCCESS);
    EXPECT_EQ(Attribute(kSync, memory.address()), wanted);
  }
}

TEST_F(ManagedMemoryTest, CannotBeRegisteredOrMapped) {
  const Managed memory(4 * kMiB);
  EXPECT_EQ(cuMemHostRegister(memory.pointer(), memory.size(), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(memory.pointer(), kPage, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(memory.pointer()), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr address = 7;
  EXPECT_EQ(cuMemHostGetDevicePointer(&address, memory.pointer(), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(address, 0u);
  EXPECT_EQ(cuMemUnmap(memory.address(), memory.size()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(memory.address(), memory.size()), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedMemoryTest, HasTheFlagsOfMappedHostMemory) {
  const Managed memory(4096);
  unsigned int flags = 77;
  EXPECT_EQ(cuMemHostGetFlags(&flags, memory.pointer()), CUDA_SUCCESS);
  EXPECT_EQ(flags, 2u);  // CU_MEMHOSTALLOC_DEVICEMAP
}

}  // namespace
}  // namespace twinmmu::abi

// Memory of pools: allocated, used again and freed in the order of streams, and released.
// Source: an H100 with driver 580.159.

#include "conformance/abi/pools/pool_test.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kChunkOfPool = size_t{32} << 20;

// --- What a pool has of the device

TEST_F(PoolTest, MemoryComesInChunksOf32MiB) {
  EXPECT_EQ(Allocate(1, stream_) % kChunkOfPool, 0u);
  EXPECT_EQ(Get(pool_, kReserved), kChunkOfPool);
  EXPECT_EQ(Get(pool_, kReservedHigh), kChunkOfPool);
}

TEST_F(PoolTest, ChunksTakeMemoryOfTheDevice) {
  const size_t free = FreeMemory();
  Allocate(100 * kMiB, stream_);
  EXPECT_EQ(Get(pool_, kReserved), 4 * kChunkOfPool);
  EXPECT_EQ(free - FreeMemory(), 4 * kChunkOfPool);
}

TEST_F(PoolTest, PiecesAre512BytesApart) {
  const CUdeviceptr first = Allocate(1, stream_);
  EXPECT_EQ(Allocate(512, stream_), first + 512);
  EXPECT_EQ(Allocate(513, stream_), first + 1024);
  EXPECT_EQ(Allocate(1, stream_), first + 2048);
}

TEST_F(PoolTest, WhatIsUsedIsCountedToTheByte) {
  Allocate(1, stream_);
  Allocate(513, stream_);
  EXPECT_EQ(Get(pool_, kUsed), 514u);
  EXPECT_EQ(Get(pool_, kUsedHigh), 514u);
}

TEST_F(PoolTest, PiecesGoOverTheBordersOfChunks) {
  const CUdeviceptr first = Allocate(40 * kMiB, stream_);
  EXPECT_EQ(Get(pool_, kReserved), 64 * kMiB);
  EXPECT_EQ(Allocate(40 * kMiB, stream_), first + 40 * kMiB);
  EXPECT_EQ(Get(pool_, kReserved), 96 * kMiB);
  EXPECT_EQ(cuMemsetD8Async(first + 40 * kMiB, 7, 40 * kMiB, stream_), CUDA_SUCCESS);
  unsigned char byte = 0;
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(&byte, first + 80 * kMiB - 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(byte, 7);
}

TEST_F(PoolTest, NoBytesAreAtNoAddress) {
  CUdeviceptr address = 7;
  EXPECT_EQ(allocate_from(&address, 0, pool_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(address, 0u);
  address = 7;
  EXPECT_EQ(allocate_async(&address, 0, stream_), CUDA_SUCCESS);
  EXPECT_EQ(address, 0u);
  EXPECT_EQ(free_async(0, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), 0u);
}

TEST_F(PoolTest, TooManyBytesAreOutOfMemory) {
  for (const size_t size : {size_t{1} << 50, ~size_t{0}, size_t{1} << 46}) {
    CUdeviceptr address = 7;
    EXPECT_EQ(allocate_from(&address, size, pool_, stream_), CUDA_ERROR_OUT_OF_MEMORY) << size;
    EXPECT_EQ(address, 0u) << "written, although it failed";
  }
  EXPECT_EQ(Get(pool_, kReserved), 0u);
}

TEST_F(PoolTest, ResultsNeedAPlace) {
  EXPECT_EQ(allocate_from(nullptr, 64, pool_, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(allocate_async(nullptr, 64, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, LimitedPoolsHaveWholeChunks) {
  PoolProps props;
  props.most = 1;
  const CUmemoryPool small = MakePool(props);
  CUdeviceptr address = 0;
  EXPECT_EQ(allocate_from(&address, kChunkOfPool - 512, small, stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(allocate_from(&address, kChunkOfPool + 1, small, stream_), CUDA_ERROR_OUT_OF_MEMORY);
}

// --- Use

TEST_F(PoolTest, MemoryIsUsedBehindItsAllocation) {
  const CUdeviceptr address = Allocate(4096, stream_);
  unsigned char bytes[2] = {};
  EXPECT_EQ(cuMemsetD8Async(address, 5, 4096, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoHAsync(bytes, address + 4094, 2, stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(bytes[0], 5);
  EXPECT_EQ(bytes[1], 5);
}

TEST_F(PoolTest, CopiesEndWithTheirPiece) {
  const CUdeviceptr address = Allocate(100, stream_);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(address, 1, 100), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(address, 1, 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(address + 8 * kMiB, 1, 64), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, FreedMemoryIsNotFilled) {
  KeepAll(pool_);
  const CUdeviceptr address = Allocate(kMiB, stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(address, 6, kMiB, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8Async(address, 6, kMiB, other_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, AddressesLeadToTheirPiece) {
  const CUdeviceptr address = Allocate(3 * kMiB, stream_);
  CUdeviceptr base = 0;
  size_t size = 0;
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, address + kMiB), CUDA_SUCCESS);
  EXPECT_EQ(base, address);
  EXPECT_EQ(size, 3 * kMiB);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, address), CUDA_ERROR_NOT_FOUND);
}

// What an attribute is, in 8 bytes that were 0.
uint64_t Ask(CUpointer_attribute attribute, CUdeviceptr address) {
  uint64_t value = 0;
  EXPECT_EQ(cuPointerGetAttribute(&value, attribute, address), CUDA_SUCCESS) << attribute;
  return value;
}

TEST_F(PoolTest, PointersTellOfTheirPool) {
  PoolProps props;
  props.handle_types = 1;
  const CUmemoryPool shared = MakePool(props);
  CUdeviceptr address = 0;
  EXPECT_EQ(allocate_from(&address, 3 * kMiB, shared, stream_), CUDA_SUCCESS);
  const CUdeviceptr inside = address + 5;
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, inside), reinterpret_cast<uint64_t>(shared));
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, inside), 1u);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside), address);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside), 3 * kMiB);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, inside), kChunkOfPool);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, inside), address);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_CONTEXT, inside), 0u);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside), 2u);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside), inside);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, inside), 3u);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, inside), 0u);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, inside), 0u);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, inside), 0u);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_MAPPED, inside), 1u);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
}

TEST_F(PoolTest, FreedPointersTellNothing) {
  const CUdeviceptr address = Allocate(64, stream_);
  unsigned type = 0;
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, OtherMemoryHasNoPool) {
  const Buffer buffer(64);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, buffer.address()), 0u);
}

TEST_F(PoolTest, VirtualMemoryManagementDoesNotKnowPieces) {
  const CUdeviceptr address = Allocate(kMiB, stream_);
  CUmemGenericAllocationHandle handle = 0;
  unsigned long long access = 7;
  const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  EXPECT_EQ(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(address)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemGetAccess(&access, &device, address), CUDA_SUCCESS);
  EXPECT_EQ(access, 0u);
  EXPECT_EQ(cuMemUnmap(address, kChunk), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(address, kChunkOfPool), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, StreamsSayOfWhichContextTheyAre) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(allocate_async(&address, 64, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(allocate_from(&address, 64, pool_, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(allocate_async(&address, 64, stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

TEST_F(PoolTest, DefaultStreamsWork) {
  for (const uintptr_t stream : {0, 1, 2}) {
    CUdeviceptr address = 0;
    EXPECT_EQ(allocate_async(&address, 64, reinterpret_cast<CUstream>(stream)), CUDA_SUCCESS);
    EXPECT_EQ(free_async(address, reinterpret_cast<CUstream>(stream)), CUDA_SUCCESS);
  }
}

// --- Frees

TEST_F(PoolTest, OnlyWholePiecesAreFreedAndOnce) {
  const CUdeviceptr address = Allocate(kMiB, stream_);
  EXPECT_EQ(free_async(address + 512, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(address, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(address, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, WhatWasNeverAllocatedIsNotFreed) {
  CUdeviceptr reserved = 0;
  void* host = nullptr;
  EXPECT_EQ(free_async(0x1234, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&reserved, kChunk, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(free_async(reserved, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(reserved, kChunk), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocHost(&host, 4096), CUDA_SUCCESS);
  EXPECT_EQ(free_async(AddressOf(host), stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(host), CUDA_SUCCESS);
}

TEST_F(PoolTest, MemoryOfCuMemAllocIsFreedInAStreamToo) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, kMiB), CUDA_SUCCESS);
  EXPECT_EQ(free_async(address + 512, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, CuMemFreeFreesPiecesAtOnce) {
  const CUdeviceptr address = Allocate(kMiB, stream_);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address + 512), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(reinterpret_cast<void*>(address)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), 0u);
  EXPECT_EQ(Get(pool_, kUsed), kMiB) << "that driver does not count it down";
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_async(address, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, AnyStreamMayFree) {
  const CUdeviceptr address = Allocate(kMiB, stream_);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(address, other_), CUDA_SUCCESS);
  CUdeviceptr again = 0;
  EXPECT_EQ(allocate_from(&again, kMiB, pool_, other_), CUDA_SUCCESS);
  EXPECT_EQ(again, address);
}

// --- Release

TEST_F(PoolTest, WhatIsUsedGoesDownAtTheFreeAndWhatIsReservedAtTheWait) {
  const CUdeviceptr address = Allocate(64 * kMiB, stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kUsed), 0u);
  EXPECT_EQ(Get(pool_, kReserved), 64 * kMiB);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), 0u);
  EXPECT_EQ(Get(pool_, kReservedHigh), 64 * kMiB);
  EXPECT_EQ(Get(pool_, kUsedHigh), 64 * kMiB);
}

TEST_F(PoolTest, WaitsForOtherWorkReleaseNothing) {
  const CUdeviceptr address = Allocate(kMiB, stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(other_), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), kChunkOfPool);
}

TEST_F(PoolTest, EventsAndContextsAreWaitedForToo) {
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  EXPECT_EQ(free_async(Allocate(kMiB, stream_), stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), 0u);
  EXPECT_EQ(free_async(Allocate(kMiB, stream_), stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), 0u);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

TEST_F(PoolTest, NoMoreThanTheThresholdIsKept) {
  uint64_t threshold = 64 * kMiB;
  EXPECT_EQ(set_attribute(pool_, kReleaseThreshold, &threshold), CUDA_SUCCESS);
  EXPECT_EQ(free_async(Allocate(128 * kMiB, stream_), stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), 64 * kMiB);
}

TEST_F(PoolTest, TrimmingLeavesAtLeastWhatIsAskedFor) {
  KeepAll(pool_);
  EXPECT_EQ(free_async(Allocate(64 * kMiB, stream_), stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  const struct {
    size_t keep;
    size_t left;
  } kSteps[] = {{~size_t{0} - kChunkOfPool, 64 * kMiB},
                {48 * kMiB, 64 * kMiB},
                {33 * kMiB, 64 * kMiB},
                {1, 32 * kMiB},
                {0, 0}};
  for (const auto& step : kSteps) {
    EXPECT_EQ(trim_pool(pool_, step.keep), CUDA_SUCCESS);
    EXPECT_EQ(Get(pool_, kReserved), step.left) << step.keep;
  }
}

// Strangely enough: as if they had been rounded up to chunks, and over the end of numbers.
TEST_F(PoolTest, TrimmingToTheLargestNumbersLeavesNothing) {
  KeepAll(pool_);
  for (const size_t keep : {~size_t{0}, ~size_t{0} - (kChunkOfPool - 2)}) {
    EXPECT_EQ(free_async(Allocate(64 * kMiB, stream_), stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    EXPECT_EQ(trim_pool(pool_, keep), CUDA_SUCCESS);
    EXPECT_EQ(Get(pool_, kReserved), 0u) << keep;
  }
}

TEST_F(PoolTest, TrimmingLeavesWhatNobodyHasWaitedFor) {
  KeepAll(pool_);
  EXPECT_EQ(free_async(Allocate(kMiB, stream_), stream_), CUDA_SUCCESS);
  EXPECT_EQ(trim_pool(pool_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), kChunkOfPool);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(trim_pool(pool_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), 0u);
}

TEST_F(PoolTest, ChunksInTheMiddleGoAndComeBack) {
  CUdeviceptr pieces[4];
  for (CUdeviceptr& piece : pieces) piece = Allocate(kChunkOfPool, stream_);
  EXPECT_EQ(free_async(pieces[1], stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), 3 * kChunkOfPool);
  EXPECT_EQ(Allocate(kChunkOfPool, stream_), pieces[1]);
  EXPECT_EQ(Get(pool_, kReserved), 4 * kChunkOfPool);
}

TEST_F(PoolTest, UnusedMemoryOfPoolsMakesRoomForOthers) {
  KeepAll(pool_);
  const size_t size = FreeMemory() / 3 * 2;
  EXPECT_EQ(free_async(Allocate(size, stream_), stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_GE(Get(pool_, kReserved), size);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc(&memory, size), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), 0u);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(PoolTest, TrimmingLeavesWhatIsInUse) {
  Allocate(16 * kMiB, stream_);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(trim_pool(pool_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), kChunkOfPool);
}

TEST_F(PoolTest, ChunksWithAPieceInUseStay) {
  CUdeviceptr pieces[4];
  for (CUdeviceptr& piece : pieces) piece = Allocate(16 * kMiB, stream_);
  EXPECT_EQ(free_async(pieces[0], stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(pieces[2], stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), 64 * kMiB);
}

TEST_F(PoolTest, WatermarksBeginAnewWithWhatIsThere) {
  uint64_t zero = 0;
  EXPECT_EQ(free_async(Allocate(64 * kMiB, stream_), stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  Allocate(5 * kMiB, stream_);
  EXPECT_EQ(set_attribute(pool_, kUsedHigh, &zero), CUDA_SUCCESS);
  EXPECT_EQ(set_attribute(pool_, kReservedHigh, &zero), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kUsedHigh), 5 * kMiB);
  EXPECT_EQ(Get(pool_, kReservedHigh), kChunkOfPool);
}

}  // namespace
}  // namespace twinmmu::abi

// Memory of cuMemAlloc.

#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

CUdeviceptr Allocate(size_t size) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, size), CUDA_SUCCESS) << size;
  return address;
}

// --- Where it lies, in a process that has none yet -----------------------------------------------

class LinearLayoutTest : public NewProcessTest {
 protected:
  void SetUp() override {
    if (!IsNewProcess()) return;
    CUcontext context = nullptr;
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    free_ = FreeMemory();
  }

  // By how much memory there is less than at first.
  size_t Used() const { return free_ - FreeMemory(); }

 private:
  size_t free_ = 0;
};

TEST_F(LinearLayoutTest, SmallPiecesAre512BytesApartInOneChunk) {
  if (RanInNewProcess()) return;
  const CUdeviceptr first = Allocate(100);
  EXPECT_EQ(first % kChunk, 0u);
  EXPECT_EQ(Allocate(100), first + 512);
  EXPECT_EQ(Allocate(1), first + 1024);
  EXPECT_EQ(Allocate(kMiB), first + 1536);
  EXPECT_EQ(Used(), kChunk);
}

TEST_F(LinearLayoutTest, LargePiecesHaveChunksOfTheirOwn) {
  if (RanInNewProcess()) return;
  size_t used = 0;
  for (const size_t size : {kMiB + 1, 3 * kMiB, 32 * kMiB, 32 * kMiB + 5}) {
    EXPECT_EQ(Allocate(size) % kChunk, 0u) << size;
    used += (size + kChunk - 1) / kChunk * kChunk;
    EXPECT_EQ(Used(), used) << size;
  }
}

TEST_F(LinearLayoutTest, ChunkComesBackWithItsLastPiece) {
  if (RanInNewProcess()) return;
  const CUdeviceptr first = Allocate(100);
  const CUdeviceptr second = Allocate(100);
  EXPECT_EQ(cuMemFree(first), CUDA_SUCCESS);
  EXPECT_EQ(Used(), kChunk);
  EXPECT_EQ(cuMemFree(second), CUDA_SUCCESS);
  EXPECT_EQ(Used(), 0u);
}

TEST_F(LinearLayoutTest, ManyPiecesFillTheirChunks) {
  if (RanInNewProcess()) return;
  std::vector<CUdeviceptr> pieces;
  for (int i = 0; i < 5000; ++i) pieces.push_back(Allocate(512));
  EXPECT_EQ(Used(), 2 * kChunk);
  for (const CUdeviceptr piece : pieces) EXPECT_EQ(cuMemFree(piece), CUDA_SUCCESS);
  EXPECT_EQ(Used(), 0u);
}

// --- Sizes ---------------------------------------------------------------------------------------

using LinearMemoryTest = ContextTest;

TEST_F(LinearMemoryTest, NoBytesAreRefused) {
  CUdeviceptr address = 7;
  EXPECT_EQ(cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(nullptr, 100), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LinearMemoryTest, TooManyBytesAreOutOfMemory) {
  for (const size_t size : {size_t{1} << 46, ~size_t{0}}) {
    CUdeviceptr address = 7;
    EXPECT_EQ(cuMemAlloc(&address, size), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(address, 0u) << "written, although it failed";
  }
}

TEST_F(LinearMemoryTest, RowsBeginAtMultiplesOf512) {
  const struct {
    size_t width;
    size_t pitch;
  } kRows[] = {{1, 512}, {100, 512}, {512, 512}, {513, 1024}, {4096, 4096}};
  for (const auto& row : kRows) {
    CUdeviceptr address = 0;
    size_t pitch = 0;
    EXPECT_EQ(cuMemAllocPitch(&address, &pitch, row.width, 10, 16), CUDA_SUCCESS);
    EXPECT_EQ(pitch, row.pitch);
    EXPECT_EQ(cuMemsetD8(address, 0, pitch * 10), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8(address, 0, pitch * 10 + 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  }
}

TEST_F(LinearMemoryTest, RowsNeedElementsOf4Or8Or16Bytes) {
  CUdeviceptr address = 0;
  size_t pitch = 0;
  EXPECT_EQ(cuMemAllocPitch(&address, &pitch, 100, 10, 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch(&address, &pitch, 0, 10, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch(&address, &pitch, 10, 0, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch(nullptr, &pitch, 10, 1, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch(&address, nullptr, 10, 1, 4), CUDA_ERROR_INVALID_VALUE);
}

// --- Bounds --------------------------------------------------------------------------------------

TEST_F(LinearMemoryTest, CopiesEndWithItsLastByte) {
  const Buffer buffer(100);
  const Buffer other(100);
  char host[8192] = {};
  EXPECT_EQ(cuMemcpyDtoH(host, buffer.address(), 100), CUDA_SUCCESS);
  for (const size_t size : {101, 512, 513, 4096}) {
    EXPECT_EQ(cuMemcpyDtoH(host, buffer.address(), size), CUDA_ERROR_INVALID_VALUE) << size;
  }
  EXPECT_EQ(cuMemcpyDtoH(host, buffer.address() + 100, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoD(buffer.address(), other.address(), 100), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoD(buffer.address(), other.address(), 4096), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LinearMemoryTest, FillsEndWithItsLastByte) {
  const Buffer buffer(100);
  char host[100] = {};
  EXPECT_EQ(cuMemsetD8(buffer.address(), 7, 100), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(buffer.address(), 8, 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(buffer.address(), 8, 600), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(host, buffer.address(), 100), CUDA_SUCCESS);
  EXPECT_EQ(host[0], 7);
  EXPECT_EQ(host[99], 7);
}

TEST_F(LinearMemoryTest, LargeOneEndsWithItsLastByteToo) {
  const Buffer buffer(3 * kMiB);
  std::vector<char> host(4 * kMiB);
  EXPECT_EQ(cuMemcpyDtoH(host.data(), buffer.address(), 3 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(host.data(), buffer.address(), 3 * kMiB + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(host.data(), buffer.address(), 4 * kMiB), CUDA_ERROR_INVALID_VALUE);
}

// --- Freeing -------------------------------------------------------------------------------------

TEST_F(LinearMemoryTest, IsFreedOnceAndAtItsBeginning) {
  const CUdeviceptr address = Allocate(1000);
  EXPECT_EQ(cuMemFree(address + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(address + 256), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LinearMemoryTest, OnlyItIsFreed) {
  const Mapping mapping;
  int on_the_stack = 0;
  EXPECT_EQ(cuMemFree(0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(0x1234567), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(AddressOf(&on_the_stack)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(mapping.address()), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LinearMemoryTest, IsGoneWhenFreed) {
  for (const size_t size : {size_t{100}, 3 * kMiB}) {
    const CUdeviceptr address = Allocate(size);
    EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
    int value = 0;
    unsigned int type = 0;
    CUdeviceptr base = 0;
    EXPECT_EQ(cuMemcpyDtoH(&value, address, sizeof(value)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemGetAddressRange(&base, nullptr, address), CUDA_ERROR_NOT_FOUND);
  }
}

// --- It is no mapping ----------------------------------------------------------------------------

TEST_F(LinearMemoryTest, HasNoHandle) {
  const Buffer buffer(3 * kMiB);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(buffer.address())),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LinearMemoryTest, HasNoRightsThatCouldBeChanged) {
  const Buffer buffer(3 * kMiB);
  const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const CUmemAccessDesc grant = {location, CU_MEM_ACCESS_FLAGS_PROT_READ};
  unsigned long long access = 9;
  EXPECT_EQ(cuMemGetAccess(&access, &location, buffer.address()), CUDA_SUCCESS);
  EXPECT_EQ(access, 0u);
  EXPECT_EQ(cuMemSetAccess(buffer.address(), kChunk, &grant, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LinearMemoryTest, IsNotUnmapped) {
  const Buffer buffer(3 * kMiB);
  EXPECT_EQ(cuMemUnmap(buffer.address(), kChunk), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(buffer.address(), 2 * kChunk), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(buffer.address(), 2 * kChunk), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(buffer.address(), 3 * kMiB), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LinearMemoryTest, NothingIsMappedOrReservedOverIt) {
  const Buffer buffer(3 * kMiB);
  const Mapping other;
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemMap(buffer.address(), kChunk, 0, other.handle(), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&address, kChunk, 0, buffer.address(), 0), CUDA_SUCCESS);
  EXPECT_NE(address, buffer.address());
  EXPECT_EQ(cuMemAddressFree(address, kChunk), CUDA_SUCCESS);
}

// --- Contexts ------------------------------------------------------------------------------------

TEST_F(LinearMemoryTest, IsSeenAndFreedInOtherContexts) {
  const CUdeviceptr address = Allocate(100);
  CUcontext other = nullptr;
  char host[100];
  EXPECT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(host, address, sizeof(host)), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
}

TEST_F(LinearMemoryTest, EndsWithItsContext) {
  CUcontext other = nullptr;
  EXPECT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  const CUdeviceptr address = Allocate(100);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
  int value = 0;
  EXPECT_EQ(cuMemcpyDtoH(&value, address, sizeof(value)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
}

// --- Forms of CUDA 2, which are of 32 bits -------------------------------------------------------

TEST_F(LinearMemoryTest, FormsOfCuda2) {
  const Function<CUresult(void*, size_t)> allocate("cuMemAlloc");
  const Function<CUresult(void*, void*)> get_info("cuMemGetInfo");
  const bool old = TraitsOf().keeps_old_forms;
  CUdeviceptr address = ~CUdeviceptr{0};
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(allocate(&address, 4096), old ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS);
  EXPECT_EQ(get_info(&free, &total), old ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS);
  if (old) {
    EXPECT_EQ(address, 0xFFFFFFFF00000000u);
  } else {
    EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace twinmmu::abi

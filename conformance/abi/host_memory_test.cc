// Memory of the host that devices see: allocated, and registered.

#include <sys/mman.h>

#include <cstring>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

void* Allocate(size_t size, unsigned int flags = 0) {
  void* memory = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&memory, size, flags), CUDA_SUCCESS);
  return memory;
}

unsigned int FlagsOf(void* memory) {
  unsigned int flags = 99;
  EXPECT_EQ(cuMemHostGetFlags(&flags, memory), CUDA_SUCCESS);
  return flags;
}

// Pages of the program's own.
class Pages {
 public:
  Pages()
      : memory_(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Pages() { munmap(memory_, kSize); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  char* at(size_t offset) const { return static_cast<char*>(memory_) + offset; }
  void* all() const { return memory_; }
  static constexpr size_t kSize = size_t{1} << 20;

 private:
  void* memory_;
};

// --- Allocated -----------------------------------------------------------------------------------

using HostMemoryTest = ContextTest;

TEST_F(HostMemoryTest, BeginsAtAPageAndIsWritable) {
  void* memory = nullptr;
  EXPECT_EQ(cuMemAllocHost(&memory, 100), CUDA_SUCCESS);
  EXPECT_EQ(AddressOf(memory) % 4096, 0u);
  std::memset(memory, 5, 100);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}

TEST_F(HostMemoryTest, IsSeenByDevicesWhereTheHostSeesIt) {
  void* const memory = Allocate(100);
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemHostGetDevicePointer(&address, memory, 0), CUDA_SUCCESS);
  EXPECT_EQ(address, AddressOf(memory));
  EXPECT_EQ(cuMemHostGetDevicePointer(&address, memory, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}

TEST_F(HostMemoryTest, IsAlwaysMapped) {
  void* memory = nullptr;
  EXPECT_EQ(cuMemAllocHost(&memory, 100), CUDA_SUCCESS);
  EXPECT_EQ(FlagsOf(memory), unsigned{CU_MEMHOSTALLOC_DEVICEMAP});
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}

TEST_F(HostMemoryTest, KeepsItsFlags) {
  const struct {
    unsigned int asked;
    unsigned int told;
  } kFlags[] = {{0, 2}, {4, 6}, {7, 7}};
  for (const auto& flags : kFlags) {
    void* const memory = Allocate(4096, flags.asked);
    EXPECT_EQ(FlagsOf(memory), flags.told) << flags.asked;
    EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
  }
}

TEST_F(HostMemoryTest, FlagsMustBeKnown) {
  void* memory = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&memory, 4096, 0x10), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocHost(nullptr, 100), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostMemoryTest, NoBytesAreAllocated) {
  void* memory = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&memory, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocHost(&memory, 0), CUDA_SUCCESS);
}

TEST_F(HostMemoryTest, IsFreedAtItsBeginningOnly) {
  void* const memory = Allocate(100);
  EXPECT_EQ(cuMemFreeHost(static_cast<char*>(memory) + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(AddressOf(memory)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(nullptr), CUDA_SUCCESS);
}

TEST_F(HostMemoryTest, OnlyItIsFreed) {
  const Buffer buffer(100);
  int on_the_stack = 0;
  EXPECT_EQ(cuMemFreeHost(reinterpret_cast<void*>(buffer.address())), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(&on_the_stack), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostMemoryTest, MemoryOfTheProcessIsNotThatOfADeviceOnTheBus) {
  alignas(4096) static char page[4096];
  constexpr unsigned int kIoMemory = 4;
  EXPECT_EQ(cuMemHostRegister(page, sizeof(page), kIoMemory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(page), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(cuMemHostUnregister(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostMemoryTest, OtherMemoryHasNoFlagsAndNoDevicePointer) {
  int on_the_stack = 0;
  unsigned int flags = 0;
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemHostGetFlags(&flags, &on_the_stack), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostGetFlags(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostGetDevicePointer(&address, &on_the_stack, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostMemoryTest, CopiesTakeItAsHostAndAsDevice) {
  const Buffer buffer(4096);
  void* const memory = Allocate(100);
  const CUdeviceptr address = AddressOf(memory);
  const int written = 9;
  EXPECT_EQ(cuMemcpyHtoD(buffer.address(), memory, 100), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy(buffer.address(), address, 100), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoD(buffer.address(), address, 100), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD(address, &written, sizeof(written)), CUDA_SUCCESS);
  EXPECT_EQ(*static_cast<int*>(memory), 9);
  EXPECT_EQ(cuMemsetD8(address, 7, 100), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<char*>(memory)[99], 7);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}

TEST_F(HostMemoryTest, IsFreedInOtherContexts) {
  void* const memory = Allocate(100);
  CUcontext other = nullptr;
  EXPECT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
}

TEST_F(HostMemoryTest, TakesNoneOfTheDevices) {
  const size_t free = FreeMemory();
  void* const memory = Allocate(size_t{64} << 20);
  EXPECT_EQ(FreeMemory(), free);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}

TEST_F(HostMemoryTest, EndsWithItsContext) {
  CUcontext other = nullptr;
  EXPECT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  void* const memory = Allocate(4096);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
  unsigned int type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, AddressOf(memory)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
}

// --- Registered ----------------------------------------------------------------------------------

using RegisteredMemoryTest = ContextTest;

TEST_F(RegisteredMemoryTest, IsRegisteredOnce) {
  const Pages pages;
  EXPECT_EQ(cuMemHostRegister(pages.all(), Pages::kSize, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostRegister(pages.all(), Pages::kSize, 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostRegister(pages.at(2048), 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostUnregister(pages.all()), CUDA_SUCCESS);
}

TEST_F(RegisteredMemoryTest, PiecesOfOneMappingAreRegisteredEach) {
  const Pages pages;
  EXPECT_EQ(cuMemHostRegister(pages.at(0), 4096, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostRegister(pages.at(8192), 4096, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(pages.at(0)), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(pages.at(8192)), CUDA_SUCCESS);
}

TEST_F(RegisteredMemoryTest, IsUnregisteredOnceAndAtItsBeginning) {
  const Pages pages;
  EXPECT_EQ(cuMemHostRegister(pages.all(), Pages::kSize, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(pages.at(8)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(pages.all()), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(pages.all()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(RegisteredMemoryTest, KeepsItsFlags) {
  const Pages pages;
  EXPECT_EQ(cuMemHostRegister(pages.all(), 4096, 0), CUDA_SUCCESS);
  EXPECT_EQ(FlagsOf(pages.all()), unsigned{CU_MEMHOSTREGISTER_DEVICEMAP});
  EXPECT_EQ(cuMemHostUnregister(pages.all()), CUDA_SUCCESS);
  const unsigned int both = CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE;
  EXPECT_EQ(cuMemHostRegister(pages.all(), 4096, both), CUDA_SUCCESS);
  EXPECT_EQ(FlagsOf(pages.all()), both);
  EXPECT_EQ(cuMemHostUnregister(pages.all()), CUDA_SUCCESS);
}

TEST_F(RegisteredMemoryTest, DoesNotTellThatItIsReadOnly) {
  const Pages pages;
  constexpr unsigned int kReadOnly = 8;
  EXPECT_EQ(cuMemHostRegister(pages.all(), 4096, kReadOnly), CUDA_SUCCESS);
  EXPECT_EQ(FlagsOf(pages.all()), unsigned{CU_MEMHOSTREGISTER_DEVICEMAP});
  EXPECT_EQ(cuMemHostUnregister(pages.all()), CUDA_SUCCESS);
}

// Not where what is registered goes on behind what is asked for.
TEST_F(RegisteredMemoryTest, IsFoundBeforeMemoryIsNotOnTheBus) {
  const Pages pages;
  constexpr unsigned int kIoMemory = 4;
  EXPECT_EQ(cuMemHostRegister(pages.at(16384), 8192, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostRegister(pages.at(8192), 16384, kIoMemory),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostRegister(pages.at(20480), 8192, kIoMemory),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostRegister(pages.at(8192), 12288, kIoMemory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(pages.at(16384)), CUDA_SUCCESS);
}

TEST_F(RegisteredMemoryTest, ArgumentsMustBeValid) {
  const Pages pages;
  EXPECT_EQ(cuMemHostRegister(pages.all(), 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(nullptr, 4096, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(pages.all(), 4096, 0x100), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(RegisteredMemoryTest, MustBeThere) {
  EXPECT_EQ(cuMemHostRegister(reinterpret_cast<void*>(0x10000), 4096, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(RegisteredMemoryTest, CannotBeTheDriversOwn) {
  const Buffer buffer(100);
  void* const memory = Allocate(100);
  EXPECT_EQ(cuMemHostRegister(memory, 100, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(reinterpret_cast<void*>(buffer.address()), 100, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}

TEST_F(RegisteredMemoryTest, IsNotFreed) {
  const Pages pages;
  EXPECT_EQ(cuMemHostRegister(pages.all(), Pages::kSize, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(pages.all()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(pages.all()), CUDA_SUCCESS);
}

TEST_F(RegisteredMemoryTest, EndsWithItsContext) {
  const Pages pages;
  CUcontext other = nullptr;
  unsigned int flags = 0;
  EXPECT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostRegister(pages.all(), 8192, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostGetFlags(&flags, pages.all()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(pages.all()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

}  // namespace
}  // namespace twinmmu::abi

// Legacy IPC: which memory has no handle, and what is no handle.

#include <unistd.h>

#include <array>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using Handle = std::array<char, 64>;
constexpr Handle kUnwritten = {7};
constexpr unsigned int kLazyPeerAccess = 1;  // the one flag that there is

const Function<CUresult(Handle*, CUdeviceptr)> GetHandle("cuIpcGetMemHandle");
const Function<CUresult(CUdeviceptr*, Handle, unsigned int)> OpenHandle("cuIpcOpenMemHandle_v2");
const Function<CUresult(CUdeviceptr)> CloseHandle("cuIpcCloseMemHandle");

void ExpectNoHandle(CUdeviceptr address, const char* what) {
  Handle handle = kUnwritten;
  EXPECT_EQ(GetHandle(&handle, address), CUDA_ERROR_INVALID_VALUE) << what;
  EXPECT_EQ(handle, kUnwritten) << what;
}

using IpcTest = ContextTest;

// Memory that the program maps has none, whatever its access.
TEST_F(IpcTest, MappingsHaveNoHandle) {
  for (const bool granted : {true, false}) {
    const Mapping mapping(0, granted);
    ExpectNoHandle(mapping.address(), "mapping");
    ExpectNoHandle(mapping.address() + kChunk / 2, "inside a mapping");
    EXPECT_EQ(CloseHandle(mapping.address()), CUDA_ERROR_INVALID_VALUE);
  }
  CUdeviceptr reserved = 0;
  ASSERT_EQ(cuMemAddressReserve(&reserved, kChunk, 0, 0, 0), CUDA_SUCCESS);
  ExpectNoHandle(reserved, "reservation");
  EXPECT_EQ(cuMemAddressFree(reserved, kChunk), CUDA_SUCCESS);
}

// Nor has memory that can be shared in the other way, or was.
TEST_F(IpcTest, SharedMappingsHaveNoHandle) {
  CUmemAllocationProp properties = PinnedOn(0);
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle exported = 0;
  CUmemGenericAllocationHandle imported = 0;
  CUdeviceptr address = 0;
  int descriptor = -1;
  ASSERT_EQ(cuMemCreate(&exported, kChunk, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemExportToShareableHandle(&descriptor, exported,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(cuMemImportFromShareableHandle(
                &imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  close(descriptor);
  ASSERT_EQ(cuMemAddressReserve(&address, 2 * kChunk, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(address, kChunk, 0, exported, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(address + kChunk, kChunk, 0, imported, 0), CUDA_SUCCESS);
  ExpectNoHandle(address, "exported");
  ExpectNoHandle(address + kChunk, "imported");
  EXPECT_EQ(cuMemUnmap(address, 2 * kChunk), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(address, 2 * kChunk), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(imported), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(exported), CUDA_SUCCESS);
}

// Only memory of cuMemAlloc has one, and to its last byte.
TEST_F(IpcTest, OtherMemoryHasNoHandle) {
  const Buffer buffer(100);
  ExpectNoHandle(buffer.address() + 100, "behind linear memory");
  int of_the_stack = 0;
  ExpectNoHandle(AddressOf(&of_the_stack), "the stack");
  void* pinned = nullptr;
  ASSERT_EQ(cuMemAllocHost(&pinned, 100), CUDA_SUCCESS);
  ExpectNoHandle(AddressOf(pinned), "pinned memory of the host");
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
  for (const CUdeviceptr invented : {CUdeviceptr{0}, CUdeviceptr{1}, ~CUdeviceptr{0}}) {
    ExpectNoHandle(invented, "invented");
  }
  EXPECT_EQ(GetHandle(nullptr, buffer.address()), CUDA_ERROR_INVALID_VALUE);
}

// What no process was given opens nothing, and what was not opened is not closed.
TEST_F(IpcTest, UnknownHandlesAreRefused) {
  CUdeviceptr address = 7;
  for (const unsigned int flags : {0u, kLazyPeerAccess, 2u}) {
    for (const char byte : {'\0', '\x5a', '\xff'}) {
      Handle handle;
      handle.fill(byte);
      EXPECT_EQ(OpenHandle(&address, handle, flags), CUDA_ERROR_INVALID_VALUE) << flags;
    }
  }
  EXPECT_EQ(address, 7u);
  const Buffer buffer(100);
  for (const CUdeviceptr unopened : {buffer.address(), CUdeviceptr{0}, CUdeviceptr{1}}) {
    EXPECT_EQ(CloseHandle(unopened), CUDA_ERROR_INVALID_VALUE);
  }
}

// All of them need a context, but for a null pointer.
TEST_F(IpcTest, NeedsAContext) {
  const Mapping mapping;
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  Handle handle = kUnwritten;
  CUdeviceptr address = 7;
  EXPECT_EQ(GetHandle(&handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(GetHandle(&handle, mapping.address()), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(OpenHandle(&address, Handle(), kLazyPeerAccess), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(CloseHandle(0), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi

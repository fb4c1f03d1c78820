// Memory and events by IPC, external memory and semaphores, and resources of APIs for graphics.

#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cudart_abi.h"

// Those of CUDA 13.
extern "C" {
cudaError_t cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t* semaphores,
                                              const void* parameters, unsigned int count,
                                              cudaStream_t stream);
cudaError_t cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t* semaphores,
                                            const void* parameters, unsigned int count,
                                            cudaStream_t stream);
}

namespace {

using testing::ExitedWithCode;

constexpr size_t kChunk = size_t{2} << 20;
constexpr int kOpaqueDescriptor = 1;  // cudaExternalMemoryHandleTypeOpaqueFd

// CUmemAllocationProp.
struct AllocationProperties {
  int type = 1;          // pinned
  int handle_types = 1;  // a descriptor
  cudaMemLocation location = {1, 0};
  void* meta_data = nullptr;
  char flags[8] = {};
};

template <typename Function>
Function* DriverFunction(const char* name) {
  void* function = nullptr;
  int found = 1;
  EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found),
            cudaSuccess);
  return reinterpret_cast<Function*>(function);
}

// A descriptor of memory of the driver.
int ExportedMemory() {
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  unsigned long long handle = 0;
  int descriptor = -1;
  const AllocationProperties properties;
  EXPECT_EQ(DriverFunction<int(unsigned long long*, size_t, const AllocationProperties*,
                               unsigned long long)>("cuMemCreate")(&handle, kChunk, &properties, 0),
            0);
  EXPECT_EQ(DriverFunction<int(void*, unsigned long long, int, unsigned long long)>(
                "cuMemExportToShareableHandle")(&descriptor, handle, 1, 0),
            0);
  EXPECT_EQ(DriverFunction<int(unsigned long long)>("cuMemRelease")(handle), 0);
  return descriptor;
}

TEST(RuntimeSharing, ExternalMemoryIsMapped) {
  cudaExternalMemoryHandleDesc description = {};
  description.type = kOpaqueDescriptor;
  description.handle.fd = ExportedMemory();
  description.size = kChunk;
  cudaExternalMemory_t memory = nullptr;
  ASSERT_EQ(cudaImportExternalMemory(&memory, &description), cudaSuccess);
  cudaExternalMemoryBufferDesc buffer = {};
  buffer.offset = 512;
  buffer.size = 1024;
  void* address = nullptr;
  ASSERT_EQ(cudaExternalMemoryGetMappedBuffer(&address, memory, &buffer), cudaSuccess);
  EXPECT_EQ(cudaMemset(address, 3, 1024), cudaSuccess);
  char last = 0;
  EXPECT_EQ(cudaMemcpy(&last, static_cast<char*>(address) + 1023, 1, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(last, 3);
  void* whole = nullptr;
  buffer.offset = 0;
  buffer.size = kChunk;
  char edge[2] = {1, 1};
  ASSERT_EQ(cudaExternalMemoryGetMappedBuffer(&whole, memory, &buffer), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(&edge, static_cast<char*>(whole) + 511, 2, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(edge[0], 0);
  EXPECT_EQ(edge[1], 3) << "the first byte of the other one";
  EXPECT_EQ(cudaFree(whole), cudaSuccess);
  EXPECT_EQ(cudaFree(address), cudaSuccess);
  EXPECT_EQ(cudaDestroyExternalMemory(memory), cudaSuccess);
  EXPECT_EQ(cudaExternalMemoryGetMappedBuffer(&address, memory, &buffer), cudaErrorInvalidValue);
}

TEST(RuntimeSharing, WhatIsNoExternalMemoryIsRefused) {
  cudaExternalMemory_t memory = nullptr;
  EXPECT_EQ(cudaImportExternalMemory(&memory, nullptr), cudaErrorInvalidValue);
  cudaExternalMemoryHandleDesc description = {};
  description.type = kOpaqueDescriptor;
  description.handle.fd = -1;
  description.size = kChunk;
  EXPECT_EQ(cudaImportExternalMemory(&memory, &description), cudaErrorUnknown);
  description.type = 9;  // cudaExternalMemoryHandleTypeDmaBufFd
  EXPECT_EQ(cudaImportExternalMemory(&memory, &description), cudaErrorNotSupported);
  void* address = nullptr;
  EXPECT_EQ(cudaExternalMemoryGetMappedBuffer(&address, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(RuntimeSharing, EventsHaveHandlesForOtherProcesses) {
  cudaEvent_t event = nullptr;
  cudaIpcEventHandle_t handle = {};
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming),
            cudaSuccess);
  EXPECT_EQ(cudaIpcGetEventHandle(&handle, event), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  cudaEvent_t opened = nullptr;
  EXPECT_EQ(cudaIpcOpenEventHandle(&opened, handle), cudaErrorDeviceUninitialized)
      << "it was made here";
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorDeviceUninitialized);
}

// --- Memory by IPC

// Which expectation of a process failed is its exit code; 0: none.
#define REQUIRE(condition) \
  if (!(condition)) _exit(__LINE__ % 256)

// The memory of that handle, filled and closed.
void FillFromOutside(const cudaIpcMemHandle_t& handle) {
  void* memory = nullptr;
  REQUIRE(cudaIpcOpenMemHandle(&memory, handle, 0) == cudaErrorInvalidValue);
  REQUIRE(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
  REQUIRE(cudaMemset(memory, 7, kChunk) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  REQUIRE(cudaIpcCloseMemHandle(memory) == cudaSuccess);
  REQUIRE(cudaIpcCloseMemHandle(memory) == cudaErrorInvalidValue);
  REQUIRE(cudaMemset(memory, 8, 1) == cudaErrorInvalidValue);
}

// In a new process, which has a child before it uses the runtime.
TEST(RuntimeSharing, MemoryIsFilledByAnotherProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        int pipe_ends[2] = {};
        cudaIpcMemHandle_t handle = {};
        REQUIRE(pipe(pipe_ends) == 0);
        const pid_t child = fork();
        if (child == 0) {
          REQUIRE(read(pipe_ends[0], &handle, sizeof(handle)) == sizeof(handle));
          FillFromOutside(handle);
          _exit(0);
        }
        void* memory = nullptr;
        int status = -1;
        char last = 0;
        REQUIRE(cudaMalloc(&memory, kChunk) == cudaSuccess);
        REQUIRE(cudaIpcGetMemHandle(&handle, memory) == cudaSuccess);
        REQUIRE(write(pipe_ends[1], &handle, sizeof(handle)) == sizeof(handle));
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status));
        if (WEXITSTATUS(status) != 0) _exit(WEXITSTATUS(status));
        REQUIRE(cudaMemcpy(&last, static_cast<char*>(memory) + kChunk - 1, 1,
                           cudaMemcpyDeviceToHost) == cudaSuccess);
        REQUIRE(last == 7);
        _exit(0);
      },
      ExitedWithCode(0), "");
}

TEST(RuntimeSharing, OnlyMemoryOfTheDeviceHasHandles) {
  void* memory = nullptr;
  void* opened = nullptr;
  cudaIpcMemHandle_t handle = {};
  ASSERT_EQ(cudaMalloc(&memory, kChunk), cudaSuccess);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, memory), cudaSuccess);
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess),
            cudaErrorDeviceUninitialized)
      << "it was made here";
  EXPECT_EQ(cudaIpcOpenMemHandle(nullptr, handle, cudaIpcMemLazyEnablePeerAccess),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, {}, cudaIpcMemLazyEnablePeerAccess),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcGetMemHandle(nullptr, memory), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, &handle), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcCloseMemHandle(memory), cudaErrorInvalidValue) << "it was not opened";
  EXPECT_EQ(cudaIpcCloseMemHandle(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

// --- What comes from APIs for graphics, of which there are none

TEST(RuntimeSharing, NothingIsAnExternalSemaphore) {
  cudaExternalSemaphoreHandleDesc description = {};
  cudaExternalSemaphore_t semaphore = nullptr;
  EXPECT_EQ(cudaImportExternalSemaphore(&semaphore, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaImportExternalSemaphore(&semaphore, &description), cudaErrorInvalidValue);
  description.type = 1;  // cudaExternalSemaphoreHandleTypeOpaqueFd
  description.handle.fd = -1;
  EXPECT_EQ(cudaImportExternalSemaphore(&semaphore, &description), cudaErrorUnknown);
  description.flags = 1;
  EXPECT_EQ(cudaImportExternalSemaphore(&semaphore, &description), cudaErrorInvalidValue);
  EXPECT_EQ(cudaImportExternalSemaphore(nullptr, &description), cudaErrorInvalidValue);
  const char parameters[144] = {};
  EXPECT_EQ(cudaSignalExternalSemaphoresAsync(&semaphore, parameters, 0, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaWaitExternalSemaphoresAsync(&semaphore, parameters, 0, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDestroyExternalSemaphore(semaphore), cudaErrorInvalidValue);
}

// The driver beneath refuses them, and the report of a run names them.
TEST(RuntimeSharing, WhatTheDriverRefusesIsNotSupported) {
  char nothing[256] = {};
  void* const pointer = nothing;
  void* resource = nothing;
  size_t size = 0;
  EXPECT_EQ(cudaGraphicsMapResources(1, &resource, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphicsUnmapResources(1, &resource, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphicsUnregisterResource(pointer), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphicsResourceSetMapFlags(pointer, 0), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphicsResourceGetMappedPointer(&resource, &size, pointer), cudaErrorNotSupported);
  cudaArray_t array = nullptr;
  cudaMipmappedArray_t mipmap = nullptr;
  EXPECT_EQ(cudaGraphicsSubResourceGetMappedArray(&array, pointer, 0, 0), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphicsResourceGetMappedMipmappedArray(&mipmap, pointer), cudaErrorNotSupported);
  EXPECT_EQ(cudaDeviceGetNvSciSyncAttributes(pointer, 0, 1), cudaErrorNotSupported);
  const cudaExternalMemoryMipmappedArrayDesc description = {
      0, {32, 0, 0, 0, cudaChannelFormatKindFloat}, {4, 2, 0}, 0, 1};
  EXPECT_EQ(cudaExternalMemoryGetMappedMipmappedArray(&mipmap, nullptr, &description),
            cudaErrorNotSupported);
  EXPECT_EQ(cudaExternalMemoryGetMappedMipmappedArray(&mipmap, nullptr, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

}  // namespace

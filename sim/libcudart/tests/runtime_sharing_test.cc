// Events by IPC, and external memory.

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cudart_abi.h"

namespace {

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
  EXPECT_EQ(cudaFree(address), cudaSuccess);
  EXPECT_EQ(cudaDestroyExternalMemory(memory), cudaSuccess);
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

}  // namespace

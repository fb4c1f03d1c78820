// Pools of memory: what they are made for, who uses them, and how they are shared.

#include <unistd.h>

#include <cstdint>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/cudart_abi.h"

struct cudaMemPoolProps : twinmmu::cuda_abi::CUmemPoolProps {};
struct cudaMemPoolPtrExportData : twinmmu::cuda_abi::CUmemPoolPtrExportData {};
struct cudaMemAccessDesc : twinmmu::cuda_abi::CUmemAccessDesc {};

namespace {

constexpr int kPinned = 1;      // cudaMemAllocationTypePinned
constexpr int kDescriptor = 1;  // cudaMemHandleTypePosixFileDescriptor
constexpr int kReadWrite = 3;   // cudaMemAccessFlagsProtReadWrite
constexpr int kThreshold = 4;   // cudaMemPoolAttrReleaseThreshold
constexpr int kReserved = 5;    // cudaMemPoolAttrReservedMemCurrent
constexpr size_t kSize = 4096;

cudaMemPoolProps Properties(int device = 0) {
  cudaMemPoolProps properties = {};
  properties.allocType = kPinned;
  properties.handleTypes = kDescriptor;
  properties.location = {1, device};
  return properties;
}

// A pool of the first device, which can be shared.
class RuntimePools : public testing::Test {
 protected:
  RuntimePools() {
    const cudaMemPoolProps properties = Properties();
    EXPECT_EQ(cudaMemPoolCreate(&pool_, &properties), cudaSuccess);
  }
  ~RuntimePools() override {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemPoolDestroy(pool_), cudaSuccess);
    cudaGetLastError();
  }

  unsigned long long Reserved() const {
    unsigned long long bytes = 77;
    EXPECT_EQ(cudaMemPoolGetAttribute(pool_, kReserved, &bytes), cudaSuccess);
    return bytes;
  }
  void* Allocate() const {
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocFromPoolAsync(&memory, kSize, pool_, nullptr), cudaSuccess);
    return memory;
  }

  cudaMemPool_t pool_ = nullptr;
};

TEST_F(RuntimePools, AreMadeForADeviceAndAKindOfMemory) {
  cudaMemPool_t none = nullptr;
  cudaMemPoolProps properties = Properties();
  EXPECT_EQ(cudaMemPoolCreate(nullptr, &properties), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolCreate(&none, nullptr), cudaErrorInvalidValue);
  properties = Properties(100);
  EXPECT_EQ(cudaMemPoolCreate(&none, &properties), cudaErrorInvalidValue);
  properties = Properties();
  properties.allocType = 100;
  EXPECT_EQ(cudaMemPoolCreate(&none, &properties), cudaErrorInvalidValue);
  EXPECT_EQ(none, nullptr);
}

TEST_F(RuntimePools, EndOnceAndNotThoseOfADevice) {
  cudaMemPool_t other = nullptr;
  cudaMemPoolProps properties = Properties();
  ASSERT_EQ(cudaMemPoolCreate(&other, &properties), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(other), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(nullptr), cudaErrorInvalidValue);
  cudaMemPool_t usual = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&usual, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(usual), cudaErrorInvalidValue);
}

TEST_F(RuntimePools, KeepWhatIsFreedUpToTheirThreshold) {
  EXPECT_EQ(cudaFreeAsync(Allocate(), nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(Reserved(), 0u);
  unsigned long long threshold = ~0ull;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool_, kThreshold, &threshold), cudaSuccess);
  threshold = 0;
  EXPECT_EQ(cudaMemPoolGetAttribute(pool_, kThreshold, &threshold), cudaSuccess);
  EXPECT_EQ(threshold, ~0ull);
  EXPECT_EQ(cudaFreeAsync(Allocate(), nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_GT(Reserved(), 0u);
  EXPECT_EQ(cudaMemPoolTrimTo(pool_, 0), cudaSuccess);
  EXPECT_EQ(Reserved(), 0u);
  EXPECT_EQ(cudaMemPoolSetAttribute(pool_, kReserved, &threshold), cudaErrorInvalidValue)
      << "is only read";
  EXPECT_EQ(cudaMemPoolSetAttribute(pool_, kThreshold, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimePools, BecomeThoseOfADevice) {
  cudaMemPool_t usual = nullptr;
  cudaMemPool_t current = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&usual, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceSetMemPool(0, pool_), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetMemPool(&current, 0), cudaSuccess);
  EXPECT_EQ(current, pool_);
  void* memory = nullptr;
  EXPECT_EQ(cudaMallocAsync(&memory, kSize, nullptr), cudaSuccess);
  EXPECT_GT(Reserved(), 0u);
  EXPECT_EQ(cudaFreeAsync(memory, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetMemPool(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSetMemPool(0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSetMemPool(1, pool_), cudaErrorInvalidValue) << "of another device";
  EXPECT_EQ(cudaDeviceSetMemPool(0, usual), cudaSuccess);
}

TEST_F(RuntimePools, BecomeThoseOfALocation) {
  cudaMemLocation place = {1, 0};
  cudaMemPool_t usual = nullptr;
  cudaMemPool_t found = nullptr;
  EXPECT_EQ(cudaMemGetDefaultMemPool(&usual, &place, kPinned), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&found, 0), cudaSuccess);
  EXPECT_EQ(usual, found);
  EXPECT_EQ(cudaMemSetMemPool(&place, kPinned, pool_), cudaSuccess);
  EXPECT_EQ(cudaMemGetMemPool(&found, &place, kPinned), cudaSuccess);
  EXPECT_EQ(found, pool_);
  EXPECT_EQ(cudaMemSetMemPool(&place, kPinned, usual), cudaSuccess);
  EXPECT_EQ(cudaMemSetMemPool(&place, kPinned, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemGetMemPool(&found, nullptr, kPinned), cudaErrorInvalidValue);
  place.id = 100;
  EXPECT_EQ(cudaMemGetDefaultMemPool(&found, &place, kPinned), cudaErrorInvalidValue);
}

TEST_F(RuntimePools, GiveOtherDevicesAccess) {
  constexpr int kNone = 0;
  cudaMemAccessDesc grant = {};
  grant.location = {1, 1};
  grant.flags = kReadWrite;
  cudaMemLocation other = {1, 1};
  int access = 77;
  EXPECT_EQ(cudaMemPoolGetAccess(&access, pool_, &other), cudaSuccess);
  EXPECT_EQ(access, kNone);
  EXPECT_EQ(cudaMemPoolSetAccess(pool_, &grant, 1), cudaSuccess);
  EXPECT_EQ(cudaMemPoolGetAccess(&access, pool_, &other), cudaSuccess);
  EXPECT_EQ(access, kReadWrite);
  EXPECT_EQ(cudaMemPoolGetAccess(nullptr, pool_, &other), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolGetAccess(&access, pool_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolSetAccess(pool_, nullptr, 1), cudaErrorInvalidValue);
  grant.location = {1, 0};
  grant.flags = kNone;
  EXPECT_EQ(cudaMemPoolSetAccess(pool_, &grant, 1), cudaErrorInvalidDevice) << "its own has it";
}

TEST_F(RuntimePools, AreSharedByADescriptor) {
  int descriptor = -1;
  ASSERT_EQ(cudaMemPoolExportToShareableHandle(&descriptor, pool_, kDescriptor, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolExportToShareableHandle(nullptr, pool_, kDescriptor, 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolExportToShareableHandle(&descriptor, pool_, kDescriptor, 1),
            cudaErrorInvalidValue);
  void* const handle = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
  cudaMemPool_t imported = nullptr;
  ASSERT_EQ(cudaMemPoolImportFromShareableHandle(&imported, handle, kDescriptor, 0), cudaSuccess);
  EXPECT_EQ(close(descriptor), 0);
  void* const memory = Allocate();
  EXPECT_EQ(cudaMemset(memory, 7, kSize), cudaSuccess);
  cudaMemPoolPtrExportData data = {};
  void* seen = nullptr;
  char last = 0;
  EXPECT_EQ(cudaMemPoolExportPointer(&data, memory), cudaSuccess);
  EXPECT_EQ(cudaMemPoolImportPointer(&seen, imported, &data), cudaSuccess);
  EXPECT_NE(seen, memory);
  EXPECT_EQ(cudaMemcpy(&last, static_cast<char*>(seen) + kSize - 1, 1, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(last, 7);
  void* none = nullptr;
  EXPECT_EQ(cudaMemPoolImportPointer(&none, pool_, &data), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolImportPointer(nullptr, imported, &data), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolImportPointer(&none, imported, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(seen), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(imported), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(RuntimePools, ShareNothingThatIsNotTheirs) {
  cudaMemPoolPtrExportData data = {};
  cudaMemPool_t usual = nullptr;
  cudaMemPool_t imported = nullptr;
  void* memory = nullptr;
  int descriptor = -1;
  ASSERT_EQ(cudaMalloc(&memory, kSize), cudaSuccess);
  EXPECT_EQ(cudaMemPoolExportPointer(&data, memory), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolExportPointer(nullptr, memory), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&usual, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolExportToShareableHandle(&descriptor, usual, kDescriptor, 0),
            cudaErrorInvalidValue)
      << "was made for no handles";
  EXPECT_EQ(cudaMemPoolImportFromShareableHandle(&imported, nullptr, kDescriptor, 0),
            cudaErrorInvalidValue);
}

}  // namespace

// A caching allocator with expandable segments, as frameworks have them. Small blocks are the
// runtime's (cudaMalloc); large ones are parts of a reserved range that the driver's functions for
// virtual memory map as it grows. Kernels, streams and events are the runtime's, and the context is
// the one that its first call made.

#include <cstdio>
#include <map>
#include <vector>

#include "sim/libcudart/testing/vector_kernels.h"
#include "tools/examples/runtime/check_runtime.h"

namespace {

// One range of addresses, mapped from its beginning as far as it is used.
class ExpandableSegment {
 public:
  explicit ExpandableSegment(int device) : device_(device), granule_(granularity_of(device)) {
    CHECK(cuMemAddressReserve(&base_, kGranules * granule_, 0, 0, 0));
  }
  ~ExpandableSegment() {
    for (size_t i = 0; i < mapped_; ++i) CHECK(cuMemUnmap(base_ + i * granule_, granule_));
    CHECK(cuMemAddressFree(base_, kGranules * granule_));
  }
  ExpandableSegment(const ExpandableSegment&) = delete;
  ExpandableSegment& operator=(const ExpandableSegment&) = delete;

  void* Take(size_t size) {
    const size_t begin = used_;
    used_ += size;
    while (mapped_ * granule_ < used_) MapOneMore();
    return reinterpret_cast<void*>(base_ + begin);
  }
  size_t mapped() const { return mapped_; }

 private:
  void MapOneMore() {
    const CUmemAllocationProp properties = memory_of(device_);
    const CUmemAccessDesc grant = grant_to(device_, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    const CUdeviceptr address = base_ + mapped_ * granule_;
    CUmemGenericAllocationHandle handle = 0;
    CHECK(cuMemCreate(&handle, granule_, &properties, 0));
    CHECK(cuMemMap(address, granule_, 0, handle, 0));
    CHECK(cuMemRelease(handle));
    CHECK(cuMemSetAccess(address, granule_, &grant, 1));
    ++mapped_;
  }

  static constexpr size_t kGranules = 16;
  const int device_;
  const size_t granule_;
  CUdeviceptr base_ = 0;
  size_t used_ = 0;
  size_t mapped_ = 0;
};

// Keeps freed blocks by size, with the event after which each may be used again.
class CachingAllocator {
 public:
  explicit CachingAllocator(int device) : segment_(device) {}
  ~CachingAllocator() {
    for (const auto& [size, block] : free_) {
      CHECK_RUNTIME(cudaEventSynchronize(block.done));
      CHECK_RUNTIME(cudaEventDestroy(block.done));
      if (size < kLarge) CHECK_RUNTIME(cudaFree(block.address));
    }
  }
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  void* Allocate(size_t size) {
    const auto cached = free_.find(size);
    if (cached != free_.end()) {
      const Block block = cached->second;
      free_.erase(cached);
      CHECK_RUNTIME(cudaEventSynchronize(block.done));
      CHECK_RUNTIME(cudaEventDestroy(block.done));
      ++reused_;
      return block.address;
    }
    if (size >= kLarge) return segment_.Take(size);
    void* address = nullptr;
    CHECK_RUNTIME(cudaMalloc(&address, size));
    return address;
  }
  void Free(void* address, size_t size, cudaStream_t stream) {
    Block block = {address, nullptr};
    CHECK_RUNTIME(cudaEventCreateWithFlags(&block.done, cudaEventDisableTiming));
    CHECK_RUNTIME(cudaEventRecord(block.done, stream));
    free_.emplace(size, block);
  }
  int reused() const { return reused_; }
  size_t mapped() const { return segment_.mapped(); }

 private:
  struct Block {
    void* address;
    cudaEvent_t done;
  };
  static constexpr size_t kLarge = size_t{1} << 20;
  ExpandableSegment segment_;
  std::multimap<size_t, Block> free_;
  int reused_ = 0;
};

constexpr int kCount = 1 << 18;
constexpr size_t kSize = kCount * sizeof(int);  // large
constexpr int kFew = 64;                        // small

void AddOn(cudaStream_t stream, void* a, void* b, void* c, int count) {
  void* arguments[] = {&a, &b, &c, &count};
  const unsigned int blocks = (static_cast<unsigned int>(count) + 255) / 256;
  CHECK_RUNTIME(cudaLaunchKernel(&Add, {blocks, 1, 1}, {256, 1, 1}, arguments, 0, stream));
}

// Sums a vector of ones with itself.
int Step(CachingAllocator& allocator, cudaStream_t stream, int count) {
  const size_t size = static_cast<size_t>(count) * sizeof(int);
  void* const a = allocator.Allocate(size);
  void* const c = allocator.Allocate(size);
  const std::vector<int> ones(static_cast<size_t>(count), 1);
  CHECK_RUNTIME(cudaMemcpyAsync(a, ones.data(), size, cudaMemcpyHostToDevice, stream));
  AddOn(stream, a, a, c, count);
  int last = 0;
  CHECK_RUNTIME(cudaMemcpyAsync(&last, static_cast<char*>(c) + size - sizeof(int), sizeof(int),
                                cudaMemcpyDeviceToHost, stream));
#ifdef PLANTED_BUG
  // The memory behind the block is not mapped yet.
  // Reported:
  if (count == kCount) CHECK_RUNTIME(cudaMemsetAsync(c, 0, size + 16 * kSize, stream));
#endif
  CHECK_RUNTIME(cudaStreamSynchronize(stream));
  allocator.Free(a, size, stream);
  allocator.Free(c, size, stream);
  return last;
}

}  // namespace

int main() {
  void** const module = RegisterVectorKernels();
  CHECK_RUNTIME(cudaSetDevice(0));
  {
    cudaStream_t stream = nullptr;
    CHECK_RUNTIME(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CachingAllocator allocator(0);
    for (const int count : {kFew, kCount, kFew, kCount}) {
      std::printf("%d of %d: ", Step(allocator, stream, count), count);
      std::printf("%d blocks used again\n", allocator.reused());
    }
    cudaPointerAttributes attributes = {};
    void* const block = allocator.Allocate(kSize);
    CHECK_RUNTIME(cudaPointerGetAttributes(&attributes, block));
    std::printf("a part of the segment: memory of type %d on device %d\n", attributes.type,
                attributes.device);
    allocator.Free(block, kSize, stream);
    CHECK_RUNTIME(cudaStreamDestroy(stream));
  }
  std::printf("the last error: %s\n", cudaGetErrorName(cudaGetLastError()));
  __cudaUnregisterFatBinary(module);
  return 0;
}

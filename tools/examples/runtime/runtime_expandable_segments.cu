// A caching allocator with expandable segments, as frameworks have them: streams, events, kernels
// and small blocks are the runtime's, large blocks are in a range of addresses that grows by the
// driver's functions, which the runtime finds. Nothing is linked to the driver.

#include <cuda.h>

#include <map>
#include <vector>

#include "tools/examples/runtime/runtime_check.h"

namespace {

template <typename Function>
Function* Find(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    std::fprintf(stderr, "%s: there is no such function\n", name);
    std::exit(1);
  }
  return reinterpret_cast<Function*>(function);
}

#define DRIVER(name)                                           \
  [](auto... arguments) {                                      \
    static auto* const function = Find<decltype(name)>(#name); \
    const CUresult result = function(arguments...);            \
    if (result != CUDA_SUCCESS) {                              \
      std::fprintf(stderr, "%s: %d\n", #name, result);         \
      std::exit(1);                                            \
    }                                                          \
  }

// One range of addresses, mapped from its beginning as far as it is used.
class Segment {
 public:
  Segment() {
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    DRIVER(cuMemGetAllocationGranularity)
    (&granule_, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    DRIVER(cuMemAddressReserve)(&base_, kGranules * granule_, 0ull, 0ull, 0ull);
  }
  ~Segment() {
    Shrink(0);
    DRIVER(cuMemAddressFree)(base_, kGranules * granule_);
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  void* Take(size_t size) {
    const size_t begin = used_;
    used_ += size;
    while (mapped_ * granule_ < used_) MapOneMore();
    return reinterpret_cast<void*>(base_ + begin);
  }
  // Gives back the memory of what is not used any more, from the end.
  void Shrink(size_t used) {
    used_ = used;
    while (mapped_ > 0 && (mapped_ - 1) * granule_ >= used_) {
      DRIVER(cuMemUnmap)(base_ + --mapped_ * granule_, granule_);
    }
  }
  size_t mapped() const { return mapped_; }

 private:
  void MapOneMore() {
    CUmemAccessDesc access = {};
    access.location = properties_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const CUdeviceptr address = base_ + mapped_ * granule_;
    CUmemGenericAllocationHandle handle = 0;
    DRIVER(cuMemCreate)(&handle, granule_, &properties_, 0ull);
    DRIVER(cuMemMap)(address, granule_, size_t{0}, handle, 0ull);
    DRIVER(cuMemRelease)(handle);
    DRIVER(cuMemSetAccess)(address, granule_, &access, size_t{1});
    ++mapped_;
  }

  static constexpr size_t kGranules = 16;
  CUmemAllocationProp properties_ = {};
  size_t granule_ = 0;
  CUdeviceptr base_ = 0;
  size_t used_ = 0;
  size_t mapped_ = 0;
};

// Keeps freed blocks by size, with the event after which each may be used again.
class CachingAllocator {
 public:
  ~CachingAllocator() {
    for (const auto& [size, block] : free_) {
      CHECK(cudaEventSynchronize(block.done));
      CHECK(cudaEventDestroy(block.done));
      if (size < kLarge) CHECK(cudaFree(block.address));
    }
  }

  void* Allocate(size_t size) {
    const auto cached = free_.find(size);
    if (cached != free_.end()) {
      const Block block = cached->second;
      free_.erase(cached);
      CHECK(cudaEventSynchronize(block.done));
      CHECK(cudaEventDestroy(block.done));
      ++reused;
      return block.address;
    }
    if (size >= kLarge) return segment.Take(size);
    void* address = nullptr;
    CHECK(cudaMalloc(&address, size));
    return address;
  }
  void Free(void* address, size_t size, cudaStream_t stream) {
    Block block = {address, nullptr};
    CHECK(cudaEventCreateWithFlags(&block.done, cudaEventDisableTiming));
    CHECK(cudaEventRecord(block.done, stream));
    free_.emplace(size, block);
  }

  Segment segment;
  int reused = 0;

 private:
  struct Block {
    void* address;
    cudaEvent_t done;
  };
  static constexpr size_t kLarge = size_t{1} << 20;
  std::multimap<size_t, Block> free_;
};

__global__ void Double(const int* from, int* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = 2 * from[i];
}

int Step(CachingAllocator& allocator, cudaStream_t stream, int count) {
  const size_t size = count * sizeof(int);
  int* const from = static_cast<int*>(allocator.Allocate(size));
  int* const to = static_cast<int*>(allocator.Allocate(size));
  const std::vector<int> numbers(count, count);
  CHECK(cudaMemcpyAsync(from, numbers.data(), size, cudaMemcpyHostToDevice, stream));
  Double<<<(count + 255) / 256, 256, 0, stream>>>(from, to, count);
  CHECK(cudaGetLastError());
  int last = 0;
  CHECK(cudaMemcpyAsync(&last, to + count - 1, sizeof(last), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  allocator.Free(from, size, stream);
  allocator.Free(to, size, stream);
  return last;
}

const char* TypeOf(const void* address) {
  cudaPointerAttributes attributes = {};
  CHECK(cudaPointerGetAttributes(&attributes, address));
  return attributes.type == cudaMemoryTypeDevice ? "device" : "other";
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr;
  CHECK(cudaSetDevice(0));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    CachingAllocator allocator;
    for (const int count : {64, 1 << 18, 64, 1 << 18, 1 << 19}) {
      std::printf("%d of %d: ", Step(allocator, stream, count), count);
      std::printf("%d blocks used again, %zu granules mapped\n", allocator.reused,
                  allocator.segment.mapped());
    }
    void* const block = allocator.segment.Take(1 << 22);
    std::printf("a block of the segment is %s memory\n", TypeOf(block));
    CHECK(cudaMemsetAsync(block, 0, 1 << 22, stream));
    CHECK(cudaStreamSynchronize(stream));
    allocator.segment.Shrink(1 << 21);
    std::printf("%zu granules are left\n", allocator.segment.mapped());
#ifdef PLANTED_BUG
    CHECK(cudaMemsetAsync(block, 0, 1 << 22, stream));
#endif
  }
  CHECK(cudaStreamDestroy(stream));
  std::printf("the last error: %s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}

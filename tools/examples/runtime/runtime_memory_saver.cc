// Memory that sleeps, as torch_memory_saver gives it to programs that know nothing of it:
// cudaMalloc and cudaFree are this program's own. Within a region they make memory of the driver's
// functions, which can be given back while its addresses stay; else they are the runtime's.

#include <dlfcn.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "sim/libcudart/testing/vector_kernels.h"
#include "tools/examples/runtime/check_runtime.h"

namespace {

class MemorySaver {
 public:
  // Until the next call of this thread: allocations get this tag. Empty: the runtime's own.
  void Tag(const std::string& tag, bool is_kept) {
    tag_ = tag;
    is_kept_ = is_kept;
  }
  bool has_tag() const { return !tag_.empty(); }

  void* Allocate(size_t size) {
    Block block;
    CHECK_RUNTIME(cudaGetDevice(&block.device));
    const size_t granule = granularity_of(block.device);
    block.size = (size + granule - 1) / granule * granule;
    block.tag = tag_;
    block.is_kept = is_kept_;
    CUdeviceptr address = 0;
    CHECK(cuMemAddressReserve(&address, block.size, 0, 0, 0));
    Back(address, block);
    blocks_[address] = block;
    return reinterpret_cast<void*>(address);
  }
  // False: it is not from here.
  bool Free(void* memory) {
    const auto found = blocks_.find(reinterpret_cast<CUdeviceptr>(memory));
    if (found == blocks_.end()) return false;
    CHECK_RUNTIME(cudaDeviceSynchronize());
    if (found->second.handle != 0) TakeBack(found->first, found->second);
    CHECK(cuMemAddressFree(found->first, found->second.size));
    CHECK_RUNTIME(cudaFreeHost(found->second.copy));
    blocks_.erase(found);
    return true;
  }

  void Pause(const std::string& tag) {
    CHECK_RUNTIME(cudaDeviceSynchronize());
    for (auto& [address, block] : blocks_) {
      if (block.tag != tag) continue;
      if (block.is_kept) {
        CHECK_RUNTIME(cudaMallocHost(&block.copy, block.size));
        CHECK_RUNTIME(cudaMemcpy(block.copy, reinterpret_cast<const void*>(address), block.size,
                                 cudaMemcpyDeviceToHost));
      }
      TakeBack(address, block);
    }
  }
  void Resume(const std::string& tag) {
    for (auto& [address, block] : blocks_) {
      if (block.tag != tag) continue;
      Back(address, block);
      if (block.copy == nullptr) continue;
      CHECK_RUNTIME(cudaMemcpy(reinterpret_cast<void*>(address), block.copy, block.size,
                               cudaMemcpyHostToDevice));
      CHECK_RUNTIME(cudaFreeHost(block.copy));
      block.copy = nullptr;
    }
  }

 private:
  struct Block {
    std::string tag;
    int device = 0;
    size_t size = 0;
    bool is_kept = false;
    CUmemGenericAllocationHandle handle = 0;  // 0 while it sleeps
    void* copy = nullptr;                     // of the contents, while it sleeps
  };

  static void Back(CUdeviceptr address, Block& block) {
    const CUmemAllocationProp properties = memory_of(block.device);
    const CUmemAccessDesc grant = grant_to(block.device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cuMemCreate(&block.handle, block.size, &properties, 0));
    CHECK(cuMemMap(address, block.size, 0, block.handle, 0));
    CHECK(cuMemSetAccess(address, block.size, &grant, 1));
  }
  static void TakeBack(CUdeviceptr address, Block& block) {
    // Reported:
    CHECK(cuMemUnmap(address, block.size));
    CHECK(cuMemRelease(block.handle));
    block.handle = 0;
  }

  std::string tag_;
  bool is_kept_ = false;
  std::map<CUdeviceptr, Block> blocks_;
};

MemorySaver& Saver() {
  static MemorySaver saver;
  return saver;
}

template <typename Function>
Function* OfRuntime(const char* name) {
  auto* const function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  EXPECT(function != nullptr, "the runtime has no such function");
  return function;
}

}  // namespace

extern "C" cudaError_t cudaMalloc(void** memory, size_t size) {
  static auto* const next = OfRuntime<cudaError_t(void**, size_t)>("cudaMalloc");
  if (!Saver().has_tag()) return next(memory, size);
  *memory = Saver().Allocate(size);
  return cudaSuccess;
}

extern "C" cudaError_t cudaFree(void* memory) {
  static auto* const next = OfRuntime<cudaError_t(void*)>("cudaFree");
  return Saver().Free(memory) ? cudaSuccess : next(memory);
}

namespace {

constexpr int kCount = 1024;
constexpr size_t kSize = size_t{8} << 20;

void* Allocate(const char* tag, bool is_kept) {
  void* memory = nullptr;
  Saver().Tag(tag, is_kept);
  CHECK_RUNTIME(cudaMalloc(&memory, kSize));
  Saver().Tag("", false);
  return memory;
}

size_t Free() {
  size_t free = 0;
  size_t total = 0;
  CHECK_RUNTIME(cudaMemGetInfo(&free, &total));
  return free;
}

// What a server answers: twice the sum of the weights and the cache, which it keeps in the cache.
int Answer(void* weights, void* cache, cudaStream_t stream) {
  int count = kCount;
  void* arguments[] = {&weights, &cache, &cache, &count};
  // Reported:
  CHECK_RUNTIME(cudaLaunchKernel(&Add, {kCount / 256, 1, 1}, {256, 1, 1}, arguments, 0, stream));
  int last = 0;
  CHECK_RUNTIME(cudaMemcpyAsync(&last, static_cast<int*>(cache) + kCount - 1, sizeof(last),
                                cudaMemcpyDeviceToHost, stream));
  CHECK_RUNTIME(cudaStreamSynchronize(stream));
  return last;
}

void Serve(void* weights, void* cache, cudaStream_t stream) {
  const std::vector<int> sevens(kCount, 7);
  CHECK_RUNTIME(cudaMemcpyAsync(weights, sevens.data(), kCount * sizeof(int),
                                cudaMemcpyHostToDevice, stream));
  CHECK_RUNTIME(cudaMemsetAsync(cache, 0, kSize, stream));
  std::printf("before: %d\n", Answer(weights, cache, stream));
  const size_t awake = Free();
  Saver().Pause("weights");
  Saver().Pause("cache");
  std::printf("asleep: %zu MiB more are free\n", (Free() - awake) >> 20);
#ifdef PLANTED_BUG
  // Wrong: a request that came late is answered while all sleeps.
  Answer(weights, cache, stream);
#endif
  Saver().Resume("weights");
  std::printf("weights awake: %zu MiB\n", (Free() - awake) >> 20);
  Saver().Resume("cache");
  CHECK_RUNTIME(cudaMemsetAsync(cache, 0, kSize, stream));
  std::printf("after: %d\n", Answer(weights, cache, stream));
}

}  // namespace

int main() {
  void** const module = RegisterVectorKernels();
  CHECK_RUNTIME(cudaSetDevice(0));
  cudaStream_t stream = nullptr;
  CHECK_RUNTIME(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* const other = Allocate("", false);
  void* const weights = Allocate("weights", true);
  void* const cache = Allocate("cache", false);
  Serve(weights, cache, stream);
  for (void* memory : {cache, weights, other}) CHECK_RUNTIME(cudaFree(memory));
  CHECK_RUNTIME(cudaStreamDestroy(stream));
  std::printf("the last error: %s\n", cudaGetErrorName(cudaGetLastError()));
  __cudaUnregisterFatBinary(module);
  return 0;
}

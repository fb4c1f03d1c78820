// A cache of keys and values that looks full from the start, as kvcached makes it for inference
// servers: tensors lie in reserved ranges of addresses, and where a page has no memory yet, one
// page of zeros stands for it, which all of them share. Servers on one device give memory to each
// other in this way. Kernels and fills are the runtime's.

#include <array>
#include <cstdio>
#include <vector>

#include "sim/libcudart/testing/vector_kernels.h"
#include "tools/examples/runtime/check_runtime.h"

namespace {

constexpr size_t kPages = 8;  // of each tensor

// Keys and values have their pages at the same places.
class PagedTensors {
 public:
  explicit PagedTensors(int device) : device_(device), page_(granularity_of(device)) {
    zeros_ = NewPage();
    for (CUdeviceptr& base : bases_) {
      CHECK(cuMemAddressReserve(&base, kPages * page_, 0, 0, 0));
      for (size_t page = 0; page < kPages; ++page) Map(base + page * page_, zeros_);
    }
    // A fill may return before it is done, and the server's stream does not wait for it.
    CHECK_RUNTIME(cudaMemset(keys(), 0, page_));
    CHECK_RUNTIME(cudaDeviceSynchronize());
  }
  ~PagedTensors() {
    CHECK_RUNTIME(cudaDeviceSynchronize());
    for (const CUdeviceptr base : bases_) {
      CHECK(cuMemUnmap(base, kPages * page_));
      CHECK(cuMemAddressFree(base, kPages * page_));
    }
    CHECK(cuMemRelease(zeros_));
  }
  PagedTensors(const PagedTensors&) = delete;
  PagedTensors& operator=(const PagedTensors&) = delete;

  // Memory for a page of both tensors.
  void Fill(size_t page) {
    for (const CUdeviceptr base : bases_) {
      const CUmemGenericAllocationHandle memory = NewPage();
      Replace(base + page * page_, memory);
      CHECK(cuMemRelease(memory));  // It lives as long as it is mapped.
    }
  }
  // The opposite: the page shows zeros again.
  void Empty(size_t page) {
    for (const CUdeviceptr base : bases_) Replace(base + page * page_, zeros_);
  }

  char* keys() const { return reinterpret_cast<char*>(bases_[0]); }
  char* values() const { return reinterpret_cast<char*>(bases_[1]); }
  size_t page_size() const { return page_; }

 private:
  CUmemGenericAllocationHandle NewPage() const {
    const CUmemAllocationProp properties = memory_of(device_);
    CUmemGenericAllocationHandle handle = 0;
    CHECK(cuMemCreate(&handle, page_, &properties, 0));
    return handle;
  }
  void Map(CUdeviceptr address, CUmemGenericAllocationHandle memory) const {
    const CUmemAccessDesc grant = grant_to(device_, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cuMemMap(address, page_, 0, memory, 0));
    CHECK(cuMemSetAccess(address, page_, &grant, 1));
  }
  void Replace(CUdeviceptr address, CUmemGenericAllocationHandle memory) const {
    CHECK_RUNTIME(cudaDeviceSynchronize());
    CHECK(cuMemUnmap(address, page_));
#ifdef PLANTED_BUG
    // Wrong: what is mapped anew must be granted anew.
    if (memory == zeros_) {
      // Reported:
      CHECK(cuMemMap(address, page_, 0, memory, 0));
      return;
    }
#endif
    Map(address, memory);
  }

  const int device_;
  const size_t page_;
  CUmemGenericAllocationHandle zeros_ = 0;
  std::array<CUdeviceptr, 2> bases_ = {};
};

constexpr int kTokens = 64;  // in a page

// One layer of a server: writes tokens, and attends to all pages, with memory or without.
class Layer {
 public:
  Layer() : tensors_(0) {
    CHECK_RUNTIME(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECK_RUNTIME(cudaMalloc(reinterpret_cast<void**>(&scores_), kPages * kTokens * sizeof(int)));
  }
  ~Layer() {
    CHECK_RUNTIME(cudaFree(scores_));
    CHECK_RUNTIME(cudaStreamDestroy(stream_));
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  void Write(size_t page, int token) {
    tensors_.Fill(page);
    const std::vector<int> tokens(kTokens, token);
    for (char* const tensor : {tensors_.keys(), tensors_.values()}) {
      CHECK_RUNTIME(cudaMemcpyAsync(tensor + page * tensors_.page_size(), tokens.data(),
                                    kTokens * sizeof(int), cudaMemcpyHostToDevice, stream_));
    }
    CHECK_RUNTIME(cudaStreamSynchronize(stream_));
  }
  void Drop(size_t page) { tensors_.Empty(page); }

  // The sum of all keys and values, twice.
  int Attend() {
    for (size_t page = 0; page < kPages; ++page) {
      void* keys = tensors_.keys() + page * tensors_.page_size();
      void* values = tensors_.values() + page * tensors_.page_size();
      void* scores = scores_ + page * kTokens;
      int count = kTokens;
      void* arguments[] = {&keys, &values, &scores, &count};
      // Reported:
      CHECK_RUNTIME(cudaLaunchKernel(&Add, {1, 1, 1}, {kTokens, 1, 1}, arguments, 0, stream_));
    }
    std::vector<int> scores(kPages * kTokens);
    CHECK_RUNTIME(cudaMemcpyAsync(scores.data(), scores_, scores.size() * sizeof(int),
                                  cudaMemcpyDeviceToHost, stream_));
    CHECK_RUNTIME(cudaStreamSynchronize(stream_));
    int sum = 0;
    for (const int score : scores) sum += score;
    return sum;
  }

 private:
  PagedTensors tensors_;
  cudaStream_t stream_ = nullptr;
  int* scores_ = nullptr;
};

size_t Free() {
  size_t free = 0;
  size_t total = 0;
  CHECK_RUNTIME(cudaMemGetInfo(&free, &total));
  return free;
}

}  // namespace

int main() {
  void** const module = RegisterVectorKernels();
  CHECK_RUNTIME(cudaSetDevice(0));
  {
    Layer layer;
    const size_t empty = Free();
    std::printf("empty: %d\n", layer.Attend());
    for (const size_t page : {size_t{0}, size_t{1}, size_t{5}}) {
      layer.Write(page, static_cast<int>(page) + 1);
      std::printf("page %zu written: %d, %zu MiB taken\n", page, layer.Attend(),
                  (empty - Free()) >> 20);
    }
    layer.Drop(1);
    std::printf("page 1 dropped: %d, %zu MiB taken\n", layer.Attend(), (empty - Free()) >> 20);
    layer.Write(1, 9);
    std::printf("page 1 written again: %d, %zu MiB taken\n", layer.Attend(),
                (empty - Free()) >> 20);
  }
  std::printf("the last error: %s\n", cudaGetErrorName(cudaGetLastError()));
  __cudaUnregisterFatBinary(module);
  return 0;
}

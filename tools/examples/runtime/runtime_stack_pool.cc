// Temporary memory of matrix products on several devices, as ggml keeps it: each device has a stack
// of blocks in one reserved range, which the driver's functions map as it grows, for the other
// devices, too. Streams, events, copies and kernels are the runtime's.

#include <cstdio>
#include <vector>

#include "sim/libcudart/testing/vector_kernels.h"
#include "tools/examples/runtime/check_runtime.h"

namespace {

constexpr int kDevices = 2;

// Blocks are given back in the opposite order of that in which they were taken.
class StackPool {
 public:
  explicit StackPool(int device) : device_(device), granule_(granularity_of(device)) {
    CHECK(cuMemAddressReserve(&base_, kGranules * granule_, 0, 0, 0));
  }
  ~StackPool() {
    CHECK_RUNTIME(cudaSetDevice(device_));
    CHECK_RUNTIME(cudaDeviceSynchronize());
    EXPECT(used_ == 0, "a block was not given back");
    CHECK(cuMemUnmap(base_, mapped_));
    CHECK(cuMemAddressFree(base_, kGranules * granule_));
  }
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  void* Take(size_t size) {
    if (used_ + size > mapped_) Grow(used_ + size - mapped_);
    void* const block = reinterpret_cast<void*>(base_ + used_);
    used_ += size;
    return block;
  }
  void GiveBack(void* block, size_t size) {
    used_ -= size;
    EXPECT(reinterpret_cast<CUdeviceptr>(block) == base_ + used_, "not the block taken last");
  }
  size_t granules() const { return mapped_ / granule_; }

 private:
  void Grow(size_t least) {
    const size_t size = (least + granule_ - 1) / granule_ * granule_;
    const CUmemAllocationProp properties = memory_of(device_);
    CUmemGenericAllocationHandle handle = 0;
    CHECK(cuMemCreate(&handle, size, &properties, 0));
    CHECK(cuMemMap(base_ + mapped_, size, 0, handle, 0));
    CHECK(cuMemRelease(handle));
    for (int device = 0; device < kDevices; ++device) {
      int can = 1;
      if (device != device_) CHECK_RUNTIME(cudaDeviceCanAccessPeer(&can, device, device_));
      const CUmemAccessDesc grant = grant_to(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
#ifdef PLANTED_BUG
      // Wrong: only what is mapped first is granted to the other devices.
      if (device != device_ && mapped_ != 0) continue;
#endif
      // Reported:
      if (can != 0) CHECK(cuMemSetAccess(base_ + mapped_, size, &grant, 1));
    }
    mapped_ += size;
  }

  static constexpr size_t kGranules = 64;
  const int device_;
  const size_t granule_;
  CUdeviceptr base_ = 0;
  size_t mapped_ = 0;
  size_t used_ = 0;
};

struct Device {
  explicit Device(int device) : ordinal(device), pool(device) {
    CHECK_RUNTIME(cudaSetDevice(device));
    CHECK_RUNTIME(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK_RUNTIME(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  }
  ~Device() {
    CHECK_RUNTIME(cudaSetDevice(ordinal));
    CHECK_RUNTIME(cudaEventDestroy(done));
    CHECK_RUNTIME(cudaStreamDestroy(stream));
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal;
  StackPool pool;
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
};

// to = 2 * (a + b), of `count` numbers.
void AddOn(Device& device, void* a, void* b, void* to, int count) {
  void* arguments[] = {&a, &b, &to, &count};
  const unsigned int blocks = (static_cast<unsigned int>(count) + 255) / 256;
  CHECK_RUNTIME(cudaSetDevice(device.ordinal));
  // Reported:
  CHECK_RUNTIME(cudaLaunchKernel(&Add, {blocks, 1, 1}, {256, 1, 1}, arguments, 0, device.stream));
  CHECK_RUNTIME(cudaEventRecord(device.done, device.stream));
}

// Each device makes its part; the first adds that of the second, where it lies. The block of
// `before` bytes lies below the part.
int Sum(Device& first, Device& second, size_t before, int count) {
  const size_t size = static_cast<size_t>(count) * sizeof(int);
  const std::vector<int> ones(static_cast<size_t>(count), 1);
  void* lower[kDevices];
  void* part[kDevices];
  Device* const devices[kDevices] = {&first, &second};
  for (int i = 0; i < kDevices; ++i) {
    lower[i] = devices[i]->pool.Take(before);
    part[i] = devices[i]->pool.Take(size);
    CHECK_RUNTIME(cudaSetDevice(i));
    CHECK_RUNTIME(
        cudaMemcpyAsync(part[i], ones.data(), size, cudaMemcpyHostToDevice, devices[i]->stream));
    AddOn(*devices[i], part[i], part[i], part[i], count);
  }
  CHECK_RUNTIME(cudaStreamWaitEvent(first.stream, second.done, 0));
  AddOn(first, part[0], part[1], part[0], count);
  int last = 0;
  CHECK_RUNTIME(cudaMemcpyAsync(&last, static_cast<char*>(part[0]) + size - sizeof(int),
                                sizeof(int), cudaMemcpyDeviceToHost, first.stream));
  CHECK_RUNTIME(cudaStreamSynchronize(first.stream));
  for (int i = 0; i < kDevices; ++i) {
    devices[i]->pool.GiveBack(part[i], size);
    devices[i]->pool.GiveBack(lower[i], before);
  }
  return last;
}

}  // namespace

int main() {
  void** const module = RegisterVectorKernels();
  int devices = 0;
  CHECK_RUNTIME(cudaGetDeviceCount(&devices));
  EXPECT(devices >= kDevices, "this needs two devices");
  {
    // The second is made last, so the first is not the current device when it is used.
    Device first(0);
    Device second(1);
    for (const size_t before : {size_t{256}, size_t{4} << 20, size_t{1} << 20}) {
      const int sum = Sum(first, second, before, 4096);
      std::printf("above %zu bytes: %d, with %zu granules mapped\n", before, sum,
                  second.pool.granules());
    }
  }
  std::printf("the last error: %s\n", cudaGetErrorName(cudaGetLastError()));
  __cudaUnregisterFatBinary(module);
  return 0;
}

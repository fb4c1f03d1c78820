// Adds two vectors, each of which lies on two devices in turn under one range of addresses.

#include <cstdio>
#include <vector>

#include "tools/examples/check.h"

namespace {

constexpr char kPtx[] = R"(
.version 7.5
.target sm_70
.address_size 64

.visible .entry add(.param .u64 sum, .param .u64 a, .param .u64 b, .param .u32 count) {
  .reg .b64 %rd<8>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [sum];
  ld.param.u64 %rd2, [a];
  ld.param.u64 %rd3, [b];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.u32 %rd4, %r5, 4;
  add.u64 %rd5, %rd2, %rd4;
  add.u64 %rd6, %rd3, %rd4;
  add.u64 %rd7, %rd1, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
done:
  ret;
}
)";

// Floats in stripes of a granule, on each device in turn.
class StripedVector {
 public:
  StripedVector(const std::vector<CUdevice>& devices, size_t stripes) {
    const size_t stripe = granularity_of(devices[0]);
    size_ = stripes * stripe;
    CHECK(cuMemAddressReserve(&base_, size_, 0, 0, 0));
    for (size_t i = 0; i < stripes; ++i) {
      const CUmemAllocationProp properties = memory_of(devices[i % devices.size()]);
      CUmemGenericAllocationHandle handle;
      CHECK(cuMemCreate(&handle, stripe, &properties, 0));
      CHECK(cuMemMap(base_ + i * stripe, stripe, 0, handle, 0));
      CHECK(cuMemRelease(handle));
    }
    std::vector<CUmemAccessDesc> grants;
    for (const CUdevice device : devices) {
      grants.push_back(grant_to(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    }
    CHECK(cuMemSetAccess(base_, size_, grants.data(), grants.size()));
  }
  ~StripedVector() {
    CHECK(cuMemUnmap(base_, size_));
    CHECK(cuMemAddressFree(base_, size_));
  }
  StripedVector(const StripedVector&) = delete;
  StripedVector& operator=(const StripedVector&) = delete;

  CUdeviceptr base() const { return base_; }
  size_t size() const { return size_; }

 private:
  CUdeviceptr base_ = 0;
  size_t size_ = 0;
};

void Add(const StripedVector& sum, const StripedVector& a, const StripedVector& b) {
  CUmodule module;
  CUfunction add;
  CHECK(cuModuleLoadData(&module, kPtx));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  constexpr unsigned int kThreads = 256;
  unsigned int count = static_cast<unsigned int>(sum.size() / sizeof(float));
#ifdef PLANTED_BUG
  count += kThreads;  // Wrong: a block too many.
#endif
  CUdeviceptr pointers[] = {sum.base(), a.base(), b.base()};
  void* arguments[] = {&pointers[0], &pointers[1], &pointers[2], &count};
  const unsigned int blocks = (count + kThreads - 1) / kThreads;
  // Reported:
  CHECK(cuLaunchKernel(add, blocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(cuCtxSynchronize());
  CHECK(cuModuleUnload(module));
}

}  // namespace

int main() {
  CHECK(cuInit(0));
  int count = 0;
  CHECK(cuDeviceGetCount(&count));
  EXPECT(count >= 2, "this needs two devices");
  const std::vector<CUdevice> devices = {use_device(1), use_device(0)};
  {
    const StripedVector a(devices, 2);
    const StripedVector b(devices, 2);
    const StripedVector sum(devices, 2);
    std::vector<float> numbers(a.size() / sizeof(float));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    CHECK(cuMemcpyHtoD(a.base(), numbers.data(), a.size()));
    CHECK(cuMemcpyHtoD(b.base(), numbers.data(), b.size()));
    Add(sum, a, b);
    std::vector<float> sums(numbers.size());
    CHECK(cuMemcpyDtoH(sums.data(), sum.base(), sum.size()));
    size_t wrong = 0;
    for (size_t i = 0; i < sums.size(); ++i) wrong += sums[i] == 2 * numbers[i] ? 0 : 1;
    std::printf("%zu sums, %zu of them wrong\n", sums.size(), wrong);
  }
  for (const CUdevice device : devices) CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}

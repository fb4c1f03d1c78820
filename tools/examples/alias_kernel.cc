// One memory at two addresses: a kernel stores through the one and loads through the other, again
// and again. Between the two stands fence.proxy.alias, each time: without it the load may give what
// was there before the store, or even what a later store will write.

#include <cstdio>

#include "tools/examples/check.h"

namespace {

constexpr char kPtx[] = R"(
.version 7.5
.target sm_70
.address_size 64

// Counts at `out` how often what is stored at `a` is not what is loaded at `b`.
.visible .entry through_aliases(.param .u64 a, .param .u64 b, .param .u64 out) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<5>;
  .reg .pred %p<3>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [out];
  mov.u32 %r1, 0;
  mov.u32 %r2, 0;
next:
  add.u32 %r1, %r1, 1;
  st.global.u32 [%rd1], %r1;
  fence.proxy.alias;
  ld.global.u32 %r3, [%rd2];
  fence.proxy.alias;
  setp.ne.u32 %p1, %r1, %r3;
  @%p1 add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r1, 1000;
  @%p2 bra next;
  st.global.u32 [%rd3], %r2;
  ret;
}
)";

}  // namespace

int main() {
  CHECK(cuInit(0));
  const CUdevice device = use_device(0);
  const size_t size = granularity_of(device);
  const CUmemAllocationProp properties = memory_of(device);
  const CUmemAccessDesc grant = grant_to(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

  CUmemGenericAllocationHandle handle;
  CUdeviceptr a;
  CHECK(cuMemCreate(&handle, size, &properties, 0));
  CHECK(cuMemAddressReserve(&a, 2 * size, 0, 0, 0));
  CUdeviceptr b = a + size;
  CHECK(cuMemMap(a, size, 0, handle, 0));
#ifndef PLANTED_BUG
  CHECK(cuMemMap(b, size, 0, handle, 0));
  CHECK(cuMemSetAccess(a, 2 * size, &grant, 1));
#else
  // Wrong: the second address is never mapped.
  CHECK(cuMemSetAccess(a, size, &grant, 1));
#endif
  CHECK(cuMemRelease(handle));

  CUmodule module;
  CUfunction through_aliases;
  CHECK(cuModuleLoadData(&module, kPtx));
  CHECK(cuModuleGetFunction(&through_aliases, module, "through_aliases"));
  CUdeviceptr out = a + 64;
  void* arguments[] = {&a, &b, &out};
  // Reported:
  CHECK(cuLaunchKernel(through_aliases, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(cuCtxSynchronize());
  unsigned int word = 0;
  unsigned int stale = 0;
  CHECK(cuMemcpyDtoH(&word, b, sizeof(word)));
  CHECK(cuMemcpyDtoH(&stale, out, sizeof(stale)));
  std::printf("stored last through the one address, read through the other: %u\n", word);
  std::printf("loads that gave something else: %u\n", stale);

  CHECK(cuModuleUnload(module));
  CHECK(cuMemUnmap(a, size));
  CHECK(cuMemUnmap(b, size));
  CHECK(cuMemAddressFree(a, 2 * size));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}

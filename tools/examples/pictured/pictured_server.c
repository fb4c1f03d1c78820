/* A server of a language model, in small. Its cache grows while it serves; asleep, it gives the
 * memory of weights and cache back, and keeps their addresses; requests go through a ring that is
 * mapped twice. The README shows a picture of its run, with the planted bug. */

#define _DEFAULT_SOURCE
#include <unistd.h>

#include "tools/examples/check.h"

enum { kMiB = 1 << 20, kRounds = 3, kLayers = 6, kSteps = 8 };

static CUdevice device;

static void back(CUdeviceptr address, size_t size) {
  const CUmemAllocationProp properties = memory_of(device);
  const CUmemAccessDesc grant = grant_to(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUmemGenericAllocationHandle handle;
  CHECK(cuMemCreate(&handle, size, &properties, 0));
  CHECK(cuMemMap(address, size, 0, handle, 0));
  CHECK(cuMemRelease(handle)); /* The mapping keeps the memory. */
  CHECK(cuMemSetAccess(address, size, &grant, 1));
}

static CUdeviceptr open_ring(size_t size) {
  const CUmemAllocationProp properties = memory_of(device);
  const CUmemAccessDesc grant = grant_to(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUmemGenericAllocationHandle handle;
  CUdeviceptr ring;
  CHECK(cuMemAddressReserve(&ring, 2 * size, 0, 0, 0));
  CHECK(cuMemCreate(&handle, size, &properties, 0));
  CHECK(cuMemMap(ring, size, 0, handle, 0));
  CHECK(cuMemMap(ring + size, size, 0, handle, 0)); /* What ends goes on where it began. */
  CHECK(cuMemRelease(handle));
  CHECK(cuMemSetAccess(ring, 2 * size, &grant, 1));
  return ring;
}

int main(void) {
  const size_t layer = 16 * kMiB;
  const size_t step = 8 * kMiB;
  CUdeviceptr weights, cache, ring, scratch;
  int round, i;
  CHECK(cuInit(0));
  device = use_device(0);
  CHECK(cuMemAddressReserve(&weights, kLayers * layer, 0, 0, 0));
  CHECK(cuMemAddressReserve(&cache, 1024 * (size_t)kMiB, 0, 0, 0));
  ring = open_ring(4 * kMiB);
  for (round = 0; round < kRounds; ++round) {
    for (i = 0; i < kLayers; ++i) {
      back(weights + i * layer, layer);
      CHECK(cuMemsetD8(weights + i * layer, 1, layer));
      usleep(1500);
    }
    /* Reported: */
    CHECK(cuMemAlloc(&scratch, 12 * kMiB));
    for (i = 0; i < kSteps + 4 * round; ++i) {
      back(cache + i * step, step);
      CHECK(cuMemsetD8(ring + 3 * kMiB, (unsigned char)i, 2 * kMiB)); /* Over the seam. */
      CHECK(cuMemcpyDtoD(cache + i * step, ring, step / 2));
      usleep(3000);
    }
    usleep(12000);
    CHECK(cuCtxSynchronize());
    printf("round %d: served with a cache of %d MiB, sleeps\n", round + 1, i * (int)(step / kMiB));
#ifndef PLANTED_BUG /* Wrong: the scratch memory of each round is left. */
    CHECK(cuMemFree(scratch));
#endif
    CHECK(cuMemUnmap(cache, i * step));
    CHECK(cuMemUnmap(weights, kLayers * layer));
    usleep(18000);
  }
  CHECK(cuMemUnmap(ring, 8 * kMiB));
  CHECK(cuMemAddressFree(ring, 8 * kMiB));
  CHECK(cuMemAddressFree(cache, 1024 * (size_t)kMiB));
  CHECK(cuMemAddressFree(weights, kLayers * layer));
  return 0;
}

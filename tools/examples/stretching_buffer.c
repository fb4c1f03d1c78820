/* A buffer that grows and never moves: addresses are reserved for the most that it may hold, and
 * memory is mapped behind what is there already. No data is copied, no pointer changes. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/examples/check.h"

struct buffer {
  CUdevice device;
  size_t granularity;
  CUdeviceptr base;
  size_t reserved;
  size_t size; /* of what is mapped */
};

static void buffer_open(struct buffer* buffer, CUdevice device, size_t most) {
  buffer->device = device;
  buffer->granularity = granularity_of(device);
  buffer->reserved = most;
  buffer->size = 0;
  CHECK(cuMemAddressReserve(&buffer->base, most, 0, 0, 0));
}

/* Returns 0 if the buffer cannot be as large as that. */
static int buffer_grow(struct buffer* buffer, size_t size) {
  const CUmemAllocationProp properties = memory_of(buffer->device);
  const CUmemAccessDesc grant = grant_to(buffer->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  const CUdeviceptr tail = buffer->base + buffer->size;
  size_t more;
  CUmemGenericAllocationHandle handle;
  CUresult created;
  size = (size + buffer->granularity - 1) / buffer->granularity * buffer->granularity;
  if (size <= buffer->size) return 1;
  if (size > buffer->reserved) return 0;
  more = size - buffer->size;
  created = cuMemCreate(&handle, more, &properties, 0);
  if (created == CUDA_ERROR_OUT_OF_MEMORY) return 0;
  CHECK(created);
  /* Reported: */
  CHECK(cuMemMap(tail, more, 0, handle, 0));
  CHECK(cuMemRelease(handle)); /* The mapping keeps the memory. */
#ifdef PLANTED_BUG
  /* Wrong: access belongs to a mapping and not to the buffer. The tail has none. */
  if (buffer->size == 0)
#endif
    CHECK(cuMemSetAccess(tail, more, &grant, 1));
  buffer->size = size;
  return 1;
}

static void buffer_close(struct buffer* buffer) {
  CHECK(cuCtxSynchronize()); /* What still uses the memory must come to its end. */
  if (buffer->size != 0) CHECK(cuMemUnmap(buffer->base, buffer->size)); /* All pieces at once. */
  CHECK(cuMemAddressFree(buffer->base, buffer->reserved));
}

int main(void) {
  enum { kMost = 16 }; /* granules */
  struct buffer buffer;
  unsigned char* expected;
  unsigned char* found;
  size_t granules;
  CUdevice device;
  CHECK(cuInit(0));
  device = use_device(0);
  buffer_open(&buffer, device, kMost * granularity_of(device));
  expected = malloc(buffer.reserved);
  found = malloc(buffer.reserved);
  EXPECT(expected != NULL && found != NULL, "no memory of the host");

  for (granules = 1; granules <= kMost; granules *= 2) {
    const size_t before = buffer.size;
    EXPECT(buffer_grow(&buffer, granules * buffer.granularity), "the buffer does not grow");
    memset(expected + before, (int)granules, buffer.size - before);
    /* Reported: */
    CHECK(cuMemcpyHtoD(buffer.base + before, expected + before, buffer.size - before));
    CHECK(cuMemcpyDtoH(found, buffer.base, buffer.size)); /* Across all seams. */
    EXPECT(memcmp(expected, found, buffer.size) == 0, "the buffer lost data");
    printf("granules: %zu, all data is there\n", buffer.size / buffer.granularity);
  }
  EXPECT(!buffer_grow(&buffer, buffer.reserved + 1), "the buffer is larger than its addresses");
  printf("more than was reserved: refused\n");

  buffer_close(&buffer);
  free(expected);
  free(found);
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}

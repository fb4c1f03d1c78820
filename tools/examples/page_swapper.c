/* A large range of pages of which few are ever written. One page of zeros is mapped for all of
 * them, for reading; a page gets memory of its own when it is written, and gives it back when it is
 * discarded. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/examples/check.h"

enum { kPages = 4096 };

struct space {
  CUdevice device;
  size_t page; /* bytes */
  CUdeviceptr base;
  CUmemGenericAllocationHandle zeros;
  CUmemGenericAllocationHandle own[kPages]; /* 0: the page is one of zeros */
};

static CUdeviceptr address_of(const struct space* space, size_t page) {
  return space->base + page * space->page;
}

static void map_page(struct space* space, size_t page, CUmemGenericAllocationHandle handle) {
  CHECK(cuMemMap(address_of(space, page), space->page, 0, handle, 0));
}

static void unmap_page(struct space* space, size_t page) {
  CHECK(cuCtxSynchronize()); /* What still uses the page must come to its end. */
  /* Reported: */
  CHECK(cuMemUnmap(address_of(space, page), space->page));
}

static void grant(struct space* space, size_t page, size_t pages, CUmemAccess_flags flags) {
  const CUmemAccessDesc desc = grant_to(space->device, flags);
  CHECK(cuMemSetAccess(address_of(space, page), pages * space->page, &desc, 1));
}

/* Maps memory with nothing but zeros at the page, to be written. */
static CUmemGenericAllocationHandle map_fresh(struct space* space, size_t page) {
  const CUmemAllocationProp properties = memory_of(space->device);
  CUmemGenericAllocationHandle handle;
  CHECK(cuMemCreate(&handle, space->page, &properties, 0));
  map_page(space, page, handle);
  grant(space, page, 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CHECK(cuMemsetD8(address_of(space, page), 0, space->page));
  return handle;
}

static void space_open(struct space* space, CUdevice device) {
  size_t page;
  memset(space, 0, sizeof(*space));
  space->device = device;
  space->page = granularity_of(device);
  CHECK(cuMemAddressReserve(&space->base, kPages * space->page, 0, 0, 0));
  space->zeros = map_fresh(space, 0);
  unmap_page(space, 0);
  for (page = 0; page < kPages; ++page) map_page(space, page, space->zeros);
  grant(space, 0, kPages, CU_MEM_ACCESS_FLAGS_PROT_READ); /* Of all mappings in one call. */
}

static void space_write(struct space* space, size_t page, size_t offset, const void* data,
                        size_t size) {
  if (space->own[page] == 0) {
    unmap_page(space, page);
    space->own[page] = map_fresh(space, page);
  }
  CHECK(cuMemcpyHtoD(address_of(space, page) + offset, data, size));
}

static void space_discard(struct space* space, size_t page) {
  if (space->own[page] == 0) return;
  unmap_page(space, page);
  CHECK(cuMemRelease(space->own[page]));
  space->own[page] = 0;
#ifndef PLANTED_BUG
  map_page(space, page, space->zeros);
  grant(space, page, 1, CU_MEM_ACCESS_FLAGS_PROT_READ);
#else
  /* Wrong: the page is one of zeros again, and nothing is mapped there. */
#endif
}

static void space_close(struct space* space) {
  size_t page;
  CHECK(cuCtxSynchronize());
  CHECK(cuMemUnmap(space->base, kPages * space->page));
  for (page = 0; page < kPages; ++page) {
    if (space->own[page] != 0) CHECK(cuMemRelease(space->own[page]));
  }
  CHECK(cuMemRelease(space->zeros));
  CHECK(cuMemAddressFree(space->base, kPages * space->page));
}

/* How many pages read as zero, at their beginning and at their end. */
static size_t count_zeros(const struct space* space) {
  size_t count = 0;
  size_t page;
  for (page = 0; page < kPages; ++page) {
    int first;
    int last;
    /* Reported: */
    CHECK(cuMemcpyDtoH(&first, address_of(space, page), sizeof(first)));
    CHECK(cuMemcpyDtoH(&last, address_of(space, page + 1) - sizeof(last), sizeof(last)));
    count += first == 0 && last == 0;
  }
  return count;
}

static void say(const struct space* space, const char* what, size_t free_before) {
  printf("%s: %zu of %d pages read as zero, %zu in memory\n", what, count_zeros(space), kPages,
         (free_before - free_memory()) / space->page);
}

int main(void) {
  static const size_t kWritten[] = {7, 1000, 1001, 4095};
  struct space* space = malloc(sizeof(*space));
  size_t before;
  size_t i;
  CUdevice device;
  EXPECT(space != NULL, "no memory of the host");
  CHECK(cuInit(0));
  device = use_device(0);
  warm_up(device);
  before = free_memory();

  space_open(space, device);
  say(space, "new", before);
  for (i = 0; i < 4; ++i) {
    const int data = (int)kWritten[i];
    space_write(space, kWritten[i], 0, &data, sizeof(data));
    space_write(space, kWritten[i], space->page - sizeof(data), &data, sizeof(data));
  }
  say(space, "written", before);
  for (i = 0; i < 4; ++i) {
    int data = 0;
    CHECK(cuMemcpyDtoH(&data, address_of(space, kWritten[i]), sizeof(data)));
    EXPECT(data == (int)kWritten[i], "a page holds something else than was written");
  }
  space_discard(space, 1000);
  say(space, "discarded", before);
  space_close(space);
  printf("closed: %zu pages in memory\n", (before - free_memory()) / granularity_of(device));

  free(space);
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}

/* An allocator of expandable segments, in small: it takes the first gap that is large enough, maps
 * what has no memory there, and gives back the pages of what is freed. After a while its addresses
 * are full of gaps: memory is free, and yet the next large piece must go to the end. */

#include "tools/examples/check.h"

enum { kPages = 256, kPieces = 40, kSteps = 220 };

struct piece {
  int first;
  int pages;
};

static CUdevice device;
static CUdeviceptr segment;
static size_t page;
static struct piece pieces[kPieces];
static char used[kPages];
static int end; /* of all that was ever used, in pages */

static unsigned int next_random(void) {
  static unsigned int state = 12345;
  state = state * 1664525u + 1013904223u;
  return state >> 16;
}

static int find_gap(int pages) {
  int first = 0;
  int at;
  for (at = 0; at < kPages; ++at) {
    if (used[at]) first = at + 1;
    if (at + 1 - first == pages) return first;
  }
  return -1;
}

static void map_pages(struct piece piece) {
  const CUmemAllocationProp properties = memory_of(device);
  const CUmemAccessDesc grant = grant_to(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  int i;
  for (i = 0; i < piece.pages; ++i) {
    CUmemGenericAllocationHandle handle;
    CHECK(cuMemCreate(&handle, page, &properties, 0));
    CHECK(cuMemMap(segment + (size_t)(piece.first + i) * page, page, 0, handle, 0));
    CHECK(cuMemRelease(handle)); /* The mapping keeps the memory. */
  }
  CHECK(
      cuMemSetAccess(segment + (size_t)piece.first * page, (size_t)piece.pages * page, &grant, 1));
  memset(used + piece.first, 1, (size_t)piece.pages);
  if (piece.first + piece.pages > end) end = piece.first + piece.pages;
}

static void unmap_pages(struct piece piece) {
  CHECK(cuCtxSynchronize()); /* Unmap does not wait for what is queued. */
  /* Reported: */
  CHECK(cuMemUnmap(segment + (size_t)piece.first * page, (size_t)piece.pages * page));
  memset(used + piece.first, 0, (size_t)piece.pages);
}

static void step(int number) {
  struct piece* const piece = &pieces[next_random() % kPieces];
  if (piece->pages != 0) {
    unmap_pages(*piece);
    piece->pages = 0;
    return;
  }
  /* Requests grow, as batches do: what was freed is too small for what comes. */
  piece->pages = 1 + (int)(next_random() % 4) + number / 40;
  piece->first = find_gap(piece->pages);
  EXPECT(piece->first != -1, "the segment is full");
  map_pages(*piece);
  CHECK(cuMemsetD8(segment + (size_t)piece->first * page, 1, (size_t)piece->pages * page));
}

int main(void) {
  int i;
  int in_use = 0;
  int gaps = 0;
  CHECK(cuInit(0));
  device = use_device(0);
  page = granularity_of(device);
  CHECK(cuMemAddressReserve(&segment, kPages * page, 0, 0, 0));
  for (i = 0; i < kSteps; ++i) step(i);
  CHECK(cuCtxSynchronize());
  for (i = 0; i < end; ++i) {
    in_use += used[i];
    gaps += !used[i] && (i == 0 || used[i - 1]);
  }
  printf("%d of %d pages in use, %d gaps\n", in_use, end, gaps);
  for (i = 0; i < kPieces; ++i) {
    if (pieces[i].pages != 0) unmap_pages(pieces[i]);
  }
#ifdef PLANTED_BUG /* Wrong: the last piece is gone. */
  for (i = kPieces - 1; pieces[i].pages == 0; --i) continue;
  /* Reported: */
  CHECK(cuMemsetD8(segment + (size_t)pieces[i].first * page, 0, page));
#endif
  CHECK(cuMemAddressFree(segment, kPages * page));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}

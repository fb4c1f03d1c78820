// A library to preload: gcc's compilers take what they allocate as huge pages. They map their memory themselves, so
// glibc's setting (GLIBC_TUNABLES=glibc.malloc.hugetlb=1) does not reach it.

#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kLargeEnough = 1 << 20 };

void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  void* const mapped = (void*)syscall(SYS_mmap, address, size, protection, flags, file, offset);
  if (mapped == MAP_FAILED || !(flags & MAP_ANONYMOUS) || size < kLargeEnough) return mapped;

  // A kernel without huge pages is no error of the caller.
  const int code = errno;
  if (strncmp(program_invocation_short_name, "cc1", 3) == 0) madvise(mapped, size, MADV_HUGEPAGE);
  errno = code;
  return mapped;
}

void* mmap64(void* address, size_t size, int protection, int flags, int file, off_t offset)
    __attribute__((alias("mmap")));

#include "sim/testing/failing_new.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace twinmmu {

bool no_memory = false;
size_t live_bytes = 0;

}  // namespace twinmmu

using twinmmu::live_bytes;
using twinmmu::no_memory;

namespace {

void Free(void* memory) {
  live_bytes -= memory == nullptr ? 0 : malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) {
  void* const memory = no_memory ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += malloc_usable_size(memory);
  return memory;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  void* const memory = no_memory ? nullptr : std::malloc(size);
  live_bytes += memory == nullptr ? 0 : malloc_usable_size(memory);
  return memory;
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }

// Functions of a newer glibc, for the runtime of C++ that is linked statically: without them here,
// what is built on a new system would not even start on one with an older glibc. They serve this
// file's program or library only: they are hidden.

#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

#define TWINMMU_HIDDEN extern "C" __attribute__((visibility("hidden")))

// Of glibc 2.36, for std::random_device, which nothing here uses.
TWINMMU_HIDDEN uint32_t arc4random() noexcept {
  uint32_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number)) std::abort();
  return number;
}

// Of glibc 2.35, by which exceptions find the tables of the code that they pass through. Here it
// asks as they did before: slower, which matters to nobody who throws seldom.
#ifdef DLFO_EH_SEGMENT_TYPE

namespace {

struct Search {
  uintptr_t address;
  void* tables;
};

// Whether this object has the address, which ends the search.
int LookIn(dl_phdr_info* object, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  void* tables = nullptr;
  bool has_address = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == DLFO_EH_SEGMENT_TYPE) tables = reinterpret_cast<void*>(begin);
    if (segment.p_type == PT_LOAD && search.address - begin < segment.p_memsz) has_address = true;
  }
  if (has_address) search.tables = tables;
  return has_address;
}

}  // namespace

// Sets of the result what the exceptions read.
TWINMMU_HIDDEN int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search = {reinterpret_cast<uintptr_t>(address), nullptr};
  dl_iterate_phdr(LookIn, &search);
  if (search.tables == nullptr) return -1;
  *result = {};
  result->dlfo_eh_frame = search.tables;
  return 0;
}

#endif

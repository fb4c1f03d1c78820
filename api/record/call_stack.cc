#include "api/record/call_stack.h"

#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "api/record/event_format.h"

namespace twinmmu::record {
namespace {

// Our own frames, and those of libraries between the program and us, are passed over.
constexpr size_t kMaxPassedOver = 64;

// An object that has an address.
struct Search {
  uint64_t address;
  uint64_t base;
  char path[PATH_MAX];
};

// Whether this one has it, which ends the search. The program itself has no name here.
int LookIn(dl_phdr_info* object, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uint64_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || search.address - begin >= segment.p_memsz) continue;
    search.base = object->dlpi_addr;
    const bool named = object->dlpi_name != nullptr && object->dlpi_name[0] != '\0';
    const char* const path = named ? object->dlpi_name : "/proc/self/exe";
    if (realpath(path, search.path) == nullptr) {
      std::strncpy(search.path, path, sizeof(search.path) - 1);
    }
    return 1;
  }
  return 0;
}

}  // namespace

size_t TakeStack(const void* from, uint64_t* addresses, size_t depth) {
  if (depth == 0) return 0;
  addresses[0] = reinterpret_cast<uintptr_t>(from);
  if (depth == 1 && from != nullptr) return 1;
  depth = std::min(depth, kMaxDepth);
  void* frames[kMaxDepth + kMaxPassedOver];
  const int found = backtrace(frames, static_cast<int>(depth + kMaxPassedOver));
  void** const end = frames + std::max(found, 0);
  void** next = from == nullptr ? frames + 1 : std::find(frames, end, from);
  if (next >= end) return from == nullptr ? 0 : 1;
  size_t taken = 0;
  while (next != end && taken < depth) {
    addresses[taken++] = reinterpret_cast<uintptr_t>(*next++);
  }
  return taken;
}

std::string ModuleAndOffset(uint64_t address) {
  Search search{address, 0, {}};
  dl_iterate_phdr(LookIn, &search);
  if (search.path[0] == '\0') return absl::StrCat("\n", absl::Hex(address));
  return absl::StrCat(search.path, "\n", absl::Hex(address - search.base));
}

}  // namespace twinmmu::record

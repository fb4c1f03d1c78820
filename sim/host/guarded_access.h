// Accesses to memory of the host that may not be there, or not be writable: the program's own,
// which it can unmap at any time.

#ifndef TWINMMU_SIM_HOST_GUARDED_ACCESS_H_
#define TWINMMU_SIM_HOST_GUARDED_ACCESS_H_

#include <cstdint>

#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu {

// Each gives the address that it could not access, where it stopped; null: there was none. They
// cost the setting of a jump, and no system call: SIGSEGV and SIGBUS, for which the first of them
// installs a handler, end them. All other signals of that kind go to the handler that was there
// before. Thread-safe.

// As memmove; `by_words`: as CopyByWords.
const void* GuardedCopy(char* to, const char* from, uint64_t size, bool by_words);
// Sets `size` bytes as FillByWords does.
const void* GuardedFill(char* memory, uint64_t size, uint32_t value, uint64_t width, bool by_words);
// Touches every page of a range, and changes nothing.
const void* FindInaccessible(const AddressRange& range, Access access);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_GUARDED_ACCESS_H_

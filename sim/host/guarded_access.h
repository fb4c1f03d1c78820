// Accesses to memory of the host that may not be there, or not be writable: the program's own,
// which it can unmap at any time.

#ifndef TWINMMU_SIM_HOST_GUARDED_ACCESS_H_
#define TWINMMU_SIM_HOST_GUARDED_ACCESS_H_

#include <array>
#include <cstddef>
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

// While it lives, this thread accesses pages without a guard that FindInaccessible has found there,
// and the program may unmap them at any time: then zeros take their place, until this object ends.
// A page that was made read-only ends the process all the same. For one thread.
class PagesThatMayGo {
 public:
  PagesThatMayGo();
  ~PagesThatMayGo();
  PagesThatMayGo(const PagesThatMayGo&) = delete;
  PagesThatMayGo& operator=(const PagesThatMayGo&) = delete;

  // The first address that was accessed when its page had gone; null: there was none.
  const void* gone() const { return gone_; }

  // For FindInaccessible, and the handler: that of this thread, or null.
  static PagesThatMayGo* Current() { return current_; }
  void Add(const AddressRange& found);
  bool Replace(const void* address);

 private:
  [[gnu::tls_model("initial-exec")]] static thread_local PagesThatMayGo* volatile current_;

  std::array<uint64_t, 64> found_{};     // pages, each in its place; of the last ones only
  std::array<uint64_t, 64> replaced_{};  // pages
  size_t count_ = 0;
  const void* gone_ = nullptr;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_GUARDED_ACCESS_H_

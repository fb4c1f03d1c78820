#include "sim/base/visible_mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace twinmmu {

void VisibleMutex::LockLater() {
  if (SpinUntil([&] { return try_lock(); })) return;
  static_assert(sizeof(word_) == sizeof(uint32_t));
  while (word_.exchange(kAwaited) != kFree) {
    syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, kAwaited, nullptr, nullptr, 0);
  }
}

void VisibleMutex::WakeOne() { syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1); }

}  // namespace twinmmu

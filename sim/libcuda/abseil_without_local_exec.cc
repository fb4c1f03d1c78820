// Three parts of Abseil, as it needs them in a shared library.
//
// Debian's static Abseil 20220623 is made for executables. All of it can go into a shared library
// as well but for three files, whose thread-local variables only an executable can have. What these
// define is defined here, so the linker never looks at them: the profiling of absl::Cord, which is
// off here, the number of a thread, which Abseil caches and this does not, and the part of hash
// tables that shuffles their order.

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>

#include "absl/base/config.h"

#if defined(ABSL_LTS_RELEASE_VERSION) && ABSL_LTS_RELEASE_VERSION == 20220623

#include "absl/base/internal/sysinfo.h"
#include "absl/container/internal/raw_hash_set.h"
#include "absl/strings/internal/cordz_functions.h"

namespace absl {
ABSL_NAMESPACE_BEGIN

namespace cord_internal {

ABSL_CONST_INIT thread_local int64_t cordz_next_sample = std::numeric_limits<int64_t>::max();

bool cordz_should_profile_slow() {
  cordz_next_sample = std::numeric_limits<int64_t>::max();
  return false;
}

int32_t get_cordz_mean_interval() { return 0; }
void set_cordz_mean_interval(int32_t) {}
void cordz_set_next_sample_for_testing(int64_t) {}

}  // namespace cord_internal

namespace base_internal {

double NominalCPUFrequency() { return 1.0; }  // as where it is not known
int NumCPUs() { return static_cast<int>(std::thread::hardware_concurrency()); }
pid_t GetTID() { return static_cast<pid_t>(syscall(SYS_gettid)); }
pid_t GetCachedTID() { return GetTID(); }

}  // namespace base_internal

namespace container_internal {

alignas(16) ABSL_CONST_INIT ABSL_DLL const ctrl_t kEmptyGroup[16] = {
    ctrl_t::kSentinel, ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty};

bool ShouldInsertBackwards(size_t, const ctrl_t*) { return false; }

void ConvertDeletedToEmptyAndFullToDeleted(ctrl_t* ctrl, size_t capacity) {
  for (size_t i = 0; i < capacity; ++i) {
    ctrl[i] = static_cast<int8_t>(ctrl[i]) >= 0 ? ctrl_t::kDeleted : ctrl_t::kEmpty;
  }
  // The first ones stand behind the end once more.
  std::memcpy(ctrl + capacity + 1, ctrl, NumClonedBytes());
  ctrl[capacity] = ctrl_t::kSentinel;
}

void HashTableSizeOverflow() { std::abort(); }

template FindInfo find_first_non_full(const ctrl_t*, size_t, size_t);

}  // namespace container_internal

ABSL_NAMESPACE_END
}  // namespace absl

#endif

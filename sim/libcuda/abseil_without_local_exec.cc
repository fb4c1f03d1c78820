// Two parts of Abseil, as a shared library needs them.
//
// Debian's static Abseil is made for executables. Most of it can go into a shared library as well,
// but not what has thread-local variables of the model "local-exec". The linker takes a file from
// an archive only for what is not defined yet. So everything is defined here that two such files
// have, in every Abseil from 2022 to 2026: the sampling of absl::Cord, which is off here, and the
// numbers of processors and threads. A third such file serves the hash tables, which the simulator
// avoids.
//
// The linker sees only names. Abseil's headers are not included, because their types changed.
// Where Abseil is compiled from source none of this is needed, and it does no harm.

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <thread>

#include "absl/base/config.h"

namespace absl {
ABSL_NAMESPACE_BEGIN

namespace cord_internal {

// How many Cords to make until one is sampled. Since 2024 the stride follows it.
extern thread_local int64_t cordz_next_sample[2];
thread_local int64_t cordz_next_sample[2] = {std::numeric_limits<int64_t>::max(), 0};

struct SamplingState;
int64_t cordz_should_profile_slow() { return 0; }                // until 2023
int64_t cordz_should_profile_slow(SamplingState&) { return 0; }  // since 2024

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

ABSL_NAMESPACE_END
}  // namespace absl

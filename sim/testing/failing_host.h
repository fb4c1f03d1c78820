// FailingHost: makes the system calls of the simulator, or operator new, fail in a test.
//
// For a test that is linked with failing_host.cc and `--wrap` for each of the system calls
// (FAILING_HOST_LINKOPTS in BUILD.bazel). The code under test knows nothing of it.

#ifndef TWINMMU_SIM_TESTING_FAILING_HOST_H_
#define TWINMMU_SIM_TESTING_FAILING_HOST_H_

#include <cstdint>

namespace twinmmu::failing_host {

enum class Fails { kSystemCalls, kMemory };

// The next failure is that of the `n`-th (from 0) system call or allocation made inside Scopes.
// `for_good`: and of all further ones in that Scope. After that Scope nothing fails any more.
void FailAt(Fails what, uint64_t n, bool for_good);

// Where failures may happen, to the thread that made it. One at a time.
class Scope {
 public:
  Scope();
  ~Scope();
  // Whether something has failed in it.
  bool failed() const;
};

// How many more will work before the one that fails.
uint64_t Countdown();

// What is held at present: bytes of host memory mapped through mmap, and objects made by new.
int64_t MappedBytes();
int64_t LiveObjects();

}  // namespace twinmmu::failing_host

#endif  // TWINMMU_SIM_TESTING_FAILING_HOST_H_

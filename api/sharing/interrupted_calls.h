// InterruptedCalls: makes the n-th system call of a transfer fail, or kills the process there.
//
// For a test linked with interrupted_calls.cc and `--wrap` for each of the calls
// (INTERRUPTED_CALLS_LINKOPTS in BUILD.bazel). A message is sent in small pieces, so some calls
// fall in the middle of it.

#ifndef TWINMMU_API_SHARING_INTERRUPTED_CALLS_H_
#define TWINMMU_API_SHARING_INTERRUPTED_CALLS_H_

#include <string>

namespace twinmmu::interrupted_calls {

// The number of bytes that one call sends or receives.
inline constexpr unsigned kPiece = 30;

// From now on, the n-th call (from 0) of this process fails with `error`; if that is kKilled, the
// process is killed instead. One thread only.
inline constexpr int kKilled = -1;
void InterruptAt(int n, int error);

// Stops interrupting. Returns the name of the call that failed; empty: none did.
std::string EndInterruptions();

}  // namespace twinmmu::interrupted_calls

#endif  // TWINMMU_API_SHARING_INTERRUPTED_CALLS_H_

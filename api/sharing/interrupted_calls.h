// InterruptedCalls: makes the n-th system call of a transfer fail, or kills the process there.
//
// For a test that is linked with interrupted_calls.cc and `--wrap` for each of the calls
// (INTERRUPTED_CALLS_LINKOPTS in BUILD.bazel). A message goes in small pieces, so that there are
// calls in the middle of it.

#ifndef TWINMMU_API_SHARING_INTERRUPTED_CALLS_H_
#define TWINMMU_API_SHARING_INTERRUPTED_CALLS_H_

#include <string>

namespace twinmmu::interrupted_calls {

// How many bytes one call sends or receives.
inline constexpr unsigned kPiece = 30;

// The n-th call (from 0) of this process from now on fails with `error`; or, where that is kKilled,
// the process is killed in its place. One thread.
inline constexpr int kKilled = -1;
void InterruptAt(int n, int error);

// Nothing happens any more. Gives the name of the call that failed; empty: none did.
std::string EndInterruptions();

}  // namespace twinmmu::interrupted_calls

#endif  // TWINMMU_API_SHARING_INTERRUPTED_CALLS_H_

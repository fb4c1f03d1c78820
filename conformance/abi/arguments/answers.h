// What the driver answers where arguments are left out, in each choice of them: a null pointer, no
// handle, the number 0.

#ifndef TWINMMU_CONFORMANCE_ABI_ARGUMENTS_ANSWERS_H_
#define TWINMMU_CONFORMANCE_ABI_ARGUMENTS_ANSWERS_H_

#include <string>
#include <vector>

namespace twinmmu::abi {

// Of the thread that calls, or of the process.
enum class CallState {
  kNoContext,
  kUsual,            // the primary context is current, and everything was made in it
  kDestroyed,        // a destroyed context is current
  kBlockingCapture,  // a stream is captured that waits for the legacy stream
  kCapture,          // one that does not
  kRelaxedCapture,   // the same, in the mode in which nothing is unsafe
  kOtherContext,     // another context is current
  kFault,            // a kernel has trapped
  kGreenContext,     // a green context is current
};
inline constexpr CallState kCallStates[] = {
    CallState::kNoContext,       CallState::kUsual,   CallState::kDestroyed,
    CallState::kBlockingCapture, CallState::kCapture, CallState::kRelaxedCapture,
    CallState::kOtherContext,    CallState::kFault,   CallState::kGreenContext};

// The word by which lines begin.
std::string NameOf(CallState state);

// One line for each call: "fault cuMemAlloc_v2(10): LAUNCH_FAILED", with a 1 for each argument that
// is there; of a capture, what became of it, too. Calls are made in processes of their own, and one
// that ends its process has no line. The caller's process must not have called the driver.
// Empty: the driver does not make what the calls need.
std::vector<std::string> AnswersIn(CallState state);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_ARGUMENTS_ANSWERS_H_

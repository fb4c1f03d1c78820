// What the driver answers where arguments are left out, in each choice of them: a null pointer, no
// handle, the number 0.

#ifndef TWINMMU_CONFORMANCE_ABI_ARGUMENTS_ANSWERS_H_
#define TWINMMU_CONFORMANCE_ABI_ARGUMENTS_ANSWERS_H_

#include <string>
#include <vector>

namespace twinmmu::abi {

// Of the thread that calls, of the process, or of what is given.
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

  // As kUsual; of calls that take a stream.
  kCapturedStream,  // it is the one that is captured
  kLegacyStream,
  kThreadStream,

  // As kUsual; of calls that take a node, which is empty in all others.
  kKernelNode,
  kCopyNode,
  kFillNode,
  kHostNode,
  kChildGraphNode,
  kWaitNode,
  kRecordNode,
  kAllocationNode,
  kFreeNode,
  kBatchNode,
  kConditionalNode,
};
inline constexpr CallState kLastState = CallState::kConditionalNode;

// Each of them, in order.
std::vector<CallState> AllCallStates();

// The word by which lines begin.
std::string NameOf(CallState state);

// One line for each call: "fault cuMemAlloc_v2(10): LAUNCH_FAILED", with a 1 for each argument that
// is there; of a capture, what became of it, too. Calls are made in processes of their own, and one
// that ends its process has no line. The caller's process must not have called the driver.
// Empty: the driver does not make what the calls need.
std::vector<std::string> AnswersIn(CallState state);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_ARGUMENTS_ANSWERS_H_

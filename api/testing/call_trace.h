// CallTrace: the calls that a TracingVmm, TracingMulticast or TracingSparseArrays has forwarded.
//
// It prints one line per call:
//
//   cuMemCreate(2 MiB, pinned on device 0) = 0x55d0c0ffee00
//   cuMemMap([0x7f0000200000, +2 MiB], 0x55d0c0ffee00, offset 0 B) = OK
//   cuMemUnmap([0x7f0000200000, +4 MiB]) = CUDA_ERROR_INVALID_VALUE

#ifndef TWINMMU_API_TESTING_CALL_TRACE_H_
#define TWINMMU_API_TESTING_CALL_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "api/driver_call.h"

namespace twinmmu {

struct TracedCall {
  DriverCall call;
  std::string arguments;  // "[0x7f0000200000, +2 MiB], 0x55d0c0ffee00, offset 0 B"
  absl::Status status;
  std::string value;  // the result, if the call succeeded and has one

  // The line of the call, without a newline.
  friend std::ostream& operator<<(std::ostream& out, const TracedCall& call);
};

// Thread-safe.
class CallTrace {
 public:
  // Remembers the last `calls_kept` calls, about 200 bytes each; counts all.
  explicit CallTrace(size_t calls_kept = std::numeric_limits<size_t>::max())
      : calls_kept_(calls_kept) {}

  // The number of calls since the start or the last Clear, of one kind or of all, including failed
  // ones.
  uint64_t count(DriverCall call) const;
  uint64_t count() const;
  // The remembered calls, oldest first.
  std::vector<TracedCall> calls() const;
  // Only the kinds of the calls, to compare with a list.
  std::vector<DriverCall> kinds() const;
  void Clear();

  // All lines. If calls were forgotten, the first line says how many.
  friend std::ostream& operator<<(std::ostream& out, const CallTrace& trace);

 protected:
  ~CallTrace() = default;

  // Makes a call and remembers it. For wrappers; defined in trace_text.h.
  template <typename F>
  auto Trace(DriverCall kind, std::string arguments, const F& call) -> decltype(call());

 private:
  void Remember(TracedCall call);

  const size_t calls_kept_;
  mutable std::mutex mutex_;
  std::deque<TracedCall> calls_;
  std::map<DriverCall, uint64_t> counts_;
  uint64_t count_ = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_CALL_TRACE_H_

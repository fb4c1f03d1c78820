#include "api/testing/call_trace.h"

#include <optional>
#include <utility>

#include "api/driver_error.h"

namespace twinmmu {

void CallTrace::Remember(TracedCall call) {
  const std::lock_guard lock(mutex_);
  ++count_;
  ++counts_[call.call];
  calls_.push_back(std::move(call));
  if (calls_.size() > calls_kept_) calls_.pop_front();
}

uint64_t CallTrace::count(DriverCall call) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(call);
  return found != counts_.end() ? found->second : 0;
}

uint64_t CallTrace::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::vector<TracedCall> CallTrace::calls() const {
  const std::lock_guard lock(mutex_);
  return {calls_.begin(), calls_.end()};
}

std::vector<DriverCall> CallTrace::kinds() const {
  const std::lock_guard lock(mutex_);
  std::vector<DriverCall> kinds;
  for (const TracedCall& traced : calls_) kinds.push_back(traced.call);
  return kinds;
}

void CallTrace::Clear() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
  counts_.clear();
  count_ = 0;
}

std::ostream& operator<<(std::ostream& out, const TracedCall& call) {
  out << call.call << "(" << call.arguments << ") = ";
  if (call.status.ok()) return out << (call.value.empty() ? "OK" : call.value);
  const std::optional<DriverError> error = GetDriverError(call.status);
  return error.has_value() ? out << error->code : out << call.status.ToString();
}

std::ostream& operator<<(std::ostream& out, const CallTrace& trace) {
  const std::lock_guard lock(trace.mutex_);
  const uint64_t forgotten = trace.count_ - trace.calls_.size();
  if (forgotten != 0) out << "(" << forgotten << " calls before these are forgotten)\n";
  for (const TracedCall& call : trace.calls_) out << call << "\n";
  return out;
}

}  // namespace twinmmu

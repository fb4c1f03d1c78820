// CallHistory: the last calls that changed something or were refused.

#ifndef TWINMMU_API_TESTING_CHECKED_HISTORY_H_
#define TWINMMU_API_TESTING_CHECKED_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "api/address.h"
#include "api/allocation.h"
#include "api/driver_call.h"

namespace twinmmu::checked {

const char* NameOf(DriverCall call);  // the driver's: "cuMemMap"

// What became of a call.
struct PastCall {
  DriverCall name = DriverCall::kMap;
  uint64_t id = 0;
  bool refused = false;
  AddressRange range;
  AllocationHandle handle;
  Bytes size;                       // of Create
  bool found = false;               // of Unmap: something to unmap
  std::vector<AccessGrant> grants;  // of SetAccess, one for each location
};

// "cuMemMap mapped handle 0x100000001 at [0x7f0000200000, +2 MiB]".
std::string SentenceOf(const PastCall& call);

// Gives calls ids from 1 in the order in which they are written, and keeps the last ones. Not
// thread-safe.
class CallHistory {
 public:
  explicit CallHistory(size_t capacity) : capacity_(capacity) {}

  // The id of the call that is written next.
  uint64_t next() const { return next_; }
  void Write(PastCall call) {
    call.id = next_++;
    if (capacity_ == 0) return;
    if (calls_.size() == capacity_) calls_.pop_front();
    calls_.push_back(std::move(call));
  }

  // Visits the calls from the newest to the oldest, until visit(call) is false.
  template <typename Visit>
  void ForEachBackwards(const Visit& visit) const {
    for (auto call = calls_.rbegin(); call != calls_.rend() && visit(*call);) ++call;
  }

 private:
  const size_t capacity_;
  uint64_t next_ = 1;
  std::deque<PastCall> calls_;
};

}  // namespace twinmmu::checked

#endif  // TWINMMU_API_TESTING_CHECKED_HISTORY_H_

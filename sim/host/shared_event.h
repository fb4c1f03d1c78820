// SharedEvent: how far the work is that an event stands for, as several processes see it.

#ifndef TWINMMU_SIM_HOST_SHARED_EVENT_H_
#define TWINMMU_SIM_HOST_SHARED_EVENT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "api/sharing/owned_descriptor.h"
#include "sim/host/backing.h"
#include "sim/host/foreign_file.h"

namespace twinmmu {

// Names an event for other processes of this host.
using SharedEventName = FileName;

// Two words in a memory file: the number of the last record, and of the last one whose work is
// done. They outlive the process that made them, for those who have opened it. Thread-safe.
class SharedEvent {
 public:
  // Nothing was recorded. ResourceExhausted: the host refused.
  static absl::StatusOr<std::shared_ptr<SharedEvent>> Make();
  // FailedPrecondition: it is of this process. NotFound: it is gone, or the host does not allow it.
  // InvalidArgument: it names nothing. ResourceExhausted: the host refused.
  static absl::StatusOr<std::shared_ptr<SharedEvent>> Open(const SharedEventName& name);

  bool IsMadeHere() const { return descriptor_.is_open(); }
  // Of one that was made here: good as long as this process has it.
  const SharedEventName& name() const { return name_; }

  // A record; what it stands for is over later. From now on others wait for that.
  uint64_t Record();
  void End(uint64_t record);
  uint64_t last() const { return words().recorded.load(std::memory_order_acquire); }
  // Whether the last record is of this process and this object.
  bool IsOwn() const { return own_.load(std::memory_order_acquire) == last(); }
  bool IsOver(uint64_t record) const {
    return words().over.load(std::memory_order_acquire) >= record;
  }

 private:
  struct Words {
    std::atomic<uint64_t> recorded;
    std::atomic<uint64_t> over;
  };
  SharedEvent(Backing backing, OwnedDescriptor descriptor, const SharedEventName& name)
      : backing_(std::move(backing)), descriptor_(std::move(descriptor)), name_(name) {}
  Words& words() const { return *reinterpret_cast<Words*>(backing_.data()); }

  const Backing backing_;
  const OwnedDescriptor descriptor_;  // by which others find it
  const SharedEventName name_;
  std::atomic<uint64_t> own_{0};
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_SHARED_EVENT_H_

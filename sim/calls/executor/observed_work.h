// ToldWork: a copy or a fill as the monitor of aliases is told of it, as one thread of its own.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_OBSERVED_WORK_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_OBSERVED_WORK_H_

#include <cstdint>

#include "api/address.h"
#include "api/allocation.h"
#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/machine/machine_state.h"

namespace twinmmu {

// Told are accesses of memory that has several addresses, and what writes a few bytes, since that
// may be the flag that a kernel polls. All with mmu.mutex held, if only shared.
class ToldWork {
 public:
  // A part that is contiguous in the host's memory. Address 0: no memory of devices.
  struct Part {
    char* memory = nullptr;
    DeviceAddress address;

    Part Behind(uint64_t size) const {
      const bool of_devices = address != DeviceAddress(0);
      return Part{memory + size, of_devices ? address + Bytes(size) : address};
    }
  };

  // `past`: of the operation, which gets what this does; null: nothing is told. `call`: the number
  // of the call that asked for it.
  ToldWork(MachineState* machine, DeviceOrdinal device, coherence::Site site, uint64_t call,
           coherence::Past* past)
      : machine_(*machine), device_(device), site_(site), call_(call), past_(past) {}
  ~ToldWork() {
    if (started_) machine_.aliases.End(thread_, 1, past_);
  }
  ToldWork(const ToldWork&) = delete;
  ToldWork& operator=(const ToldWork&) = delete;

  // Calls move(), which writes `size` bytes to `to`: copies of those in `from`, or, if that is
  // nothing, others.
  template <typename Move>
  void Write(const Part& to, const Part& from, uint64_t size, const Move& move) {
    if (past_ == nullptr || !machine_.aliases.active()) return move();
    const coherence::MonitoredAccess written = Of(to);
    const coherence::MonitoredAccess read = Of(from);
    const bool tells_write =
        written.armed || (written.address != 0 && size <= coherence::kMaxFlagBytes);
    if (!tells_write && !read.armed) return move();
    Tell(written, tells_write, read, size, move);
  }

 private:
  static constexpr int kNoMultiprocessor = -1;

  template <typename Move>
  void Tell(coherence::MonitoredAccess written, bool tells_write, coherence::MonitoredAccess read,
            uint64_t size, const Move& move) {
    if (!started_) thread_ = machine_.aliases.Start(1, device_.value(), kNoMultiprocessor, *past_);
    started_ = true;
    written.thread = thread_;
    read.thread = thread_;
    coherence::AliasMonitor::Session session(&machine_.aliases);
    if (tells_write) session.BeforeRangeStore(written, size);
    move();
    if (read.armed) session.AfterRangeLoad(read, size, written.memory);
    if (tells_write) session.AfterRangeStore(written, size);
  }
  coherence::MonitoredAccess Of(const Part& part) const {
    coherence::MonitoredAccess access;
    access.memory = part.memory;
    access.site = site_;
    access.call = call_;
    if (part.address == DeviceAddress(0)) return access;
    const MappingRecord* const mapping = mmu_.MappingAt(part.address);
    const PlainAllocation* const plain =
        mapping == nullptr ? mmu_.plain.Find(part.address) : nullptr;
    access.armed = mapping != nullptr && mmu_.AllocationOf(*mapping).pages->IsArmed();
    if (mapping != nullptr) access.address = mapping->number;
    if (plain != nullptr) access.address = static_cast<uint32_t>(plain->buffer_id);
    return access;
  }

  MachineState& machine_;
  Mmu& mmu_ = machine_.mmu;
  const DeviceOrdinal device_;
  const coherence::Site site_;
  const uint64_t call_;
  coherence::Past* const past_;
  bool started_ = false;
  coherence::ThreadId thread_ = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_OBSERVED_WORK_H_

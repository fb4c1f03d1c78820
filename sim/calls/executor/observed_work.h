// ObservedWork: a copy, a fill or a use of a word as the alias monitor observes it, as one thread
// of its own.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_OBSERVED_WORK_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_OBSERVED_WORK_H_

#include <cstdint>

#include "api/address.h"
#include "api/allocation.h"
#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

// Observed are accesses of memory that has several addresses, and what writes a few bytes, since
// that may be the flag that a kernel polls. All with mmu.mutex held, if only shared.
class ObservedWork {
 public:
  // A part that is contiguous in the host's memory. Address 0: no memory of devices.
  struct Part {
    char* memory = nullptr;
    DeviceAddress address;
    const PhysicalPages* replica = nullptr;  // where the address is of a multicast object

    Part Behind(uint64_t size) const {
      const bool of_devices = address != DeviceAddress(0);
      return Part{memory + size, of_devices ? address + Bytes(size) : address, replica};
    }
  };

  // `clocks`: of the operation, which gets what this does; null: nothing is observed. `call`: the
  // id of the call that asked for it.
  ObservedWork(SimulatorState* state, DeviceOrdinal device, coherence::Site site, uint64_t call,
               coherence::Clocks* clocks)
      : state_(*state), device_(device), site_(site), call_(call), clocks_(clocks) {}
  ~ObservedWork() {
    if (started_) state_.aliases.End(thread_, 1, clocks_);
  }
  ObservedWork(const ObservedWork&) = delete;
  ObservedWork& operator=(const ObservedWork&) = delete;

  // Calls move(), which writes `size` bytes to `to`: copies of those in `from`, or, if that is
  // nothing, others. Of one that gives false, for it could not, nothing more is observed.
  template <typename Move>
  void Write(const Part& to, const Part& from, uint64_t size, const Move& move) {
    if (clocks_ == nullptr || !state_.aliases.active()) return static_cast<void>(move());
    coherence::MonitoredAccess written = Of(to);
    coherence::MonitoredAccess read = Of(from);
    // A kernel may poll it; and the program what a kernel writes.
    if (mmu_.watched() && size <= coherence::kMaxFlagBytes) {
      written.strength = {coherence::Semantics::kRelease, coherence::Scope::kSys};
    }
    if (mmu_.watched() && size <= kMaxPolledBytes) {
      read.strength = {coherence::Semantics::kAcquire, coherence::Scope::kSys};
    }
    const bool observes_write =
        written.armed || (written.address != 0 && size <= coherence::kMaxFlagBytes);
    if (!observes_write && !read.armed) return static_cast<void>(move());
    Observe(written, observes_write, read, size, move);
  }

  // Calls store(), which writes a word of `size` bytes that others may wait for. Who sees it sees
  // what came before, if it `releases` that.
  template <typename Store>
  void WriteFlag(const Part& word, uint32_t size, bool releases, const Store& store) {
    if (clocks_ == nullptr || !state_.aliases.active()) return store();
    const auto semantics =
        releases ? coherence::Semantics::kRelease : coherence::Semantics::kRelaxed;
    const coherence::MonitoredAccess written = Flag(word, size, semantics);
    coherence::AliasMonitor::Session session(&state_.aliases);
    session.BeforeStore(written);
    store();
    session.AfterStore(written);
  }
  // A word was read: from now on this sees what came before it was written.
  void ReadFlag(const Part& word, uint32_t size) {
    if (clocks_ == nullptr || !state_.aliases.active()) return;
    const coherence::MonitoredAccess read = Flag(word, size, coherence::Semantics::kAcquire);
    char older[coherence::kMaxFlagBytes];
    coherence::AliasMonitor::Session(&state_.aliases).Load(read, older);
  }

 private:
  // What a copy reads of no more than that may be what a kernel tells a program that polls.
  static constexpr uint64_t kMaxPolledBytes = 64;

  template <typename Move>
  void Observe(coherence::MonitoredAccess written, bool observes_write,
               coherence::MonitoredAccess read, uint64_t size, const Move& move) {
    Start();
    written.thread = thread_;
    read.thread = thread_;
    coherence::AliasMonitor::Session session(&state_.aliases);
    if (observes_write) session.BeforeRangeStore(written, size);
    if (!move()) return;
    if (read.armed) session.AfterRangeLoad(read, size, written.memory);
    if (observes_write) session.AfterRangeStore(written, size);
  }
  void Start() {
    if (started_) return;
    coherence::Origin origin;
    origin.call = call_;
    thread_ =
        state_.aliases.Start(1, device_.value(), coherence::kNoMultiprocessor, *clocks_, 0, origin);
    started_ = true;
  }
  coherence::MonitoredAccess Flag(const Part& word, uint32_t size, coherence::Semantics semantics) {
    Start();
    coherence::MonitoredAccess access = Of(word);
    access.size = size;
    access.thread = thread_;
    access.strength = {semantics, coherence::Scope::kSys};
    return access;
  }
  coherence::MonitoredAccess Of(const Part& part) const {
    coherence::MonitoredAccess access;
    access.memory = part.memory;
    access.of_copy = true;
    access.site = site_;
    access.call = call_;
    if (part.address == DeviceAddress(0)) return access;
    const MappingRecord* const mapping = mmu_.MappingAt(part.address);
    const LinearAllocation* const linear =
        mapping == nullptr ? mmu_.linear.Find(part.address) : nullptr;
    const PhysicalPages* pages = part.replica;
    if (pages == nullptr && mapping != nullptr) pages = mmu_.AllocationOf(*mapping).pages.get();
    access.armed = mmu_.watched() || (pages != nullptr && pages->IsArmed());
    if (mapping != nullptr) access.address = mapping->id;
    if (linear != nullptr) access.address = static_cast<uint32_t>(linear->buffer_id);
    // As kernels know it.
    const PooledPiece* const piece =
        linear != nullptr && linear->of_pool() ? mmu_.pooled.Find(part.address) : nullptr;
    if (piece != nullptr) access.address = static_cast<uint32_t>(piece->buffer_id);
    return access;
  }

  SimulatorState& state_;
  Mmu& mmu_ = state_.mmu;
  const DeviceOrdinal device_;
  const coherence::Site site_;
  const uint64_t call_;
  coherence::Clocks* const clocks_;
  bool started_ = false;
  coherence::ThreadId thread_ = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_OBSERVED_WORK_H_

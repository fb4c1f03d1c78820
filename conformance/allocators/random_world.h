// RandomWorld: what a random program has besides the objects under test: decisions, streams,
// events, patterns, calls that fail, and the log of its last steps.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_RANDOM_WORLD_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_RANDOM_WORLD_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/allocators/last_use.h"
#include "api/executor.h"
#include "api/testing/fault_injecting.h"
#include "api/testing/fault_plan.h"
#include "api/vmm.h"
#include "conformance/allocators/random_program.h"

namespace twinmmu::conformance {

class RandomWorld {
 public:
  static constexpr int kStreams = 4;  // the first is the default stream
  static constexpr int kNoStream = -1;
  using Mark = std::vector<Event>;

  RandomWorld(Vmm& vmm, Executor& executor, const RandomProgram& program);
  // Makes the streams, and everything that a driver makes when it is first used.
  absl::Status Open();
  // Destroys streams and events.
  absl::Status Close();

  // What the objects under test work through.
  Vmm* failing_vmm() { return &failing_vmm_; }
  Executor* failing_executor() { return &failing_executor_; }
  // What looks at them.
  Vmm& vmm() { return vmm_; }
  Executor& executor() { return executor_; }
  static DeviceOrdinal device() { return DeviceOrdinal(0); }
  // A device that can reach memory of device().
  std::optional<DeviceOrdinal> peer() const { return peer_; }

  // --- Decisions
  uint64_t Below(uint64_t end) { return random_() % end; }
  bool Chance(double probability) { return Below(1 << 20) < probability * (1 << 20); }

  uint64_t NextNumber() { return ++last_number_; }

  // --- The outcome
  void Log(std::string step);
  void AddToLog(absl::string_view what) { log_.back().append(what.data(), what.size()); }
  // The model and the program differ. The first time counts.
  void Differ(const std::string& what);
  // A call of the implementation itself, which must succeed.
  bool Must(const absl::Status& status, absl::string_view call);
  bool differs() const { return !difference_.empty(); }
  // The difference, with the last steps before it.
  const std::string& difference() const { return difference_; }

  // --- Failures: from Arm to Disarm, one call of the driver may fail.
  struct Fired {
    bool any = false;
    uint64_t vmm_calls = 0;  // made meanwhile
  };
  void Arm();
  Fired Disarm();
  uint64_t driver_calls() const { return driver_calls_; }
  // From now on there is only so much memory beyond what is held; until EndScarcity.
  void MakeScarce(Bytes held, Bytes left);
  void EndScarcity();
  std::optional<Bytes> left() const { return left_; }

  // --- Work
  Stream stream(int number) const { return streams_[number]; }
  // Writes a new pattern to the ends of `page`, behind what `writer` was given, by a stream that is
  // `writer` then. Returns the pattern.
  uint32_t Write(const AddressRange& page, int& writer);
  // Waits for `writer`, and compares the ends of `page` as `by` reads them.
  void Verify(const AddressRange& page, uint32_t pattern, int& writer, DeviceOrdinal by);
  void Synchronize(int& writer);
  // Waits for everything. Whoever remembers how often this was done knows what is over.
  void SynchronizeAll();
  uint64_t synchronized() const { return synchronized_; }

  // What the streams have been given by now, as events of this object.
  Mark MarkOf(const std::vector<int>& streams);
  bool IsOver(const Mark& mark);
  void Drop(Mark& mark);
  // The same for a call under test: some as streams, some as events, which go into `events`: drop
  // them after the call, and they are recorded anew.
  std::vector<LastUse> LastUsesOf(const std::vector<int>& streams, Mark& events);

 private:
  Event TakeEvent();
  Event RecordedEvent(int stream);

  Vmm& vmm_;
  Executor& executor_;
  const RandomProgram program_;
  std::mt19937_64 random_;
  FaultPlan vmm_faults_;
  FaultPlan executor_faults_;
  FaultInjectingVmm failing_vmm_;
  FaultInjectingExecutor failing_executor_;
  std::optional<DeviceOrdinal> peer_;
  std::array<Stream, kStreams> streams_;
  std::vector<Event> events_;  // spare ones
  std::deque<std::string> log_;
  std::string difference_;
  std::optional<Bytes> left_;
  uint64_t driver_calls_ = 0;
  uint64_t synchronized_ = 0;
  uint32_t last_pattern_ = 0;
  uint64_t last_number_ = 0;  // of a subject
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_RANDOM_WORLD_H_

// LitmusRun: a litmus test in the middle of a run: what its threads have done, with Ordering,
// OperationalModel and HazardChecker observing each step.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_LITMUS_RUN_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_LITMUS_RUN_H_

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "sim/coherence/litmus/enumerate.h"
#include "sim/coherence/litmus/litmus.h"
#include "sim/coherence/model/hazard_checker.h"
#include "sim/coherence/model/operational_model.h"
#include "sim/coherence/model/ordering.h"

namespace twinmmu::coherence {

// Makes the choices of a step.
class Chooser {
 public:
  struct Read {
    const Instruction* instruction;
    Place place;
    LocationId location;
    AddressId address;
    bool newest_is_strong;  // OperationalModel::AreStrong of the newest write and this read
  };
  virtual ~Chooser() = default;
  // One of `candidates`, oldest first.
  virtual int ChooseRead(const Read& read, const std::vector<int>& candidates) = 0;
  // Which of the writes in `open` come after a new one.
  virtual uint64_t ChooseAfter(uint64_t open) = 0;
  // A thread starts, writes, has done an instruction.
  virtual void Started(const Place& place) = 0;
  virtual void Stored(const Place& place, LocationId location, AddressId address) = 0;
  virtual void Done(const Place& place, const Instruction& instruction) = 0;
};

// Copyable. The test must outlive it.
class LitmusRun {
 public:
  LitmusRun(const LitmusTest& test, const Modes& modes);

  // Whether the thread has a step to make now.
  bool CanStep(int thread) const;
  // Makes it. False: with these choices there is no such step (a value that a loop waits for is not
  // there), and this object is of no use any more.
  bool Step(int thread, Chooser* chooser);
  bool IsDone() const;

  // Once done: more than one where nothing orders the last writes of a location.
  std::vector<Outcome> Outcomes() const;
  const std::set<Hazard>& hazards() const { return hazards_; }
  // The same for runs that go on alike.
  std::vector<uint64_t> Key();

 private:
  enum class Phase : uint8_t { kWaiting, kRunning, kEnded };
  struct ThreadState {
    Phase phase = Phase::kWaiting;
    bool triggered = false;
    bool arrived = false;  // at the barrier that is next
    size_t next = 0;
    std::vector<uint64_t> registers;
    std::map<int, int> turns;  // how often it came to each barrier
    Clocks clocks;             // once it ended
  };
  using BarrierKey = std::tuple<int, int, int, int>;  // MeetingOf
  struct Arrival {
    int thread;
    const Instruction* instruction;
    Gathering gathering;
  };
  struct Meeting {
    int arrived = 0;
    Gathering gathering;            // of a CTA
    std::vector<Arrival> arrivals;  // of others, whose scope may be too narrow
  };

  void Begin(int thread, Chooser* chooser);
  bool Access(int thread, const Instruction& instruction, Chooser* chooser);
  bool AccessOne(int thread, const Instruction& instruction, LocationId location, Chooser* chooser,
                 uint64_t* old);
  void Check(const Instruction& instruction, LocationId location, const AccessEvent& event,
             bool writes);
  uint64_t Operand(int thread, const Value& value) const;
  BarrierKey KeyOf(int thread, const Instruction& instruction) const;
  int Participants(const BarrierKey& key, const Instruction& barrier) const;
  bool IsComplete(const BarrierKey& key, const Instruction& barrier) const;
  void Arrive(int thread, const Instruction& instruction, Meeting* meeting);
  void Leave(int thread, const Instruction& instruction, Meeting* meeting);
  bool StepBarrier(int thread, const Instruction& instruction);
  void Advance(int thread);

  const LitmusTest* test_;
  const Program* program_;
  Ordering ordering_;
  OperationalModel view_;
  HazardChecker checker_;
  std::vector<ThreadState> threads_;
  std::map<BarrierKey, Meeting> meetings_;
  std::set<Hazard> hazards_;
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_LITMUS_RUN_H_

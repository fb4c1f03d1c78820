// ObservedStep: the accesses of one step, as the alias monitor observes them.

#ifndef TWINMMU_SIM_PTX_RUN_OBSERVED_STEP_H_
#define TWINMMU_SIM_PTX_RUN_OBSERVED_STEP_H_

#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/ptx/operations/operation.h"
#include "sim/ptx/program/code.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {

// What the monitor is told of an access by all lanes of a warp, from `memory` on. Thread 0: it does
// not know the threads of the block, and need not be told.
coherence::MonitoredAccess ObservedRun(Warp* warp, const Step& step, char* memory,
                                       coherence::AddressId address);

// Holds the lock of the monitor, under which the accesses are made, lane by lane. Lanes that are
// not observed may be asked for like others.
class ObservedStep {
 public:
  // After a Resolve for `step` that said Found::kObserved.
  ObservedStep(Warp* warp, const Step& step);
  // Of one replica of a multicast address.
  ObservedStep(Warp* warp, const Step& step, const ObservedLanes& observed);

  // Before all loads or stores of the step. True: they may be made as they are, and AfterStores is
  // called behind stores. False: they are observed and made lane by lane, as below.
  bool BeforeAll(const LaneMemory& memory, bool writes) {
    if (!observed_.alike || observed_.armed == 0 || lanes_ == 0) return lanes_ == 0;
    return session_.BeforeAll(OfAll(), lanes_, memory.data(), writes);
  }
  void AfterStores(const LaneMemory& memory) {
    if (lanes_ != 0) session_.AfterStores(OfAll(), lanes_, memory.data());
  }
  // Before a load: where its bytes are, at `memory` or at `older`, where there is room for them.
  const char* Load(int lane, char* memory, char* older) {
    return Tells(lane) ? session_.Load(Of(lane, memory), older) : memory;
  }
  void BeforeStore(int lane, char* memory) {
    if (Tells(lane)) session_.BeforeStore(Of(lane, memory));
  }
  void AfterStore(int lane, char* memory) {
    if (Tells(lane)) session_.AfterStore(Of(lane, memory));
  }
  // As Load.
  const char* BeforeAtomic(int lane, char* memory, char* older) {
    return Tells(lane) ? session_.BeforeAtomic(Of(lane, memory), older) : memory;
  }
  void AfterAtomic(int lane, char* memory, bool wrote) {
    if (Tells(lane)) session_.AfterAtomic(Of(lane, memory), wrote);
  }

 private:
  bool Tells(int lane) const { return (lanes_ >> lane & 1) != 0; }
  const coherence::MonitoredAccess& Of(int lane, char* memory) {
    access_.memory = memory;
    access_.armed = (observed_.armed >> lane & 1) != 0;
    access_.thread = first_ + static_cast<coherence::ThreadId>(lane);
    access_.address = observed_.addresses[static_cast<size_t>(lane)];
    access_.shared = access_.address == 0 ? observed_.shared : nullptr;  // mappings count from 1
    return access_;
  }
  // What all lanes have in common.
  const coherence::MonitoredAccess& OfAll() {
    access_.address = observed_.addresses[static_cast<size_t>(__builtin_ctz(lanes_))];
    access_.shared = access_.address == 0 ? observed_.shared : nullptr;
    return access_;
  }

  const ObservedLanes& observed_;
  coherence::MonitoredAccess access_;
  const Lanes lanes_;
  const coherence::ThreadId first_;
  coherence::AliasMonitor::Session session_;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_OBSERVED_STEP_H_

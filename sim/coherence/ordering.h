// Ordering: which accesses came before which, by two clocks per thread.
//
// This, HazardChecker and ViewMachine are what a machine drives as it runs: the interpreter of PTX
// for pages that have several mappings, and the explorer of litmus tests. Everything goes by
// numbers that the caller gives: threads, addresses (one number per live mapping: after an unmap, a
// new number), locations (granules of 4 bytes). For each instruction the caller does this, in
// program order of the thread:
//
//   each access     ordering.Next gives its mark
//   load            view.Candidates, checker.Check, view.Load with one of them, checker.Observe
//   store           checker.Check, view.Store
//   atomic, red     view.Candidates, checker.Check as a read, view.Load, checker.Check as a write,
//                   view.StoreAtomic
//   fence           ordering.Fence           fence.proxy.alias   ordering.AliasFence
//   bar.sync        ordering.Arrive for each thread that comes, Past::Join over them, and
//                   ordering.Leave with the result for each thread that goes on
//   start of a grid ordering.Start for its threads with the joined pasts of what it waits for
//   end of a grid   ordering.End of its threads: the past for what waits for it
//
// Weak accesses of memory with one mapping need no call at all. Strong ones do, wherever they are,
// as they may synchronise.
//
// Cost: an access is a few integer compares where thread and address are as in the last one; clocks
// are copied at synchronisation only. Memory: a thread has its state from Start to End, and Forget
// drops everything where nothing runs. Not thread safe: the caller holds a lock, or runs one
// thread.

#ifndef TWINMMU_SIM_COHERENCE_ORDERING_H_
#define TWINMMU_SIM_COHERENCE_ORDERING_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/coherence/clock.h"
#include "sim/coherence/program.h"

namespace twinmmu::coherence {

using AddressId = uint32_t;

// One access in time.
struct Mark {
  ThreadId thread = 0;
  Epoch epoch = 0;
  AddressId address = 0;
};

// What an access or a fence is to others.
struct Strength {
  Semantics semantics = Semantics::kWeak;
  Scope scope = Scope::kSys;
  bool IsStrong() const { return semantics != Semantics::kWeak; }
};

// A release, as a later write carries it: what came before its first instruction.
struct Release {
  Past past;
  ThreadId thread = 0;
  Scope scope = Scope::kSys;
  bool is_access = false;  // else a fence
  AddressId address = 0;   // of an access
};
using ReleaseList = std::vector<std::shared_ptr<const Release>>;

class Ordering {
 public:
  explicit Ordering(const Modes& modes = Modes()) : modes_(modes) {}

  // `multicast`: it stands for one location per device. `device`: whose mapping; -1: not known.
  void SetAddress(AddressId address, bool multicast, int device);

  // Starts a thread. `past`: of all that was complete before. Numbers of threads are not used
  // again.
  void Start(ThreadId thread, const Place& place, const Past& past);
  // Ends it. Returns its past for those who wait for its end.
  Past End(ThreadId thread);
  // griddepcontrol.wait: what the thread waited for has this past.
  void Boundary(ThreadId thread, const Past& past);
  // Forgets all. Nothing may run.
  void Forget();

  // A new access of the thread.
  Mark Next(ThreadId thread, AddressId address);
  // Whether `earlier` comes before an access that `thread` makes now through `address`, as the
  // memory model preserves it; Reached: by base causality, whatever the address.
  bool IsBefore(const Mark& earlier, ThreadId thread, AddressId address) const;
  bool IsReached(const Mark& earlier, ThreadId thread) const;

  // fence.sc, fence.acq_rel, ...
  void Fence(ThreadId thread, const Strength& strength, bool sequential);
  void AliasFence(ThreadId thread);
  void AliasReleaseFence(ThreadId thread);
  void AliasAcquireFence(ThreadId thread);

  Past Arrive(ThreadId thread) const { return Snapshot(thread); }
  void Leave(ThreadId thread, const Past& met);

  // What a strong write of the thread carries: its own release, and those of earlier patterns.
  ReleaseList ReleasesOf(ThreadId thread, AddressId address, const Strength& strength);
  // The thread's read through `address` saw a write that carries these, morally strong with it.
  void Observe(ThreadId thread, AddressId address, const Strength& strength,
               const ReleaseList& releases);
  // The thread made an acquire through `address`, whatever it saw.
  void Acquire(ThreadId thread, AddressId address, const Strength& strength);

  // Whether accesses of the same bytes are morally strong.
  bool IsMorallyStrong(ThreadId a, AddressId address_a, const Strength& strength_a, ThreadId b,
                       AddressId address_b, const Strength& strength_b) const;
  bool IsMulticastPair(AddressId a, AddressId b) const;
  int DeviceOf(AddressId address) const;

  // The same for states that go on alike.
  void AppendTo(std::vector<uint64_t>* key) const;

 private:
  struct Seen {  // by a strong read, for an acquire later
    std::shared_ptr<const Release> release;
    AddressId address;
  };
  struct State {
    Place place;
    bool runs = true;
    Epoch now = 0;
    Epoch passed = 0;  // own accesses before the last alias fence
    Epoch half = 0;
    Past past;    // without own accesses
    Clock start;  // what was complete when it started
    std::vector<Seen> seen;
    ReleaseList releases;  // fences, and releases of single addresses
  };
  struct AddressState {
    bool multicast = false;
    int device = -1;
  };
  struct Sequential {
    Place place;
    Scope scope;
    Past past;
  };

  Past Snapshot(ThreadId thread) const;
  void Remember(State* state, std::shared_ptr<const Release> release);
  bool Include(const Place& a, Scope scope_a, const Place& b, Scope scope_b) const {
    return Includes(scope_a, a, b) && Includes(scope_b, b, a);
  }
  const AddressState* Find(AddressId address) const;

  Modes modes_;
  std::map<ThreadId, State> threads_;
  std::map<ThreadId, Place> places_;  // also of those that ended
  std::map<AddressId, AddressState> addresses_;
  std::vector<Sequential> sequential_;  // by place and scope
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_ORDERING_H_

// Ordering: which accesses came before which, by two clocks per thread.
//
// This, HazardChecker and OperationalModel are what a machine drives as it runs: the interpreter of
// PTX for pages that have several mappings, and the explorer of litmus tests. Everything goes by
// ids that the caller gives: threads, addresses (one id per live mapping: after an unmap, a new
// id), locations. For each instruction the caller does this, in program order of the thread:
//
//   each access     ordering.Next gives its event
//   load            view.Candidates, checker.Check, view.Load with one of them, checker.Observe
//   store           checker.Check, view.Store
//   atomic, red     view.Candidates, checker.Check as a read, view.Load, checker.Check as a write,
//                   view.Store
//   fence           ordering.Fence           fence.proxy.alias   ordering.AliasFence
//                                            fence.proxy.async   ordering.AsyncFence
//   bar.sync        ordering.Arrive for each thread that comes, and ordering.Leave, with the same
//                   Gathering, for each thread that goes on
//   start of a grid ordering.Start for its threads with the joined clocks of what it waits for
//   end of a grid   ordering.End of its threads: the clocks for what waits for it
//
// Weak accesses of memory with one mapping need no call at all. Strong ones do, wherever they are,
// as they may synchronise.
//
// Cost: an access is a few integer compares where thread and address are as in the last one; clocks
// are copied at synchronisation only. Memory: a thread has its state from Start to End, and Forget
// drops everything where nothing runs. What costs memory can throw std::bad_alloc. Not thread safe:
// the caller holds a lock, or runs one thread.

#ifndef TWINMMU_SIM_COHERENCE_MODEL_ORDERING_H_
#define TWINMMU_SIM_COHERENCE_MODEL_ORDERING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/coherence/model/litmus_program.h"
#include "sim/coherence/model/vector_clock.h"

namespace twinmmu::coherence {

using AddressId = uint32_t;
// What an access was made by: an id that whoever reports hazards can make words of.
using Site = uint32_t;

// One access in time.
struct AccessEvent {
  ThreadId thread = 0;
  Epoch epoch = 0;
  AddressId address = 0;
  Site site = 0;
};

// What an access or a fence is to others.
struct Strength {
  Semantics semantics = Semantics::kWeak;
  Scope scope = Scope::kSys;
  bool IsStrong() const { return semantics != Semantics::kWeak; }
};

// A release, as a later write carries it: what came before its first instruction.
struct Release {
  Clocks clocks;  // without the accesses of its thread
  Epoch now = 0;  // those, as in Clocks
  Epoch passed = 0;
  Epoch half = 0;
  ThreadId thread = 0;
  uint32_t number = 0;  // counts those of the thread, which may make several between two accesses
  Place place;
  Scope scope = Scope::kSys;
  bool is_access = false;  // else a fence
  AddressId address = 0;   // of an access
  bool of_many = false;    // several in one, with the place of any: whoever sees it acquires it
};
using ReleaseList = std::vector<std::shared_ptr<const Release>>;

// Threads at a barrier: what came before their arrival.
class Gathering {
 public:
  // The same for those that hold the same.
  void AppendTo(std::vector<uint64_t>* key);

 private:
  friend class Ordering;
  struct Own {
    ThreadId thread;
    Epoch now, passed, half;
  };
  void Add(const Clocks& clocks);
  bool Holds(const Clocks& clocks) const;
  const Clocks& Met();

  std::vector<Own> own_;         // not yet in met_
  std::vector<Clocks> arrived_;  // some that met_ holds: threads often come with the same one
  Clocks met_;
};

class Ordering {
  struct Block;
  struct State;

 public:
  explicit Ordering(const Modes& modes = Modes()) : modes_(modes) {}

  // `multicast`: it stands for one location per device. `device`: whose mapping; -1: not known.
  void SetAddress(AddressId address, bool multicast, int device);
  // The address is that of another proxy than the generic one, where it is `generic`.
  void SetProxy(AddressId address, Proxy proxy, AddressId generic);
  void ForgetAddress(AddressId address) { addresses_.erase(address); }

  // Starts threads with consecutive ids, at one place. `clocks`: of all that was complete before.
  // Ids are not used again before Forget.
  void Start(ThreadId first, uint32_t threads, const Place& place, const Clocks& clocks);
  void Start(ThreadId thread, const Place& place, const Clocks& clocks) {
    Start(thread, 1, place, clocks);
  }
  // Ends what one Start started, and adds its clocks to those of those who wait for its end.
  void End(ThreadId first, Clocks* clocks);
  // The same, for ids that are never compared at less than the scope of a GPU again.
  void EndAndLeave(ThreadId first, Clocks* clocks);
  // griddepcontrol.wait: what the thread waited for has these clocks. To those that started with
  // it, it is a boundary too, behind what orders them after the thread.
  void Boundary(ThreadId thread, const Clocks& clocks);
  // Forgets all. Nothing may run.
  void Forget();
  bool IsIdle() const { return blocks_.empty(); }
  bool Runs(ThreadId thread) const { return Find(thread) != nullptr; }

  // A new access of the thread, which runs.
  AccessEvent Next(ThreadId thread, AddressId address, Site site = 0) {
    return AccessEvent{thread, ++*EpochsOf(thread, 1), address, site};
  }
  // The last one of the thread; none: an event of epoch 0.
  AccessEvent Last(ThreadId thread, AddressId address, Site site = 0) const {
    const Block* const block = FindBlock(thread);
    return AccessEvent{thread, block == nullptr ? 0 : block->now[thread - block->first], address,
                       site};
  }
  // The epochs of the last accesses of `threads` threads from `first` on, for who makes the next
  // ones of many. Null: not all of them run and started together.
  Epoch* EpochsOf(ThreadId first, uint32_t threads) {
    Block* const block = FindBlock(first);
    if (block == nullptr || threads > block->threads - (first - block->first)) return nullptr;
    return &block->now[first - block->first];
  }
  // Whether `earlier` comes before an access that `thread` makes now through `address`, as the
  // memory model preserves it; Reached: by base causality, whatever the address.
  bool IsBefore(const AccessEvent& earlier, ThreadId thread, AddressId address) const;
  // The same for who asks of many, until anything changes.
  class Past {
   public:
    Past(const Ordering& ordering, ThreadId thread, AddressId address);
    bool Has(const AccessEvent& earlier) const;

   private:
    const Ordering& ordering_;
    const ThreadId thread_;
    const AddressId address_;
    const Block* const block_;
    const State* const state_;
  };
  bool IsReached(const AccessEvent& earlier, ThreadId thread) const;

  // fence.sc, fence.acq_rel, ...
  void Fence(ThreadId thread, const Strength& strength, bool sequential);
  void AliasFence(ThreadId thread);
  void AliasReleaseFence(ThreadId thread);
  void AliasAcquireFence(ThreadId thread);
  void AsyncFence(ThreadId thread);

  void Arrive(ThreadId thread, Gathering* gathering) const;
  void Leave(ThreadId thread, Gathering* gathering);

  // Whether ReleasesOf has anything.
  bool Carries(ThreadId thread, AddressId address, const Strength& strength) const;
  // What a strong write of the thread carries: its own release, and those of earlier patterns.
  ReleaseList ReleasesOf(ThreadId thread, AddressId address, const Strength& strength);
  // The thread's read through `address` saw a write that carries these, morally strong with it.
  void Observe(ThreadId thread, AddressId address, const Strength& strength,
               const ReleaseList& releases);
  // The thread made an acquire through `address`, whatever it saw.
  void Acquire(ThreadId thread, AddressId address, const Strength& strength);

  // Adds `releases` to `inherited`. A list that gets too long has some that count as more than they
  // are.
  static void Inherit(const ReleaseList& releases, ReleaseList* inherited);

  // Whether accesses of the same bytes are morally strong.
  bool IsMorallyStrong(ThreadId a, AddressId address_a, const Strength& strength_a, ThreadId b,
                       AddressId address_b, const Strength& strength_b) const;
  bool IsMulticast(AddressId address) const;
  bool IsMulticastPair(AddressId a, AddressId b) const;
  int DeviceOf(AddressId address) const;
  Proxy ProxyOf(AddressId address) const;
  // Where the thread runs, or ran; null: not known.
  const Place* PlaceOf(ThreadId thread) const;

  // The same for states that go on alike.
  void AppendTo(std::vector<uint64_t>* key) const;

 private:
  // Beyond this, what a thread has seen counts as acquired.
  static constexpr size_t kMaxSeen = 64;
  // Beyond this, the clocks take threads together that have ended, so that its size does not grow
  // with the number of threads of a grid.
  static constexpr size_t kMaxEntries = 1024;

  struct Seen {  // by a strong read, for an acquire later
    std::shared_ptr<const Release> release;
    AddressId address;
    bool acquired = false;  // is in the clocks of the thread
  };
  struct State {
    Epoch passed = 0;  // own accesses before the last alias fence
    Epoch half = 0;
    uint32_t made = 0;  // releases
    Clocks clocks;      // without own accesses
    std::vector<Seen> seen;
    ReleaseList releases;  // fences, and releases of single addresses
  };
  struct Block {  // threads that started together
    ThreadId first = 0;
    uint32_t threads = 0;
    Place place;
    VectorClock start;         // what was complete when they started
    VectorClock::Range ended;  // most of it
    std::vector<Epoch> now;    // the accesses of each, counted
    std::vector<State> states;
  };
  struct AddressState {
    bool multicast = false;
    int device = -1;
    Proxy proxy = Proxy::kGeneric;
    AddressId generic = 0;  // of another proxy
  };
  struct Sequential {
    Place place;
    Scope scope;
    Clocks clocks;
  };
  struct Places {  // of threads from first to last
    ThreadId first;
    ThreadId last;
    Place place;
  };

  const Block* FindBlock(ThreadId thread) const {
    if (last_ < blocks_.size()) {
      const Block& block = blocks_[last_];
      if (thread - block.first < block.threads) return &block;
    }
    return SearchBlock(thread);
  }
  const Block* SearchBlock(ThreadId thread) const;
  Block* FindBlock(ThreadId thread) {
    return const_cast<Block*>(static_cast<const Ordering*>(this)->FindBlock(thread));
  }
  const State* Find(ThreadId thread) const {
    const Block* const block = FindBlock(thread);
    return block == nullptr ? nullptr : &block->states[thread - block->first];
  }
  State* Find(ThreadId thread) {
    return const_cast<State*>(static_cast<const Ordering*>(this)->Find(thread));
  }
  bool HasPassed(const AccessEvent& earlier, ThreadId thread, AddressId address, const Block& block,
                 const State& state) const;
  bool HasPassedProxies(const AccessEvent& earlier, AddressId address, const State& state) const;
  // As if all had passed every fence.
  void PassAll(State* state, ThreadId thread, Epoch now) const;
  void SetStart(Block* block, const Clocks& clocks);
  void AddPlace(ThreadId first, ThreadId last, const Place& place);
  void LeavePlace(const Block& block);
  void FenceSequential(ThreadId thread, Scope scope);
  bool RunsAny(ThreadId first, ThreadId last) const;
  void Coarsen(Clocks* clocks) const;
  static bool HasPast(Epoch now, const State& state) { return now != 0 || !state.clocks.empty(); }
  static void Join(Clocks* clocks, const Release& release);
  void Acquire(State* state, Seen* seen) const;
  void Remember(State* state, std::shared_ptr<const Release> release);
  std::shared_ptr<const Release> MakeRelease(ThreadId thread, Scope scope);
  // Whether a fence or an access at `place` takes part in what the release does.
  static bool Meets(const Release& release, const Place& place, Scope scope);
  const AddressState* FindAddress(AddressId address) const;

  Modes modes_;
  bool has_proxies_ = false;
  std::vector<Block> blocks_;   // by their first thread
  mutable size_t last_ = 0;     // the one that was looked for last
  std::vector<Places> places_;  // by thread; also of those that ended
  std::map<AddressId, AddressState> addresses_;
  std::vector<Sequential> sequential_;  // by place and scope
};

// Inline: they are asked of each pair of accesses.
inline Ordering::Past::Past(const Ordering& ordering, ThreadId thread, AddressId address)
    : ordering_(ordering),
      thread_(thread),
      address_(address),
      block_(ordering.FindBlock(thread)),
      state_(block_ == nullptr ? nullptr : &block_->states[thread - block_->first]) {}

inline bool Ordering::Past::Has(const AccessEvent& earlier) const {
  if (block_ == nullptr) return false;
  if (earlier.thread == thread_ && earlier.address == address_) return true;
  if (block_->ended.first <= earlier.thread && earlier.thread <= block_->ended.second) return true;
  return earlier.address == address_
             ? earlier.epoch <= state_->clocks.all.Get(earlier.thread)
             : ordering_.HasPassed(earlier, thread_, address_, *block_, *state_);
}

inline bool Ordering::IsBefore(const AccessEvent& earlier, ThreadId thread,
                               AddressId address) const {
  return Past(*this, thread, address).Has(earlier);
}

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MODEL_ORDERING_H_

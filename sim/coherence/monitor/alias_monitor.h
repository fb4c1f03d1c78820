// AliasMonitor: alias coherence of the device code, copies and fills that a machine runs.
//
// Memory is armed while it has several mappings, and all of it is where the options say so. Weak
// accesses of other memory need not be observed at all; strong accesses, fences and barriers are
// observed while anything is armed, wherever they go, as they may order accesses of armed memory.
// Newest values always lie in the memory of the host; what is kept here is who may not have seen
// them.
//
// Locations go by their place in the memory of the host, addresses by the ids of live mappings (an
// address that is mapped again has another id), threads by ids given out here.

#ifndef TWINMMU_SIM_COHERENCE_MONITOR_ALIAS_MONITOR_H_
#define TWINMMU_SIM_COHERENCE_MONITOR_ALIAS_MONITOR_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/coherence/model/litmus_program.h"
#include "sim/coherence/model/ordering.h"
#include "sim/coherence/model/policy.h"
#include "sim/coherence/model/vector_clock.h"
#include "sim/coherence/monitor/shared_accesses.h"

namespace twinmmu::coherence {

// What a copy or fill sets by no more than that may be a flag for a kernel that polls.
inline constexpr uint64_t kMaxFlagBytes = 8;
// Where a copy, a fill or a wait runs.
inline constexpr int kNoMultiprocessor = -1;

// An access of `size` bytes, none of which crosses a page of 4 KiB.
struct MonitoredAccess {
  char* memory = nullptr;
  uint32_t size = 0;
  bool armed = false;
  bool of_copy = false;  // nothing can stand between what one thread of it reads and writes
  ThreadId thread = 0;
  AddressId address = 0;
  Strength strength;
  Site site = 0;
  uint64_t call = 0;             // that asked for it: an id for whoever reports
  const char* shared = nullptr;  // of shared memory: where that of its block begins
};

// Which block of a kernel, or which copy or fill, threads are of.
struct Origin {
  uint64_t call = 0;                     // that asked for it; 0: not known
  std::array<uint32_t, 3> block = {};    // its place in the grid
  std::array<uint32_t, 2> threads = {};  // of a block, in x and y; 0: it is no kernel
};

// Two accesses of the same bytes that nothing orders, at least one of them a write.
struct AliasHazard {
  struct Side {
    AddressId address = 0;
    Site site = 0;
    bool writes = false;
    Strength strength;
    Origin origin;        // where all memory is watched
    uint32_t thread = 0;  // of its block
  };
  Hazard hazard = Hazard::kData;
  bool missing_fence = false;  // all else is in order: an alias fence is what is missing
  bool unwritten = false;      // none: the second reads what nothing has written
  bool same_block = false;
  Side first;
  Side second;
  // Of the access that came second; of a copy or fill the part in one page.
  const char* memory = nullptr;
  uint64_t size = 0;
  uint64_t call = 0;
  const char* shared = nullptr;  // as in MonitoredAccess
};

struct AliasOptions {
  Modes modes;
  Policy policy = Policy::kCoherent;
  uint64_t seed = 0;  // of Policy::kRandom
  bool check = true;  // for hazards
  // All memory is armed, with one address, too; and what of it is to be told: races, reads of what
  // nothing has written.
  bool watch_all = false;
  bool tell_races = true;
  bool tell_unwritten = false;
  // About how much memory it may have. Beyond it, what was noted first is forgotten.
  uint64_t limit = uint64_t{1} << 30;
};

// Thread-safe, but that a Session is for one thread. Whatever would need memory that the host does
// not have is not noted: hazards may be missed, values are then the newest.
class AliasMonitor {
 public:
  // `report` is called once for each pair of sites and kind of hazard, with the lock of the monitor
  // held, so that it may not call the monitor.
  using Report = std::function<void(const AliasHazard&)>;
  class Session;
  struct Meeting;

  AliasMonitor(const AliasOptions& options, Report report);
  ~AliasMonitor();
  AliasMonitor(const AliasMonitor&) = delete;
  AliasMonitor& operator=(const AliasMonitor&) = delete;

  // Whether anything is armed. If not, nothing below but Arm need be called.
  bool active() const { return active_.load(std::memory_order_relaxed); }
  // Whether all memory is.
  bool watches_all() const { return watches_all_; }

  // `memory`: whole pages of 4 KiB. Disarm forgets what was noted of it.
  void Arm(const char* memory, uint64_t size);
  void Disarm(const char* memory, uint64_t size);
  // Where all memory is watched: these bytes are given to somebody else, who has written nothing of
  // them; are given back; can be written by others who are not seen here.
  void Allocate(const char* memory, uint64_t size);
  void Forget(const char* memory, uint64_t size);
  void SetWritten(const char* memory, uint64_t size);
  // The same: other processes have these bytes, too, until Unshare of the first.
  void Share(const char* memory, uint64_t size);
  void Unshare(const char* memory);
  // What operations that the call asked for have accessed of such memory since the last time.
  // `flagged` becomes true if a kernel, or a wait or write of a value, accessed any of it as a
  // flag.
  std::vector<SharedUse> TakeShared(uint64_t call, bool* flagged);
  // A multicast address begins and ends: what it accesses lies at other addresses, too, one on each
  // device of its team. Can throw std::bad_alloc.
  void AddMulticastAddress(AddressId address);
  void RemoveMulticastAddress(AddressId address);

  // --- Operations: a grid, a copy, a fill. Its threads start after what is in `clocks`. ---
  // Starts `threads` threads, one behind the other, of one block on `sm`. Returns the id of the
  // first. `cluster`: the first thread of another block of its cluster; 0: there is none yet.
  ThreadId Start(uint32_t threads, int device, int sm, const Clocks& clocks, ThreadId cluster = 0,
                 const Origin& origin = Origin());
  // Ends them, and adds theirs to the past of their operation.
  void End(ThreadId first, uint32_t threads, Clocks* clocks);
  // The host has waited for all that is in `clocks`. Where that is all that ever ran, and nothing
  // runs, all is forgotten but the newest values. True: ids of threads start again, so that no
  // Clocks from before may be used any more.
  bool HostWaited(const Clocks& clocks);
  // All that it has waited for: who sees a word that nobody known has written may see what the host
  // wrote after that.
  void SetHost(const Clocks& clocks);

 private:
  class Impl;
  const bool watches_all_;
  std::atomic<bool> active_;
  std::unique_ptr<Impl> impl_;
};

// Threads of a block at a barrier: what came before their arrival.
struct AliasMonitor::Meeting {
  Meeting();
  ~Meeting();
  Meeting(Meeting&&) noexcept;
  Meeting& operator=(Meeting&&) noexcept;

  struct Gathered;
  std::unique_ptr<Gathered> gathered;  // null: nothing
};

// Holds the lock of the monitor: accesses are observed and made under it, so that what is noted is
// what was read and written.
class AliasMonitor::Session {
 public:
  explicit Session(AliasMonitor* monitor);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Before the weak loads or stores of a warp, of armed memory through one address: for the bits i
  // of `lanes`, thread access.thread + i accesses memory[i]. True: all of them may be made; after
  // stores, call AfterStores with the same. False: nothing was done, so they are observed one by
  // one.
  bool BeforeAll(const MonitoredAccess& access, uint32_t lanes, char* const* memory, bool writes);
  void AfterStores(const MonitoredAccess& access, uint32_t lanes, char* const* memory);
  // The same of `threads` threads from access.thread on, each of which accesses what is behind the
  // one before it, from access.memory on. Nothing is to be called after stores.
  bool BeforeRow(const MonitoredAccess& access, uint32_t threads, bool writes);
  // Before a load. Where to read its bytes from: access.memory, or `older`, access.size bytes where
  // an older value was put.
  const char* Load(const MonitoredAccess& access, char* older);
  // Before and after a store.
  void BeforeStore(const MonitoredAccess& access);
  void AfterStore(const MonitoredAccess& access);
  // Before an atomic operation: as Load, the value that it works on. After it: whether it wrote.
  const char* BeforeAtomic(const MonitoredAccess& access, char* older);
  void AfterAtomic(const MonitoredAccess& access, bool wrote);
  // A copy or a fill: the same for a weak access of any size. Load may put older values over what
  // was read to `copied`.
  void AfterRangeLoad(const MonitoredAccess& access, uint64_t size, char* copied);
  void BeforeRangeStore(const MonitoredAccess& access, uint64_t size);
  void AfterRangeStore(const MonitoredAccess& access, uint64_t size);

  // Of the threads first + i for the bits i of `lanes`.
  void Fence(ThreadId first, uint32_t lanes, const Strength& strength, bool sequential);
  void AliasFence(ThreadId first, uint32_t lanes);
  void AliasReleaseFence(ThreadId first, uint32_t lanes);
  void AliasAcquireFence(ThreadId first, uint32_t lanes);
  // griddepcontrol.wait: they have waited for the operations in `clocks`.
  void Boundary(ThreadId first, uint32_t lanes, const Clocks& clocks);
  void Arrive(ThreadId first, uint32_t lanes, Meeting* meeting);
  void Leave(ThreadId first, uint32_t lanes, Meeting* meeting);

 private:
  AliasMonitor::Impl& impl_;
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MONITOR_ALIAS_MONITOR_H_

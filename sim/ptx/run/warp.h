// Warp: 32 lanes of a block, each with its place in the code.

#ifndef TWINMMU_SIM_PTX_RUN_WARP_H_
#define TWINMMU_SIM_PTX_RUN_WARP_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/address.h"
#include "api/allocation.h"
#include "sim/mmu/translation_cache.h"
#include "sim/ptx/operations/operation.h"
#include "sim/ptx/program/code.h"
#include "sim/ptx/run/grid.h"
#include "sim/ptx/run/lane_addresses.h"

namespace twinmmu::ptx {

class Block;

// What came of looking for it.
enum class Found : uint8_t {
  kFault,
  kMemory,
  kObserved,   // the same, but the alias monitor observes some of the accesses
  kMulticast,  // of a store: some of them are addresses of multicast objects
};

// Of which ones, and what of them.
struct ObservedLanes {
  Lanes lanes = 0;
  Lanes armed = 0;               // memory that has several mappings, or any where all is watched
  bool alike = false;            // all of them go to one address's memory
  const char* shared = nullptr;  // where that of the block begins, if some go there
  std::array<coherence::AddressId, kLanes> addresses;
};

// An access of multicast addresses goes to one replica on each device: this is what it does on one
// of them, in the lanes whose address has it.
struct ReplicaLanes {
  Lanes lanes = 0;
  LaneMemory memory;
  ObservedLanes observed;  // none: the alias monitor observes none
};

// One activation of a function, for those lanes of a warp that called it from one place of one
// frame. Lanes that come there later join it.
struct Frame {
  struct alignas(kSlotAlignment) Line {
    char bytes[kSlotAlignment];
  };

  const FunctionCode* function = nullptr;
  Frame* parent = nullptr;
  uint32_t call = 0;  // the step of the parent that called
  uint32_t depth = 0;
  Lanes lanes = 0;  // that are in it, or in what it called
  uint32_t local_base = 0;
  uint32_t local_end = 0;                        // of local memory, of whichever lane
  std::array<uint32_t, kLanes> stack_ends = {};  // the same of each
  std::vector<Line> registers;
  std::vector<char> passed;  // passed_bytes of each lane

  char* data() { return registers.front().bytes; }
  char* PassedOf(int lane) { return passed.data() + size_t{function->passed_bytes} * lane; }
  // Where a value of `lane` lies that a call in this frame passes or gets.
  char* PlaceOf(const Passed& value, int lane) {
    return value.slot_width != 0 ? data() + value.at + lane * uint64_t{value.slot_width}
                                 : PassedOf(lane) + value.at;
  }
};

// Lanes at one place. Those that wait for a barrier or others of the warp stay at their step.
struct Group {
  enum Wait : uint8_t {
    kNothing,
    kBarrier,      // of the block: `barrier`
    kWarpBarrier,  // the lanes of `mask`, at any bar.warp.sync of that mask
    kGathering,    // the lanes of `mask`, at this step
    kCluster,      // the barrier of the cluster
    kWarpgroup,    // the products of the other warps of its warpgroup
  };
  Frame* frame = nullptr;
  uint32_t pc = 0;
  Lanes lanes = 0;
  Wait wait = kNothing;
  uint8_t barrier = 0;
  Lanes mask = 0;
  uint64_t ran = 0;  // when it was chosen last
};

// Threads of a block at one place, for messages.
struct ThreadsAt {
  std::string
      words;  // "waiting at PTX line 12, bar.sync, for barrier 0, which has 32 of 64 threads"
  uint32_t count = 0;
  Dim3 first;
};

// "0x0000ffff"
std::string InHex(Lanes lanes);

// Lanes at one place run together. After a divergence those with the smallest place go first, the
// deepest call before its callers, which brings them together where structured code joins. A group
// that goes round in circles while others could run lets these run for a while. For one thread.
class Warp {
 public:
  enum class State : uint8_t { kRunnable, kBlocked, kDone, kFaulted };

  // The lanes of `number` in `block`, which must outlive this object. May throw std::bad_alloc.
  Warp(Block* block, int number);
  Warp(const Warp&) = delete;
  Warp& operator=(const Warp&) = delete;

  // Of the host, for its frames and local memory.
  uint64_t bytes() const { return taken_.bytes(); }
  // At the begin of the kernel, in the block as it now is.
  void Start();
  // Runs until no lane can go on, or *steps, which it counts down, is 0.
  State Run(uint64_t* steps);

  // --- For what steps do ---
  Block& block() { return block_; }
  int number() const { return number_; }
  Group& running() { return groups_[0]; }
  Frame& frame() { return *running().frame; }
  template <typename T>
  T* Slot(uint32_t offset) {
    return reinterpret_cast<T*>(frame().data() + offset);
  }
  Lanes live() const { return live_; }

  // Parts the running group: those of its lanes that are not in `lanes` go on at `pc`.
  void KeepOnly(Lanes lanes, uint32_t pc);
  // The running group branches. True: other groups shall run for a while.
  bool LosesPatience(uint32_t pc, uint32_t next);
  // Nothing but polls of one place for some time: then other warps shall.
  bool OnlyPolls();
  // Lanes of the running group, all of it, end.
  void Exit();
  // The running group calls or returns.
  Flow Call(const CallSite& site, int function);
  Flow Return();
  // The lanes of the running group wait, each for those that its own of `masks` names.
  void WaitForMasks(Group::Wait wait, const uint32_t* masks);
  // Those go on that wait at a bar.warp.sync for lanes that are there with the same mask.
  void PassWarpBarriers();
  // `go_on` go on behind a bar.warp.sync to which all of `met` came.
  void NoteWarpBarrier(Lanes met, Lanes go_on);
  // Those of the block that the barrier held go on.
  void PassBarrier(int barrier);
  // The same of the barrier of its cluster.
  void PassClusterBarrier();
  // wgmma: how many groups of products it has begun; waits until the others of its warpgroup have
  // begun all but `pending` of these; goes on if all have begun `least`, and did wait for no more.
  uint64_t product_groups() const { return product_groups_; }
  void CommitProducts();
  void WaitForProducts(uint64_t pending);
  bool PassWarpgroup(uint64_t least);

  // The host memory of an access by each of `lanes`. A fault is noted. Only who `stores`, and reads
  // nothing, gets kMulticast; of others it is a fault.
  Found Resolve(const MemoryAccess& access, uint32_t address_slot, Lanes lanes, LaneMemory* memory,
                bool stores = false);
  // Behind it, where its block has ProxyWrites or UnwaitedCopies: what asynchronous copies have to
  // do with the access.
  bool meets_copies() const { return meets_copies_; }
  void set_meets_copies() { meets_copies_ = true; }
  [[gnu::cold]] void MeetCopies(const Step& step, Lanes lanes, const LaneMemory& memory,
                                bool writes);
  // After it said kObserved.
  const ObservedLanes& observed() const { return observed_; }
  // The same of an access of multicast addresses: the replicas, in the order of their devices,
  // until the next call. None: a fault, which is noted.
  const std::vector<ReplicaLanes>& ResolveMulticast(const MemoryAccess& access,
                                                    uint32_t address_slot, Lanes lanes);
  // Those of `lanes` whose address is of a multicast object.
  Lanes AtMulticast(const MemoryAccess& access, uint32_t address_slot, Lanes lanes);

  // Whether all memory is, that of the block too.
  bool watched() const { return watched_; }
  // What the running group reaches of local memory.
  AddressWindow LocalWindow() { return {0, frame().local_end, local_.data(), local_stride_}; }
  // Makes local memory of `bytes` for each lane; false: that is too much.
  bool GrowLocal(uint64_t bytes);

  // Copies bytes at a generic address that `lane` may read; false: it may not, which is no fault.
  bool Read(uint64_t address, void* to, uint32_t size, int lane);
  // Writes the value of a special register that changes.
  void ReadSpecial(Special special, uint32_t slot);

  // Ends the grid: says so of the lowest of `lanes`. Gives kFault.
  Flow Fault(GridFault::Kind kind, Lanes lanes, const std::string& words = "");
  // The same of an access of `lane`.
  void FaultAt(GridFault::Kind kind, int lane, const MemoryAccess& access, uint64_t address);
  // The same where there is no memory that it may access: why.
  void NoteNoMemory(const MemoryAccess& access, uint64_t address, int lane);
  // Where its lanes are, and what they wait for: those in the same place count together.
  void AddPlaces(std::vector<ThreadsAt>* places) const;

  // Whether its last turn ended because it did nothing but read the same place.
  bool gave_way() const { return gave_way_; }

  // It reads, at `memory`, what others may write.
  void NotePoll(const char* memory) {
    ++polls;
    if (memory == polled_) ++repeats_;
    polled_ = memory;
  }

  // Lanes of it store there.
  void NoteStore(Space space) {
    ++changes;
    results += space == Space::kGlobal || space == Space::kGeneric;
  }

  // For the block: what was done since the beginning. Steps add to them.
  uint64_t polls = 0;         // reads of what others may write, waits
  uint64_t changes = 0;       // writes of memory
  uint64_t results = 0;       // stores of them to memory that may be there after the block
  uint64_t instructions = 0;  // of all lanes
  uint64_t work = 0;          // what it has cost the host, as KernelRun counts it
  uint64_t clock = 0;

 private:
  bool Choose();
  Flow Execute(uint64_t* steps);
  // `before`: of the step so many before that which it is at.
  CodePlace PlaceOf(const Group& group, uint32_t before = 0) const;
  std::string MbarrierInWords(const Group& group) const;
  bool Enter(const FunctionCode& function, Frame* parent, uint32_t call, Lanes lanes,
             Frame** entered);
  void Leave(Frame* frame, Lanes lanes);
  void FillFixed(Frame* frame);
  void Broadcast(Frame* frame, const FixedSlot& fixed);
  uint64_t SpecialOf(Special special) const;
  static uint64_t SpecialOf(Special special, int lane, const Dim3& thread);
  uint64_t SpecialOfCluster(Special special) const;
  char* InSpace(Space space, uint64_t address, uint32_t size, Access access, int lane, bool* armed);
  Found Observe(const TranslationCache::Span& span, Lanes lanes);
  Found ObserveSome(const MemoryAccess& access, const uint64_t* addresses, Lanes lanes);
  void NoteDivergence(int barrier);
  void MeetBulk(const Step& step, Lanes lanes, const LaneMemory& memory, bool writes);
  void MeetUnwaited(const Step& step, Lanes lanes, const LaneMemory& memory, bool writes);
  uint64_t AddressOf(const MemoryAccess& access, uint32_t address_slot, int lane);
  bool IsMulticast(const MemoryAccess& access, uint64_t address) const;
  bool AddReplicas(const MemoryAccess& access, uint64_t address, int lane);

  Block& block_;
  const int number_;
  ObservedLanes observed_;
  std::vector<ReplicaLanes> replicas_;
  Lanes live_ = 0;
  Group groups_[kLanes];  // [0] is the running one
  int group_count_ = 0;
  uint32_t limit_ = 0;      // the running group stops where another one is
  bool contended_ = false;  // another group could run
  bool rotate_ = false;     // the next one is that which ran longest ago
  bool meets_copies_ = false;
  bool watched_ = false;  // all memory, shared memory too
  int patience_ = 0;
  uint64_t polls_before_ = 0;
  const char* polled_ = nullptr;  // the last poll was there
  uint64_t repeats_ = 0;          // polls at the same place as the one before
  uint64_t repeats_before_ = 0;
  uint64_t changes_before_ = 0;
  int idle_loops_ = 0;
  int idle_limit_ = 1;     // of them, in a turn
  bool gave_way_ = false;  // and so its turn was over
  uint64_t turns_ = 0;
  uint64_t product_groups_ = 0;
  uint64_t awaited_groups_ = 0;                 // of each warp, where it waits
  std::vector<std::unique_ptr<Frame>> frames_;  // all, in use or not
  std::vector<Frame*> unused_;
  std::vector<Frame*> used_;
  uint64_t frame_bytes_ = 0;
  std::vector<char> local_;  // local_stride_ bytes of each lane
  uint64_t local_stride_ = 0;
  HostMemory::Share taken_;  // for the frames and `local_`
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_WARP_H_

// Block: the warps of a block that is resident, and what they share.

#ifndef TWINMMU_SIM_PTX_RUN_BLOCK_H_
#define TWINMMU_SIM_PTX_RUN_BLOCK_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/mmu/mmu.h"
#include "sim/mmu/translation_cache.h"
#include "sim/ptx/program/code.h"
#include "sim/ptx/run/async/async_copies.h"
#include "sim/ptx/run/async/mbarriers.h"
#include "sim/ptx/run/async/proxy_writes.h"
#include "sim/ptx/run/async/unwaited_copies.h"
#include "sim/ptx/run/block_threads.h"
#include "sim/ptx/run/grid.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {

inline constexpr int kMaxWarps = 32;

class Cluster;

// What all blocks of a grid see of it.
struct GridContext {
  GridEnvironment environment;
  const Launch* launch = nullptr;
  const Code* code = nullptr;
  const KernelCode* kernel = nullptr;
  uint64_t number = 0;  // of the grid
  uint32_t sms = 0;
  uint32_t reserved_shared = 0;  // that the system takes, in front of what the kernel has
  Dim3 cluster;                  // in blocks
  bool explicit_cluster = false;
  coherence::Clocks before;                  // what was complete before the grid started
  std::atomic<uint64_t>* holding = nullptr;  // blocks that do not let the next grid start
  bool holds_waits = false;                  // the grid ahead goes on: griddepcontrol.wait waits
  coherence::Clocks ahead;                   // what that has waited for, once it has

  uint32_t threads() const {
    const Dim3& block = launch->config.block;
    return block.x * block.y * block.z;
  }
  const FunctionCode& function() const { return code->functions[kernel->function]; }
  // What the kernel has and the launch asks for.
  uint32_t asked_shared() const {
    return kernel->shared->static_bytes + launch->config.dynamic_shared_bytes;
  }
  uint32_t shared_bytes() const {
    return kernel->shared->dynamic_begin + launch->config.dynamic_shared_bytes;
  }
  // The id of the first place in the code of the kernel.
  SiteTable::Site FirstSite() const;
};

// How a thread takes part in a barrier of its block.
struct Arrival {
  int barrier = 0;
  uint32_t threads = 0;  // that it is for; 0: all that live
  bool waits = true;
  Lanes lanes = 0;
  Lanes votes = 0;  // of bar.red: the lanes whose predicate holds
};

// For one thread at a time.
class Block {
 public:
  enum class State {
    kRunning,
    kStuck,  // until another block of its cluster does something
    kDone,
    kFaulted,
  };

  // Block `rank` of `cluster`. Both must outlive this object. May throw std::bad_alloc.
  Block(const GridContext& grid, Cluster* cluster, uint32_t rank);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Of the host, for its shared memory and its warps.
  uint64_t bytes() const;
  // Begins the block at `index` of the grid.
  void Start(const Dim3& index);
  // Runs about `steps` instructions of warps. mmu.mutex is held, shared.
  State Run(TranslationCache* cache, uint64_t steps);
  // Notes as a fault that nothing can go on.
  void NoteDeadlock();

  const GridFault& fault() const { return fault_; }
  // Of the threads that it had for the alias monitor: they end, and what they did goes into
  // `clocks`.
  void EndThreads(coherence::Clocks* clocks);
  // Of the last Run: reads of what others may write, writes of memory, instructions of threads.
  uint64_t polls() const { return polls_; }
  uint64_t changes() const { return changes_; }
  uint64_t results() const { return results_; }
  uint64_t instructions() const { return instructions_; }
  // Since Start: what the block has cost the host, as KernelRun counts it.
  uint64_t work() const;
  // Of a block that is not done: where its threads are, and which of them wait for which.
  std::string WhoWaits() const;

  // --- For warps ---
  const GridContext& grid() const { return grid_; }
  TranslationCache& cache() { return *cache_; }
  const Dim3& index() const { return index_; }
  uint64_t flat_index() const { return flat_index_; }
  std::vector<char>& shared() { return shared_; }
  Cluster& cluster() { return cluster_; }
  uint32_t rank() const { return rank_; }
  // Where its shared memory begins among that of its cluster.
  uint64_t shared_base() const { return uint64_t{rank_} << kSharedOfBlockBits; }
  // The memory at an address of the shared memory of its cluster, and the block whose it is. Null:
  // there is none, or not any more.
  char* SharedAt(uint64_t address, uint64_t size);
  Block* OwnerOf(uint64_t address);
  // Of an address in the shared memory of another block, that has none: why.
  std::string WhyNoSharedMemory(uint64_t address);
  Mbarriers& mbarriers() { return mbarriers_; }
  AsyncCopies& copies();
  // Null where nothing is to be found out: the kernel has no bulk copies, or the profile says so.
  ProxyWrites* proxy_writes() { return proxy_writes_.get(); }
  // Null where there is none, or the profile does not ask for races.
  UnwaitedCopies* unwaited_copies() { return unwaited_copies_.get(); }
  void Begin(const UnwaitedCopies::Copy& copy);
  // Threads have synchronised, as far as proxies are concerned.
  void Synchronize() {
    if (proxy_writes_ != nullptr) proxy_writes_->Synchronize();
  }
  // Two accesses without a fence of proxies, or a wait, in between; `hazard` has all but who.
  void ReportHazard(const ExecutedStep& first, const ExecutedStep& second, AsyncHazard hazard);
  // Lanes of a warp are at two steps of one barrier.
  void ReportDivergence(const ExecutedStep& first, const ExecutedStep& second);
  // What is to come at an mbarrier of its own comes. False: something faulted.
  bool DriveCopies(uint32_t mbarrier);
  // The cache of the grid's thread that runs it.
  void set_cache(TranslationCache* cache) { cache_ = cache; }
  bool ended() const { return live_threads_ == 0; }
  uint32_t live_threads() const { return live_threads_; }
  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }
  // Those of its threads that wait for the barrier of the cluster go on.
  void PassClusterBarrier();
  GridFault& fault() { return fault_; }
  Dim3 ThreadAt(int warp, int lane) const;
  // The one with the next number.
  Dim3 ThreadBehind(Dim3 thread) const {
    const Dim3& size = grid_.launch->config.block;
    if (++thread.x < size.x) return thread;
    thread.x = 0;
    if (++thread.y < size.y) return thread;
    thread.y = 0;
    ++thread.z;
    return thread;
  }
  uint32_t sm() const { return static_cast<uint32_t>(flat_index_ % grid_.sms); }
  coherence::AliasMonitor& aliases() { return *grid_.environment.aliases; }
  // What the monitor knows them as, from the first call on; without a lock of the monitor.
  BlockThreads& threads();

  // Threads of `warp` come to a barrier. False: more wait or come than it is for.
  bool Arrive(Warp& warp, const Arrival& arrival);
  // Of its warpgroup those go on that waited for no more products than all have begun.
  void PassWarpgroup(int warp);
  // Lanes of `warp` ended: barriers no longer wait for them.
  void Ended(Lanes lanes);
  // Of a barrier that all have reached, for bar.red.
  struct Votes {
    uint32_t count = 0;
    bool all = true;
  };
  const Votes& votes(int barrier) const { return barriers_[barrier].votes; }
  // "barrier 0, which has 32 of 64 threads"
  std::string BarrierInWords(int barrier) const;
  // The next grid may start, as far as this block is concerned. True: this was the last one.
  bool LetNextStart();
  // Lanes of `warp` are past griddepcontrol.wait.
  void PassGridWait(int warp, Lanes lanes);
  // Lanes that waited for it go on.
  void Leave(int barrier, int warp, Lanes lanes);

 private:
  std::string InWords(const ExecutedStep& step) const;

  struct Barrier {
    uint32_t expected = 0;                    // threads; 0: all that live
    uint32_t warps = 0;                       // bit i: a thread of warp i has arrived
    std::array<Lanes, kMaxWarps> lanes = {};  // of each warp, that have arrived
    Votes votes;
  };

  // How many threads of those that a barrier is for have come.
  uint32_t ArrivedAt(const Barrier& barrier) const;
  void PassIfComplete(int barrier);
  void BeginTurnOfNext();

  const GridContext& grid_;
  Cluster& cluster_;
  const uint32_t rank_;
  TranslationCache* cache_ = nullptr;
  Dim3 index_;
  uint64_t flat_index_ = 0;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::vector<Warp::State> states_;
  size_t next_ = 0;            // warp
  uint64_t left_of_turn_ = 0;  // of that
  uint32_t live_threads_ = 0;
  bool lets_next_start_ = false;
  bool stops_ = false;       // its slice ends
  HostMemory::Share taken_;  // for `shared_`
  std::vector<char> shared_;
  std::array<Barrier, kBarriers> barriers_;
  Mbarriers mbarriers_;
  std::unique_ptr<AsyncCopies> copies_;  // null until there are some
  std::unique_ptr<ProxyWrites> proxy_writes_;
  std::unique_ptr<UnwaitedCopies> unwaited_copies_;
  std::unique_ptr<BlockThreads> threads_;  // null until they are needed
  GridFault fault_;
  uint64_t polls_ = 0;
  uint64_t changes_ = 0;
  uint64_t results_ = 0;
  uint64_t instructions_ = 0;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_BLOCK_H_

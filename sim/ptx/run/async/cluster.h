// Cluster: blocks that run at the same time, and reach each other's shared memory.

#ifndef TWINMMU_SIM_PTX_RUN_ASYNC_CLUSTER_H_
#define TWINMMU_SIM_PTX_RUN_ASYNC_CLUSTER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/ptx/run/block.h"

namespace twinmmu::ptx {

// Without clusters, each block is one of its own. For one thread at a time.
class Cluster {
 public:
  // `grid` must outlive this object. May throw std::bad_alloc.
  explicit Cluster(const GridContext& grid);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Begins cluster `index` of the grid, in order of x, y, z.
  void Start(uint64_t index);
  // Runs about `steps` instructions of warps. mmu.mutex is held, shared.
  Block::State Run(TranslationCache* cache, uint64_t steps);

  // As those of Block, of all blocks.
  const GridFault& fault() const;
  void EndThreads(coherence::Clocks* clocks);
  uint64_t polls() const { return polls_; }
  uint64_t changes() const { return changes_; }
  uint64_t results() const { return results_; }
  uint64_t instructions() const { return instructions_; }
  uint64_t work() const;
  uint64_t bytes() const;
  void LetNextStart();
  // "block (0, 0, 0) has 32 threads, the first ..."
  std::string WhoWaits() const;
  // For the grid: what of the work counts, and that since its last result.
  uint64_t counted_work = 0;
  uint64_t fruitless_work = 0;
  int chunks = 0;  // that it has run in this turn

  // --- For its blocks ---
  // Null: there is none of that rank.
  Block* BlockOf(uint64_t rank) { return rank < blocks_.size() ? blocks_[rank].get() : nullptr; }
  uint32_t size() const { return static_cast<uint32_t>(blocks_.size()); }
  const Dim3& index() const { return index_; }
  // For the alias monitor: the first thread of the block that has threads there first; 0: none has.
  coherence::ThreadId first_thread() const { return first_thread_; }
  void SetFirstThread(coherence::ThreadId thread) {
    if (first_thread_ == 0) first_thread_ = thread;
  }
  // The place of a block in it.
  Dim3 PlaceOf(uint32_t rank) const;

  // --- The barrier of the cluster. A thread arrives, and then waits. ---
  // Lanes that have arrived and have not waited yet.
  Lanes Arrived(const Block& block, int warp) const;
  // `releases`: who waits then sees what the threads did before.
  void Arrive(Block& block, int warp, Lanes lanes, bool releases);
  // Of lanes that have arrived: those for which the barrier is still closed.
  Lanes Waiting(const Block& block, int warp) const;
  // They have waited.
  void Leave(Block& block, int warp, Lanes lanes);
  // Threads have ended.
  void Ended();
  // "the barrier of the cluster, which has 32 of 64 threads"
  std::string BarrierInWords() const;

 private:
  struct OfWarp {
    Lanes here = 0;    // arrived, in this phase
    Lanes passed = 0;  // in one that is over, and have not waited yet
  };
  OfWarp& At(const Block& block, int warp) {
    return arrivals_[block.rank()][static_cast<size_t>(warp)];
  }
  const OfWarp& At(const Block& block, int warp) const {
    return arrivals_[block.rank()][static_cast<size_t>(warp)];
  }
  // Threads that live; and those of them that have arrived.
  uint32_t Live() const;
  uint32_t Here() const;
  void PassIfComplete();

  const GridContext& grid_;
  Dim3 index_;
  coherence::ThreadId first_thread_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block::State> states_;
  std::vector<std::array<OfWarp, kMaxWarps>> arrivals_;  // by rank
  bool used_ = false;                                    // the barrier
  coherence::AliasMonitor::Meeting meeting_;
  coherence::AliasMonitor::Meeting passed_;
  uint64_t polls_ = 0;
  uint64_t changes_ = 0;
  uint64_t results_ = 0;
  uint64_t instructions_ = 0;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_ASYNC_CLUSTER_H_

#include "sim/ptx/run/grid.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <new>
#include <set>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "sim/host/guarded_access.h"
#include "sim/mmu/translation_cache.h"
#include "sim/mmu/used_mappings.h"
#include "sim/profile/device_limits.h"
#include "sim/ptx/program/code.h"
#include "sim/ptx/run/async/cluster.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/device/idle_blocks.h"

namespace twinmmu::ptx {
namespace {

// What a device holds at once; where it does not tell, as an H200.
constexpr DeviceLimit kMultiprocessors{16, 132};
constexpr DeviceLimit kThreadsPerMultiprocessor{39, 2048};
constexpr DeviceLimit kSharedPerMultiprocessor{81, 228 << 10};
constexpr DeviceLimit kBlocksPerMultiprocessor{106, 32};
constexpr DeviceLimit kSharedOfBlock{111, 1 << 10};  // that the system takes

// Instructions of warps under one lock: some hundred microseconds at most.
constexpr uint64_t kChunk = 2048;
// Chunks of a block before others have their turn, and of one that has only plain loads, which
// seldom wait for others: it ends the sooner.
constexpr int kChunks = 64;
constexpr int kChunksOfIndependent = 1 << 10;
// Work of a slice before other threads help: about what it costs to start one.
constexpr uint64_t kAlone = 1 << 14;
// Turns of blocks that work, for each one more that begins.
constexpr uint64_t kTurnsPerBegin = 16;
// Blocks that are there at once while griddepcontrol.wait holds them.
constexpr uint64_t kMostHeld = 16;

}  // namespace

class Grid::Impl {
 public:
  // It is larger than what malloc keeps at hand: the memory of one is kept for the next.
  static void* operator new(size_t size) {
    void* const memory = kept_.exchange(nullptr, std::memory_order_acquire);
    return memory != nullptr ? memory : ::operator new(size);
  }
  static void operator delete(void* memory) {
    void* none = nullptr;
    const bool keeps = kept_.compare_exchange_strong(none, memory, std::memory_order_release,
                                                     std::memory_order_relaxed);
    if (!keeps) ::operator delete(memory);
  }

  Impl(const GridEnvironment& environment, Launch launch, int threads)
      : mmu_(*environment.mmu),
        launch_(std::move(launch)),
        threads_(std::max(threads, 1)),
        residents_(MakeResidents(environment.idle.get(), launch_)) {
    static std::atomic<uint64_t> grids{0};
    const Program& program = *launch_.program;
    context_.environment = environment;
    context_.launch = &launch_;
    context_.code = &program.code();
    context_.kernel =
        &program.code().kernels[static_cast<size_t>(launch_.kernel - program.kernels().data())];
    context_.number = ++grids;
    const Dim3& size = launch_.config.grid;
    const uint64_t total = uint64_t{size.x} * size.y * size.z;
    context_.cluster = launch_.cluster;
    context_.explicit_cluster = launch_.explicit_cluster;
    const uint64_t together =
        uint64_t{context_.cluster.x} * context_.cluster.y * context_.cluster.z;
    total_ = total / together;
    holding_ = total;
    context_.holding = &holding_;
    if (context_.environment.on_async_hazard != nullptr) {
      context_.environment.on_async_hazard =
          [this, report = environment.on_async_hazard](const AsyncHazard& hazard) {
            const std::lock_guard lock(hazards_mutex_);
            if (hazards_.emplace(hazard.first, hazard.second).second) report(hazard);
          };
    }
    if (context_.environment.on_divergent_barrier != nullptr) {
      context_.environment.on_divergent_barrier =
          [this, report = environment.on_divergent_barrier](const DivergentBarrier& barrier) {
            const std::lock_guard lock(hazards_mutex_);
            if (hazards_.emplace(barrier.first, barrier.second).second) report(barrier);
          };
    }
    const auto limit = [&](const DeviceLimit& of) {
      return LimitOf(mmu_.profile, launch_.device, of);
    };
    context_.sms = static_cast<uint32_t>(limit(kMultiprocessors));
    const uint64_t by_threads = limit(kThreadsPerMultiprocessor) / std::max(context_.threads(), 1u);
    context_.reserved_shared = static_cast<uint32_t>(limit(kSharedOfBlock));
    const uint64_t by_shared = limit(kSharedPerMultiprocessor) /
                               std::max(context_.shared_bytes() + context_.reserved_shared, 1u);
    const uint64_t blocks = std::min({by_threads, by_shared, limit(kBlocksPerMultiprocessor)});
    most_resident_ = std::max<uint64_t>(context_.sms * std::max<uint64_t>(blocks, 1) / together, 1);
  }

  ~Impl() {
    IdleBlocks* const idle = context_.environment.idle.get();
    if (idle == nullptr || fault_.kind != GridFault::kNone || !parked_.empty()) return;
    const auto idle_blocks = std::move(context_.environment.idle);  // it is not to keep itself
    context_ = GridContext();
    idle_blocks->Give(std::move(residents_));
  }

  void StartAfter(const coherence::Clocks& before) {
    context_.before = before;
    clocks_ = before;
  }

  void HoldWaits() { context_.holds_waits = true; }
  void ReleaseWaits(const coherence::Clocks& ahead) {
    context_.holds_waits = false;
    context_.ahead = ahead;
    try {
      clocks_.Join(ahead);
    } catch (const std::bad_alloc&) {
      NoteNoMemory();
    }
  }
  bool LetsNextStart() const { return holding_ == 0; }

  State Run(uint64_t instructions) {
    if (fault_.kind != GridFault::kNone) return State::kFaulted;
    left_ = static_cast<int64_t>(std::min<uint64_t>(instructions, int64_t{1} << 62));
    progress_ = false;
    quiet_ = 0;
    std::vector<std::thread> helpers;
    if (std::exchange(busy_, false)) StartHelpers(&helpers);
    Work(helpers.empty() && threads_ > 1 ? &helpers : nullptr);
    busy_ = !helpers.empty() && left_ <= 0;
    for (std::thread& helper : helpers) helper.join();
    if (fault_.kind != GridFault::kNone) {
      for (const BlockPointer& block : parked_) block->EndThreads(&clocks_);
      return State::kFaulted;
    }
    if (next_ == total_ && parked_.empty()) return State::kDone;
    return progress_ ? State::kRunning : State::kWaiting;
  }

  const GridFault& fault() const { return fault_; }
  const coherence::Clocks& clocks() const { return clocks_; }
  bool HasUsed(uint32_t mapping) const { return used_.Contains(mapping); }
  uint64_t unfinished_work() const { return unfinished_work_; }
  uint64_t fruitless_work() const { return fruitless_work_; }
  std::string WhoWaits() const {
    if (parked_.empty()) return "";
    return parked_.front()->WhoWaits();
  }

 private:
  // Blocks that run together: all that is said of blocks here is of these.
  using BlockPointer = std::unique_ptr<Cluster>;

  static std::unique_ptr<Residents> MakeResidents(IdleBlocks* idle, const Launch& launch) {
    const BlockShape shape{launch.program,      launch.kernel,  launch.device,
                           launch.config.block, launch.cluster, launch.config.dynamic_shared_bytes};
    std::unique_ptr<Residents> residents = idle != nullptr ? idle->Take(shape) : nullptr;
    return residents != nullptr ? std::move(residents) : std::make_unique<Residents>(shape);
  }

  // Of blocks that are there, or can begin.
  void StartHelpers(std::vector<std::thread>* helpers) {
    const uint64_t work = parked_.size() + (total_ - next_);
    try {
      for (uint64_t i = 1; i < std::min<uint64_t>(static_cast<uint64_t>(threads_), work); ++i) {
        helpers->emplace_back([this] { Work(nullptr); });
      }
    } catch (const std::system_error&) {  // those that there are do it
    } catch (const std::bad_alloc&) {
    }
  }

  // Starts `helpers`, unless that is null, when there turns out to be much to do.
  void Work(std::vector<std::thread>* helpers) {
    uint64_t alone = 0;
    try {
      PagesThatMayGo pages;
      TranslationCache cache(mmu_, launch_.device, &used_);
      uint64_t index = 0;
      BlockPointer block;
      while (TakeBlock(&block, &index)) {
        if (block == nullptr) block = std::make_unique<Cluster>(context_);
        if (index != kParked) block->Start(index);
        alone += RunFor(&cache, std::move(block), helpers != nullptr ? 1 : kChunks);
        if (pages.gone() != nullptr) return NoteGone(pages.gone());
        if (helpers == nullptr || alone < kAlone) continue;
        StartHelpers(std::exchange(helpers, nullptr));
      }
    } catch (const std::bad_alloc&) {
      NoteNoMemory();
    }
  }

  // Memory of the host that was there when a block began to use it.
  void NoteGone(const void* address) {
    const std::lock_guard lock(mutex_);
    if (fault_.kind != GridFault::kNone) return;
    fault_.kind = GridFault::kIllegalAddress;
    fault_.address = DeviceAddress(reinterpret_cast<uint64_t>(address));
    fault_.size = Bytes(1);
    fault_.access = Access::kReadWrite;
    fault_.kernel.swap(name_);
  }

  void NoteNoMemory() {
    const std::lock_guard lock(mutex_);
    if (fault_.kind != GridFault::kNone) return;
    fault_.kind = GridFault::kOutOfMemory;
    fault_.kernel.swap(name_);
  }

  // A block to go on with, or an empty one, or null, to begin block *index. False: there is none
  // now, or the slice is over.
  bool TakeBlock(BlockPointer* block, uint64_t* index) {
    const std::lock_guard lock(mutex_);
    if (fault_.kind != GridFault::kNone || left_ <= 0) return false;
    const uint64_t most =
        context_.holds_waits ? std::min(kMostHeld, most_resident_) : most_resident_;
    const bool can_begin = next_ < total_ && resident_ < most;
    if (can_begin && (parked_.empty() || begin_next_)) {
      begin_next_ = false;
      *index = next_++;
      ++resident_;
      block->reset();
      if (unused_.empty()) return true;
      *block = std::move(unused_.back());
      unused_.pop_back();
      return true;
    }
    // All have polled, one of them twice: they wait for something outside.
    if (parked_.empty() || quiet_ > resident_) return false;
    *block = std::move(parked_.front());
    parked_.pop_front();
    *index = kParked;
    return true;
  }

  // Tells what work it did.
  uint64_t RunFor(TranslationCache* cache, BlockPointer block, int chunks) {
    bool polls = false;
    bool looked = false;  // at what others may write
    bool got_on = false;
    const uint64_t begun = block->work();
    uint64_t before = begun;
    Block::State state = Block::State::kRunning;
    for (int i = 0; i < chunks && state == Block::State::kRunning && !polls && left_ > 0; ++i) {
      mmu_.FollowTeams();
      const std::shared_lock lock(mmu_.mutex);
      state = block->Run(cache, kChunk);
      left_ -= static_cast<int64_t>(block->instructions());
      looked |= block->polls() != 0;
      polls = block->polls() != 0 && block->changes() == 0;
      ++block->chunks;
      got_on |= !polls;
      const uint64_t work = block->work();
      if (!polls) {
        unfinished_work_ += work - before;
        block->counted_work += work - before;
        CountFruitless(block.get(), work - before);
      }
      before = work;
      if (state == Block::State::kDone) block->LetNextStart();
      if (PagesThatMayGo::Current()->gone() != nullptr) break;
      // The kernel behind this one is to start at once.
      if (LetsNextStart() && !let_next_start_.exchange(true)) left_ = 0;
    }
    const std::lock_guard lock(mutex_);
    polls &= state == Block::State::kRunning;
    got_on |= !polls;
    progress_ |= got_on;
    quiet_ = got_on ? 0 : quiet_ + 1;
    // What it waits for may be a block that has not begun, even if it does other things meanwhile.
    if (looked) block->chunks = 0;
    const bool goes_on = !looked && block->chunks < kChunksOfIndependent;
    begin_next_ = polls || (!goes_on && ++turns_ % kTurnsPerBegin == 0);
    if (state == Block::State::kRunning) {
      if (goes_on) {
        parked_.push_front(std::move(block));
      } else {
        parked_.push_back(std::move(block));
      }
      return before - begun;
    }
    --resident_;
    unfinished_work_ -= block->counted_work;
    fruitless_work_ -= block->fruitless_work;
    block->EndThreads(&clocks_);
    if (state == Block::State::kFaulted && fault_.kind == GridFault::kNone) fault_ = block->fault();
    unused_.push_back(std::move(block));
    return before - begun;
  }

  void CountFruitless(Cluster* block, uint64_t work) {
    if (block->results() != 0) {
      fruitless_work_ -= std::exchange(block->fruitless_work, 0);
    } else {
      fruitless_work_ += work;
      block->fruitless_work += work;
    }
  }

  static constexpr uint64_t kParked = ~uint64_t{0};

  static inline std::atomic<void*> kept_{nullptr};  // memory of none

  Mmu& mmu_;
  const Launch launch_;
  const int threads_;
  std::string name_ = launch_.kernel->name;
  std::unique_ptr<Residents> residents_;
  GridContext& context_ = residents_->context;
  uint64_t total_ = 0;
  uint64_t most_resident_ = 1;
  bool busy_ = false;             // the last slice ended with work for several threads
  std::atomic<int64_t> left_{0};  // thread-instructions of this slice
  std::atomic<uint64_t> unfinished_work_{0};
  std::atomic<uint64_t> fruitless_work_{0};
  std::atomic<uint64_t> holding_{0};  // blocks that do not let the next kernel start
  std::atomic<bool> let_next_start_{false};
  UsedMappings used_;

  std::mutex hazards_mutex_;
  std::set<std::pair<std::string, std::string>> hazards_;  // that were reported, by instructions

  std::mutex mutex_;  // guards the rest
  uint64_t next_ = 0;
  uint64_t resident_ = 0;
  bool begin_next_ = false;         // before those that are parked
  std::list<BlockPointer> parked_;  // takes no memory while there are none, as a deque does
  std::vector<BlockPointer>& unused_ = residents_->unused;
  uint64_t turns_ = 0;
  uint64_t quiet_ = 0;     // turns since a block got anywhere
  bool progress_ = false;  // in this slice
  GridFault fault_;
  coherence::Clocks clocks_;
};

std::shared_ptr<IdleBlocks> MakeIdleBlocks() { return std::make_shared<IdleBlocks>(); }
void Forget(IdleBlocks& idle, const Program* program) { idle.Forget(program); }

Grid::Grid(const GridEnvironment& environment, Launch launch, int threads)
    : impl_(std::make_unique<Impl>(environment, std::move(launch), threads)) {}
Grid::~Grid() = default;

void Grid::StartAfter(const coherence::Clocks& before) { impl_->StartAfter(before); }
void Grid::HoldWaits() { impl_->HoldWaits(); }
void Grid::ReleaseWaits(const coherence::Clocks& ahead) { impl_->ReleaseWaits(ahead); }
bool Grid::LetsNextStart() const { return impl_->LetsNextStart(); }
Grid::State Grid::Run(uint64_t instructions) { return impl_->Run(instructions); }
const GridFault& Grid::fault() const { return impl_->fault(); }
const coherence::Clocks& Grid::clocks() const { return impl_->clocks(); }
uint64_t Grid::unfinished_work() const { return impl_->unfinished_work(); }
uint64_t Grid::fruitless_work() const { return impl_->fruitless_work(); }
std::string Grid::WhoWaits() const { return impl_->WhoWaits(); }
bool Grid::HasUsed(uint32_t mapping) const { return impl_->HasUsed(mapping); }

}  // namespace twinmmu::ptx

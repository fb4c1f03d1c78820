#include "sim/ptx/run/async/cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace twinmmu::ptx {
namespace {

// Steps of a block before the next one of its cluster has its turn.
constexpr uint64_t kTurn = 512;
// Blocks that a message tells of.
constexpr size_t kMostBlocks = 4;

}  // namespace

Cluster::Cluster(const GridContext& grid) : grid_(grid) {
  const uint32_t size = grid.cluster.x * grid.cluster.y * grid.cluster.z;
  for (uint32_t rank = 0; rank < size; ++rank) {
    blocks_.push_back(std::make_unique<Block>(grid, this, rank));
  }
  states_.resize(size);
  arrivals_.resize(size);
}

Dim3 Cluster::PlaceOf(uint32_t rank) const {
  const Dim3& size = grid_.cluster;
  return Dim3{rank % size.x, rank / size.x % size.y, rank / size.x / size.y};
}

void Cluster::Start(uint64_t index) {
  first_thread_ = 0;
  const Dim3& grid = grid_.launch->config.grid;
  const Dim3& size = grid_.cluster;
  const uint64_t x = grid.x / size.x;
  const uint64_t y = grid.y / size.y;
  index_ = Dim3{static_cast<uint32_t>(index % x), static_cast<uint32_t>(index / x % y),
                static_cast<uint32_t>(index / x / y)};
  counted_work = 0;
  fruitless_work = 0;
  chunks = 0;
  used_ = false;
  meeting_ = {};
  passed_ = {};
  for (uint32_t rank = 0; rank < blocks_.size(); ++rank) {
    const Dim3 place = PlaceOf(rank);
    blocks_[rank]->Start(Dim3{index_.x * size.x + place.x, index_.y * size.y + place.y,
                              index_.z * size.z + place.z});
    states_[rank] = Block::State::kRunning;
    arrivals_[rank] = {};
  }
}

Block::State Cluster::Run(TranslationCache* cache, uint64_t steps) {
  polls_ = 0;
  changes_ = 0;
  results_ = 0;
  instructions_ = 0;
  for (const std::unique_ptr<Block>& block : blocks_) block->set_cache(cache);
  const bool alone = blocks_.size() == 1;
  bool advanced = false;
  for (uint64_t done = 0; done < steps; done += kTurn * blocks_.size()) {
    advanced = false;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (states_[i] == Block::State::kDone) continue;
      Block& block = *blocks_[i];
      states_[i] = block.Run(cache, alone ? steps : kTurn);
      polls_ += block.polls();
      changes_ += block.changes();
      results_ += block.results();
      instructions_ += block.instructions();
      if (states_[i] == Block::State::kFaulted) return Block::State::kFaulted;
      // One that is stuck now may have let others go on.
      advanced |= states_[i] != Block::State::kStuck || block.instructions() != 0;
    }
    if (alone || !advanced) break;
  }
  const auto done = [](Block::State state) { return state == Block::State::kDone; };
  if (std::all_of(states_.begin(), states_.end(), done)) return Block::State::kDone;
  if (advanced) return Block::State::kRunning;
  const auto stuck = std::find(states_.begin(), states_.end(), Block::State::kStuck);
  if (stuck == states_.end()) return Block::State::kRunning;
  blocks_[static_cast<size_t>(stuck - states_.begin())]->NoteDeadlock();
  return Block::State::kFaulted;
}

const GridFault& Cluster::fault() const {
  for (const std::unique_ptr<Block>& block : blocks_) {
    if (block->fault().kind != GridFault::kNone) return block->fault();
  }
  return blocks_.front()->fault();
}

void Cluster::EndThreads(coherence::Clocks* clocks) {
  for (const std::unique_ptr<Block>& block : blocks_) block->EndThreads(clocks);
}

uint64_t Cluster::bytes() const {
  uint64_t bytes = 0;
  for (const std::unique_ptr<Block>& block : blocks_) bytes += block->bytes();
  return bytes;
}

uint64_t Cluster::work() const {
  uint64_t work = 0;
  for (const std::unique_ptr<Block>& block : blocks_) work += block->work();
  return work;
}

void Cluster::LetNextStart() {
  for (const std::unique_ptr<Block>& block : blocks_) block->LetNextStart();
}

std::string Cluster::WhoWaits() const {
  std::vector<std::string> words;
  for (const std::unique_ptr<Block>& block : blocks_) {
    if (block->ended()) continue;
    if (words.size() == kMostBlocks) {
      words.push_back("others of the cluster wait or run, too");
      break;
    }
    const Dim3& at = block->index();
    words.push_back(
        absl::StrCat("block (", at.x, ", ", at.y, ", ", at.z, ") has ", block->WhoWaits()));
  }
  return absl::StrJoin(words, "; ");
}

// --- The barrier ---------------------------------------------------------------------------------

Lanes Cluster::Arrived(const Block& block, int warp) const {
  const OfWarp& of = At(block, warp);
  return of.here | of.passed;
}

Lanes Cluster::Waiting(const Block& block, int warp) const { return ~At(block, warp).passed; }

void Cluster::Arrive(Block& block, int warp, Lanes lanes, bool releases) {
  At(block, warp).here |= lanes;
  used_ = true;
  if (releases && block.aliases().active()) block.threads().Arrive(&meeting_, warp, lanes);
  PassIfComplete();
}

void Cluster::Leave(Block& block, int warp, Lanes lanes) {
  At(block, warp).passed &= ~lanes;
  if (block.aliases().active()) block.threads().Leave(&passed_, warp, lanes);
}

void Cluster::Ended() {
  if (used_) PassIfComplete();
}

uint32_t Cluster::Live() const {
  uint32_t live = 0;
  for (const std::unique_ptr<Block>& block : blocks_) live += block->live_threads();
  return live;
}

uint32_t Cluster::Here() const {
  uint32_t here = 0;
  for (const std::unique_ptr<Block>& block : blocks_) {
    for (const std::unique_ptr<Warp>& warp : block->warps()) {
      const Lanes lanes = At(*block, warp->number()).here & warp->live();
      here += static_cast<uint32_t>(__builtin_popcount(lanes));
    }
  }
  return here;
}

void Cluster::PassIfComplete() {
  const uint32_t here = Here();
  if (here == 0 || here < Live()) return;
  for (std::array<OfWarp, kMaxWarps>& block : arrivals_) {
    for (OfWarp& of : block) of.passed |= std::exchange(of.here, 0);
  }
  passed_ = std::exchange(meeting_, {});
  for (const std::unique_ptr<Block>& block : blocks_) {
    block->Synchronize();
    block->PassClusterBarrier();
  }
}

std::string Cluster::BarrierInWords() const {
  return absl::StrCat("the barrier of the cluster, which has ", Here(), " of ", Live(), " threads");
}

}  // namespace twinmmu::ptx

#include "sim/ptx/run/block.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/ptx/run/async/cluster.h"

namespace twinmmu::ptx {
namespace {

// Steps of a warp before the next one has its turn.
constexpr uint64_t kTurn = 512;
constexpr int kWarpsOfGroup = 4;

}  // namespace

Block::Block(const GridContext& grid, Cluster* cluster, uint32_t rank)
    : grid_(grid), cluster_(*cluster), rank_(rank), taken_(&grid.environment.mmu->host_memory) {
  const uint64_t shared = grid.reserved_shared + grid.shared_bytes();
  taken_.Resize(shared);
  shared_.reserve(shared + sizeof(uint64_t));  // ProxyWrites looks at whole words
  shared_.resize(shared);
  const uint32_t warps = (grid.threads() + kLanes - 1) / kLanes;
  states_.resize(warps);
  for (uint32_t i = 0; i < warps; ++i) {
    warps_.push_back(std::make_unique<Warp>(this, static_cast<int>(i)));
  }
}

uint64_t Block::bytes() const {
  uint64_t bytes = taken_.bytes();
  for (const std::unique_ptr<Warp>& warp : warps_) bytes += warp->bytes();
  return bytes;
}

void Block::Start(const Dim3& index) {
  const Dim3& size = grid_.launch->config.grid;
  flat_index_ = index.x + size.x * (index.y + uint64_t{size.y} * index.z);
  index_ = index;
  next_ = 0;
  left_of_turn_ = kTurn;
  live_threads_ = grid_.threads();
  lets_next_start_ = false;
  stops_ = false;
  std::fill(shared_.begin(), shared_.end(), 0);
  barriers_.fill(Barrier());
  mbarriers_.Clear();
  const Profile& profile = grid_.environment.mmu->profile;
  if (grid_.kernel->bulk_copies &&
      (profile.alias_check || profile.alias_policy != coherence::Policy::kCoherent)) {
    proxy_writes_ = std::make_unique<ProxyWrites>();
  }
  fault_ = GridFault();
  for (const std::unique_ptr<Warp>& warp : warps_) warp->Start();
  std::fill(states_.begin(), states_.end(), Warp::State::kRunnable);
}

SiteTable::Site GridContext::FirstSite() const {
  const auto part = static_cast<uint32_t>(launch->kernel - launch->program->kernels().data());
  return environment.sites->Add(launch->program, part, code->sites,
                                absl::StrCat("kernel ", launch->kernel->name));
}

BlockThreads& Block::threads() {
  if (threads_ != nullptr) return *threads_;
  const Launch& launch = *grid_.launch;
  const coherence::Origin origin{launch.call_id,
                                 {index_.x, index_.y, index_.z},
                                 {launch.config.block.x, launch.config.block.y}};
  threads_ = std::make_unique<BlockThreads>(&aliases(), grid_.threads(), launch.device.value(),
                                            static_cast<int>(sm()), grid_.before, grid_.FirstSite(),
                                            cluster().first_thread(), origin);
  cluster().SetFirstThread(threads_->FirstOf(0));
  return *threads_;
}

void Block::Begin(const UnwaitedCopies::Copy& copy) {
  if (!grid_.environment.mmu->profile.race_check) return;
  if (unwaited_copies_ == nullptr) {
    unwaited_copies_ = std::make_unique<UnwaitedCopies>();
    for (const std::unique_ptr<Warp>& warp : warps_) warp->set_meets_copies();
  }
  unwaited_copies_->Begin(copy);
}

void Block::EndThreads(coherence::Clocks* clocks) {
  aliases().Forget(shared_.data(), shared_.size());
  copies_.reset();
  proxy_writes_.reset();
  unwaited_copies_.reset();
  if (threads_ == nullptr) return;
  threads_->End(clocks);
  threads_.reset();
}

Dim3 Block::ThreadAt(int warp, int lane) const {
  const Dim3& size = grid_.launch->config.block;
  const uint32_t thread = static_cast<uint32_t>(warp * kLanes + lane);
  return Dim3{thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
}

Block::State Block::Run(TranslationCache* cache, uint64_t steps) {
  cache_ = cache;
  polls_ = 0;
  changes_ = 0;
  results_ = 0;
  instructions_ = 0;
  if (copies_ != nullptr && !copies_->NextSlice()) return State::kFaulted;
  // Warps in a row that wait or gave way: if all do, it is the turn of others.
  for (size_t idle = 0; steps != 0 && idle <= warps_.size();) {
    const size_t i = next_;
    if (states_[i] != Warp::State::kRunnable) {
      BeginTurnOfNext();
      ++idle;
      continue;
    }
    Warp& warp = *warps_[i];
    const uint64_t polls_before = warp.polls;
    const uint64_t changes_before = warp.changes;
    const uint64_t results_before = warp.results;
    const uint64_t instructions_before = warp.instructions;
    const uint64_t turn = std::min(steps, left_of_turn_);
    uint64_t left = turn;
    states_[i] = warp.Run(&left);
    steps -= turn - left;
    // A turn that ends only with the slice goes on in the next one.
    left_of_turn_ -= turn;
    if (left != 0 || left_of_turn_ == 0) BeginTurnOfNext();
    polls_ += warp.polls - polls_before;
    changes_ += warp.changes - changes_before;
    results_ += warp.results - results_before;
    instructions_ += warp.instructions - instructions_before;
    idle = warp.gave_way() ? idle + 1 : 0;
    if (std::exchange(stops_, false)) steps = 0;
    if (states_[i] == Warp::State::kFaulted) return State::kFaulted;
  }
  if (live_threads_ == 0) {
    return copies_ == nullptr || copies_->FinishAll() ? State::kDone : State::kFaulted;
  }
  const bool stuck = std::none_of(states_.begin(), states_.end(), [](Warp::State state) {
    return state == Warp::State::kRunnable;
  });
  if (!stuck) return State::kRunning;
  if (copies_ == nullptr || copies_->empty()) return State::kStuck;
  return copies_->FinishAll() ? State::kRunning : State::kFaulted;
}

void Block::BeginTurnOfNext() {
  next_ = (next_ + 1) % warps_.size();
  left_of_turn_ = kTurn;
}

// Of the first warp that waits.
void Block::NoteDeadlock() {
  const auto found = std::find(states_.begin(), states_.end(), Warp::State::kBlocked);
  Warp& warp = *warps_[static_cast<size_t>(found - states_.begin())];
  warp.Fault(GridFault::kDeadlock, warp.running().lanes, WhoWaits());
}

uint64_t Block::work() const {
  uint64_t work = 0;
  for (const std::unique_ptr<Warp>& warp : warps_) work += warp->work;
  return work;
}

// --- The grids ahead and behind ------------------------------------------------------------------

bool Block::LetNextStart() {
  if (std::exchange(lets_next_start_, true)) return false;
  stops_ = --*grid_.holding == 0;
  return stops_;
}

void Block::PassGridWait(int warp, Lanes lanes) {
  if (aliases().active() && !grid_.ahead.empty()) threads().Boundary(warp, lanes, grid_.ahead);
}

// --- Barriers ------------------------------------------------------------------------------------

bool Block::Arrive(Warp& warp, const Arrival& arrival) {
  Barrier& barrier = barriers_[static_cast<size_t>(arrival.barrier)];
  if (barrier.warps == 0) barrier.expected = arrival.threads;
  if (barrier.expected != arrival.threads || arrival.threads % kLanes != 0) return false;
  barrier.lanes[static_cast<size_t>(warp.number())] |= arrival.lanes;
  barrier.warps |= uint32_t{1} << warp.number();
  barrier.votes.count += static_cast<uint32_t>(__builtin_popcount(arrival.votes));
  barrier.votes.all &= arrival.votes == arrival.lanes;
  if (aliases().active()) threads().Arrive(arrival.barrier, warp.number(), arrival.lanes);
  PassIfComplete(arrival.barrier);
  return true;
}

uint32_t Block::ArrivedAt(const Barrier& barrier) const {
  uint32_t arrived = 0;
  for (uint32_t warps = barrier.warps; warps != 0; warps &= warps - 1) {
    const size_t i = static_cast<size_t>(__builtin_ctz(warps));
    const Lanes live = warps_[i]->live();
    // One that is for a number of threads counts warps as a whole: lanes that ended, or never
    // were, come with the others.
    const Lanes lanes = barrier.expected == 0 ? barrier.lanes[i] & live : barrier.lanes[i] | ~live;
    arrived += static_cast<uint32_t>(__builtin_popcount(lanes));
  }
  return arrived;
}

void Block::PassIfComplete(int number) {
  Barrier& barrier = barriers_[static_cast<size_t>(number)];
  if (barrier.warps == 0) return;
  const uint32_t expected = barrier.expected != 0 ? barrier.expected : live_threads_;
  const auto warps_there = static_cast<uint32_t>(__builtin_popcount(barrier.warps));
  // Most often some are missing, which their number tells.
  if (warps_there * kLanes < expected || ArrivedAt(barrier) < expected) return;
  ++changes_;
  for (uint32_t warps = barrier.warps; warps != 0; warps &= warps - 1) {
    const size_t i = static_cast<size_t>(__builtin_ctz(warps));
    warps_[i]->PassBarrier(number);
    if (states_[i] == Warp::State::kBlocked) states_[i] = Warp::State::kRunnable;
  }
  barrier = Barrier();
  Synchronize();
  if (threads_ != nullptr) threads_->Close(number);
}

void Block::Leave(int barrier, int warp, Lanes lanes) {
  if (threads_ != nullptr) threads_->Leave(barrier, warp, lanes);
}

void Block::PassWarpgroup(int warp) {
  const size_t first = static_cast<size_t>(warp / kWarpsOfGroup * kWarpsOfGroup);
  const size_t end = std::min(first + kWarpsOfGroup, warps_.size());
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (size_t i = first; i < end; ++i) {
    if (warps_[i]->live() != 0) least = std::min(least, warps_[i]->product_groups());
  }
  for (size_t i = first; i < end; ++i) {
    if (!warps_[i]->PassWarpgroup(least)) continue;
    ++changes_;
    if (states_[i] == Warp::State::kBlocked) states_[i] = Warp::State::kRunnable;
  }
}

void Block::Ended(Lanes lanes) {
  live_threads_ -= static_cast<uint32_t>(__builtin_popcount(lanes));
  for (int i = 0; i < kBarriers; ++i) PassIfComplete(i);
  cluster_.Ended();
}

// --- The cluster ---------------------------------------------------------------------------------

Block* Block::OwnerOf(uint64_t address) {
  const uint64_t rank = address >> kSharedOfBlockBits;
  return rank == rank_ ? this : cluster_.BlockOf(rank);
}

char* Block::SharedAt(uint64_t address, uint64_t size) {
  Block* const owner = OwnerOf(address);
  if (owner == nullptr || (owner != this && owner->ended())) return nullptr;
  const uint64_t offset = address - owner->shared_base();
  const uint64_t room = owner->shared_.size();
  return size <= room && offset <= room - size ? owner->shared_.data() + offset : nullptr;
}

AsyncCopies& Block::copies() {
  if (copies_ == nullptr) copies_ = std::make_unique<AsyncCopies>(this);
  return *copies_;
}

bool Block::DriveCopies(uint32_t mbarrier) {
  for (uint32_t rank = 0; rank < cluster_.size(); ++rank) {
    Block& other = *cluster_.BlockOf(rank);
    if (other.copies_ != nullptr && !other.copies_->Drive(mbarrier)) return false;
  }
  return true;
}

void Block::PassClusterBarrier() {
  for (size_t i = 0; i < warps_.size(); ++i) {
    warps_[i]->PassClusterBarrier();
    if (states_[i] == Warp::State::kBlocked) states_[i] = Warp::State::kRunnable;
  }
}

}  // namespace twinmmu::ptx

#include "sim/ptx/run/warp.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "sim/ptx/run/async/cluster.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

// What a group may do while another could run: so many backward branches, each of which counts for
// many if the group has looked meanwhile at what others may write.
constexpr int kPatience = 1 << 16;
// How often a loop only polls before its warp gives way: once more each time, as it may count how
// long it waits.
constexpr int kFewIdleLoops = 4;
constexpr int kMostIdleLoops = 1 << 12;
constexpr int kPollingCosts = 1 << 11;
// Steps for another group then.
constexpr uint64_t kTurn = 512;

}  // namespace

Warp::Warp(Block* block, int number)
    : block_(*block), number_(number), taken_(&block->grid().environment.mmu->host_memory) {}

void Warp::Start() {
  const uint32_t threads = block_.grid().threads() - static_cast<uint32_t>(number_) * kLanes;
  live_ = threads >= kLanes ? kAllLanes : (Lanes{1} << threads) - 1;
  clock = 0;
  work = 0;
  group_count_ = 1;
  turns_ = 0;
  product_groups_ = 0;
  rotate_ = false;
  meets_copies_ = block_.proxy_writes() != nullptr;
  watched_ = block_.aliases().watches_all();
  patience_ = kPatience;
  for (Frame* frame : used_) unused_.push_back(frame);
  used_.clear();
  Frame* frame = nullptr;
  groups_[0] = Group();
  groups_[0].lanes = live_;
  if (!Enter(block_.grid().function(), nullptr, 0, live_, &frame)) group_count_ = 0;
  groups_[0].frame = frame;
}

void Warp::KeepOnly(Lanes lanes, uint32_t pc) {
  const Lanes rest = running().lanes & ~lanes;
  if (rest == 0) return;
  Group& other = groups_[group_count_++];
  other = Group();
  other.frame = running().frame;
  other.pc = pc;
  other.lanes = rest;
  running().lanes &= lanes;
}

void Warp::Exit() {
  const Lanes lanes = running().lanes;
  for (Frame* frame = running().frame; frame != nullptr;) {
    Frame* const parent = frame->parent;
    Leave(frame, lanes);
    frame = parent;
  }
  live_ &= ~lanes;
  groups_[0] = groups_[--group_count_];
  // Who waited for these lanes looks again.
  for (int i = 0; i < group_count_; ++i) {
    Group& group = groups_[i];
    if (group.wait == Group::kGathering || group.wait == Group::kWarpBarrier) {
      group.wait = Group::kNothing;
    }
  }
  if (live_ == 0) block_.PassWarpgroup(number_);
  block_.Ended(lanes);
}

void Warp::WaitForMasks(Group::Wait wait, const uint32_t* masks) {
  for (;;) {
    Group& group = running();
    const Lanes lanes = group.lanes;
    const Lanes alike = LanesLikeFirst(masks, lanes);
    group.wait = wait;
    group.mask = masks[__builtin_ctz(lanes)];
    KeepOnly(alike, group.pc);
    if (alike == lanes) return;
    std::swap(groups_[0], groups_[group_count_ - 1]);  // those that are left
  }
}

void Warp::PassWarpBarriers() {
  for (int i = 0; i < group_count_; ++i) {
    if (groups_[i].wait != Group::kWarpBarrier) continue;
    const Lanes mask = groups_[i].mask;
    const auto is_there = [&](const Group& group) {
      return group.wait == Group::kWarpBarrier && group.mask == mask;
    };
    Lanes there = 0;
    for (int j = 0; j < group_count_; ++j) there |= is_there(groups_[j]) ? groups_[j].lanes : 0;
    if ((mask & live_ & ~there) != 0) continue;
    for (int j = 0; j < group_count_; ++j) {
      Group& group = groups_[j];
      if (!is_there(group)) continue;
      group.wait = Group::kNothing;
      ++group.pc;
      NoteWarpBarrier(there, group.lanes);
    }
  }
}

void Warp::NoteWarpBarrier(Lanes met, Lanes go_on) {
  block_.Synchronize();
  if (block_.aliases().active()) block_.threads().Meet(number_, met, go_on);
}

namespace {

// Whether `a` goes before `b`: the deepest call, then the smallest place.
bool GoesFirst(const Group& a, const Group& b) {
  if (a.frame->depth != b.frame->depth) return a.frame->depth > b.frame->depth;
  return a.frame == b.frame && a.pc < b.pc;
}

}  // namespace

// Brings the group to run to the front, with all lanes that are where it is. False: none can run.
bool Warp::Choose() {
  int best = -1;
  int ready = 0;
  for (int i = 0; i < group_count_; ++i) {
    if (groups_[i].wait != Group::kNothing) continue;
    ++ready;
    const bool better = best < 0 || (rotate_ ? groups_[i].ran < groups_[best].ran
                                             : GoesFirst(groups_[i], groups_[best]));
    if (better) best = i;
  }
  if (best < 0) return false;
  std::swap(groups_[0], groups_[best]);
  Group& chosen = groups_[0];
  chosen.ran = ++turns_;
  limit_ = std::numeric_limits<uint32_t>::max();
  for (int i = 1; i < group_count_;) {
    Group& group = groups_[i];
    const bool waits = group.wait != Group::kNothing && group.wait != Group::kGathering;
    if (!waits && group.frame == chosen.frame && group.pc == chosen.pc) {
      chosen.lanes |= group.lanes;
      ready -= group.wait == Group::kNothing;
      group = groups_[--group_count_];
      continue;
    }
    const bool ahead = !waits && group.frame == chosen.frame && group.pc > chosen.pc;
    if (ahead && (!rotate_ || group.wait == Group::kGathering)) limit_ = std::min(limit_, group.pc);
    ++i;
  }
  contended_ = ready > 1;
  return true;
}

// The only group that can run goes back. Whether it has done nothing for some loops but read the
// same place, so that it is for others to do something.
bool Warp::OnlyPolls() {
  const bool idle = repeats_ != repeats_before_ && changes == changes_before_;
  repeats_before_ = repeats_;
  changes_before_ = changes;
  idle_loops_ = idle ? idle_loops_ + 1 : 0;
  if (!idle) idle_limit_ = kFewIdleLoops;
  if (idle_loops_ < idle_limit_) return false;
  idle_loops_ = 0;
  idle_limit_ = std::min(idle_limit_ + 1, kMostIdleLoops);
  gave_way_ = true;
  return true;
}

// The running group branches from `pc` to `next`. True: others shall run for a while.
bool Warp::LosesPatience(uint32_t pc, uint32_t next) {
  if (next > pc) return false;
  if (!contended_) return OnlyPolls();
  patience_ -= polls != polls_before_ ? kPollingCosts : 1;
  polls_before_ = polls;
  rotate_ = patience_ <= 0;
  if (rotate_) patience_ = kPatience;
  return rotate_;
}

Flow Warp::Execute(uint64_t* steps) {
  Group& group = running();
  const Step* const code = group.frame->function->steps.data();
  char* const registers = group.frame->data();
  const Lanes active = group.lanes;
  const auto threads = static_cast<uint64_t>(__builtin_popcount(active));
  const uint64_t most = rotate_ ? std::min(*steps, kTurn) : *steps;
  const uint64_t started = clock;
  rotate_ = false;
  uint64_t done = 0;
  uint32_t pc = group.pc;
  Flow flow = Flow::kNext;
  while (pc < limit_ && done < most) {
    const Step& step = code[pc];
    Lanes lanes = active;
    if (step.guard != kNoSlot) {
      Lanes holds;
      std::memcpy(&holds, registers + step.guard, sizeof(holds));
      lanes &= step.guard_negated ? ~holds : holds;
    }
    ++done;
    if (step.compute != nullptr) {
      if (lanes != 0) step.compute(step.operands.data(), registers, lanes);
      ++pc;
    } else if (step.branches && (lanes == active || lanes == 0)) {
      const uint32_t from = pc;
      pc = lanes != 0 ? step.target : pc + 1;
      if (LosesPatience(from, pc)) break;
      if (pc <= from && group_count_ > 1) break;  // others may be there, of which the limit is not
    } else {
      group.pc = pc;
      clock = started + done;
      work += lanes == active ? threads : static_cast<uint64_t>(__builtin_popcount(lanes));
      flow = step.perform(*this, step, lanes);
      if (flow != Flow::kNext) break;
      ++pc;
    }
  }
  if (flow == Flow::kNext) group.pc = pc;
  instructions += done * threads;
  work += done;
  clock = started + done;
  *steps -= done;
  return flow;
}

Warp::State Warp::Run(uint64_t* steps) {
  gave_way_ = false;
  while (*steps != 0) {
    if (!Choose()) return group_count_ == 0 ? State::kDone : State::kBlocked;
    const Flow flow = Execute(steps);
    if (flow == Flow::kFault) return State::kFaulted;
    if (gave_way_) break;
    if (flow == Flow::kYield) {
      rotate_ = contended_;
      break;
    }
  }
  return group_count_ == 0 ? State::kDone : State::kRunnable;
}

CodePlace Warp::PlaceOf(const Group& group, uint32_t before) const {
  const Code& code = *block_.grid().code;
  const FunctionCode& function = *group.frame->function;
  return ptx::PlaceOf(code, static_cast<size_t>(&function - code.functions.data()),
                      static_cast<size_t>(function.steps[group.pc - before].instruction));
}

// A step says kFault if it could not.
Flow Warp::Fault(GridFault::Kind kind, Lanes lanes, const std::string& words) {
  GridFault& fault = block_.fault();
  fault.kind = kind;
  fault.kernel = block_.grid().function().name;
  fault.place = PlaceOf(running());
  fault.thread = block_.ThreadAt(number_, lanes != 0 ? __builtin_ctz(lanes) : 0);
  fault.block = block_.index();
  fault.words = words;
  return Flow::kFault;
}

// Lanes that wait for it at one step may have come there one after the other, which is no matter.
void Warp::NoteDivergence(int barrier) {
  const Group* first = nullptr;
  for (int i = 0; i < group_count_; ++i) {
    const Group& group = groups_[i];
    if (group.wait != Group::kBarrier || group.barrier != barrier) continue;
    const Step& step = group.frame->function->steps[group.pc];
    if ((step.detail & kAligned) == 0) continue;
    if (first == nullptr) first = &group;
    const Step& other = first->frame->function->steps[first->pc];
    if (&step == &other) continue;
    block_.ReportDivergence(
        {first->frame->function, other.instruction, number_, __builtin_ctz(first->lanes)},
        {group.frame->function, step.instruction, number_, __builtin_ctz(group.lanes)});
  }
}

void Warp::PassBarrier(int barrier) {
  if (watched_ && block_.grid().environment.mmu->profile.race_check) NoteDivergence(barrier);
  const Block::Votes& votes = block_.votes(barrier);
  for (int i = 0; i < group_count_; ++i) {
    Group& group = groups_[i];
    if (group.wait != Group::kBarrier || group.barrier != barrier) continue;
    const Step& step = group.frame->function->steps[group.pc];
    group.wait = Group::kNothing;
    ++group.pc;
    TakeVotes(step, votes.count, votes.all, group.lanes, group.frame->data());
    block_.Leave(barrier, number_, group.lanes);
  }
}

void Warp::PassClusterBarrier() {
  for (int i = 0; i < group_count_; ++i) {
    Group& group = groups_[i];
    if (group.wait != Group::kCluster) continue;
    group.wait = Group::kNothing;
    ++group.pc;
    block_.cluster().Leave(block_, number_, group.lanes);
  }
}

void Warp::CommitProducts() {
  ++product_groups_;
  block_.PassWarpgroup(number_);
}

void Warp::WaitForProducts(uint64_t pending) {
  awaited_groups_ = product_groups_ - std::min(product_groups_, pending);
  running().wait = Group::kWarpgroup;
  block_.PassWarpgroup(number_);
}

bool Warp::PassWarpgroup(uint64_t least) {
  bool passed = false;
  for (int i = 0; i < group_count_; ++i) {
    Group& group = groups_[i];
    if (group.wait != Group::kWarpgroup || awaited_groups_ > least) continue;
    group.wait = Group::kNothing;
    ++group.pc;
    passed = true;
  }
  return passed;
}

}  // namespace twinmmu::ptx

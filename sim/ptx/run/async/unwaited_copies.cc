#include "sim/ptx/run/async/unwaited_copies.h"

#include <algorithm>

namespace twinmmu::ptx {
namespace {

uint64_t NumberOf(const char* memory) { return reinterpret_cast<uintptr_t>(memory); }

bool Meet(const char* a, uint64_t a_size, const char* b, uint64_t b_size) {
  return NumberOf(a) < NumberOf(b) + b_size && NumberOf(b) < NumberOf(a) + a_size;
}

}  // namespace

UnwaitedCopies::Thread& UnwaitedCopies::ThreadAt(int warp, int lane) {
  const auto number = static_cast<size_t>(warp * kLanes + lane);
  if (threads_.size() <= number) threads_.resize(number + 1);
  return threads_[number];
}

void UnwaitedCopies::Begin(const Copy& copy) {
  if (unused_.empty() && copies_.size() == kMostCopies) return;
  if (unused_.empty()) {
    unused_.push_back(static_cast<uint32_t>(copies_.size()));
    copies_.emplace_back();
  }
  const uint32_t number = unused_.back();
  unused_.pop_back();
  Thread& thread = ThreadAt(copy.step.warp, copy.step.lane);
  Noted& noted = copies_[number] = Noted();
  noted.copy = copy;
  noted.group = thread.committed;
  thread.copies.push_back(number);
  by_piece_[NumberOf(copy.to) / kPiece].push_back(number);
  by_piece_[NumberOf(copy.from) / kPiece].push_back(number);
}

void UnwaitedCopies::Remove(const char* memory, uint32_t number) {
  const auto piece = by_piece_.find(NumberOf(memory) / kPiece);
  Numbers& there = piece->second;
  there.erase(std::find(there.begin(), there.end(), number));
  if (there.empty()) by_piece_.erase(piece);
}

template <typename IsOver>
void UnwaitedCopies::End(Thread& thread, const IsOver& is_over) {
  Numbers& numbers = thread.copies;
  const auto is_left = [&](uint32_t number) { return !is_over(copies_[number]); };
  const auto over = std::stable_partition(numbers.begin(), numbers.end(), is_left);
  for (auto number = over; number != numbers.end(); ++number) {
    Remove(copies_[*number].copy.to, *number);
    Remove(copies_[*number].copy.from, *number);
    unused_.push_back(*number);
  }
  numbers.erase(over, numbers.end());
}

void UnwaitedCopies::Commit(int warp, Lanes lanes) {
  for (; lanes != 0; lanes &= lanes - 1) ++ThreadAt(warp, __builtin_ctz(lanes)).committed;
}

void UnwaitedCopies::EndGroups(int warp, Lanes lanes, uint32_t left) {
  for (; lanes != 0; lanes &= lanes - 1) {
    Thread& thread = ThreadAt(warp, __builtin_ctz(lanes));
    End(thread,
        [&](const Noted& noted) { return uint64_t{noted.group} + left < thread.committed; });
  }
}

void UnwaitedCopies::ArriveAt(int warp, Lanes lanes, uint64_t mbarrier) {
  for (; lanes != 0; lanes &= lanes - 1) {
    for (const uint32_t number : ThreadAt(warp, __builtin_ctz(lanes)).copies) {
      if (copies_[number].arrives) continue;
      copies_[number].arrives = true;
      copies_[number].mbarrier = mbarrier;
    }
  }
}

void UnwaitedCopies::EndAtMbarrier(uint64_t mbarrier) {
  if (empty()) return;
  for (Thread& thread : threads_) {
    End(thread, [&](const Noted& noted) { return noted.arrives && noted.mbarrier == mbarrier; });
  }
}

UnwaitedCopies::Meeting UnwaitedCopies::Find(Lanes lanes, const LaneMemory& memory, uint32_t size,
                                             bool writes) const {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    const char* const at = memory[static_cast<size_t>(lane)];
    const uint64_t last = (NumberOf(at) + size - 1) / kPiece;
    for (uint64_t piece = NumberOf(at) / kPiece; piece <= last; ++piece) {
      const auto found = by_piece_.find(piece);
      if (found == by_piece_.end()) continue;
      for (const uint32_t number : found->second) {
        const Copy& copy = copies_[number].copy;
        if (Meet(copy.to, copy.size, at, size)) return {&copy, lane, true};
        if (writes && Meet(copy.from, copy.read, at, size)) return {&copy, lane, false};
      }
    }
  }
  return {};
}

}  // namespace twinmmu::ptx

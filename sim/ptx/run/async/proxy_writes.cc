#include "sim/ptx/run/async/proxy_writes.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

namespace twinmmu::ptx {
namespace {

uint64_t NumberOf(const char* memory) { return reinterpret_cast<uintptr_t>(memory); }

bool IsOf(const ExecutedStep& step, int warp, Lanes lanes) {
  return step.warp == warp && (lanes >> step.lane & 1) != 0;
}

}  // namespace

void ProxyWrites::NoteWrites(const ExecutedStep& step, Lanes lanes, const LaneMemory& memory,
                             uint32_t size) {
  if (words_.size() > kMostWords) words_.clear();
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    const uint64_t first = NumberOf(memory[static_cast<size_t>(lane)]) / kWord;
    const uint64_t last = (NumberOf(memory[static_cast<size_t>(lane)]) + size - 1) / kWord;
    for (uint64_t word = first; word <= last; ++word) {
      const auto [found, is_new] = words_.try_emplace(word);
      Write& write = found->second;
      if (is_new) {
        std::memcpy(write.older.data(), reinterpret_cast<const char*>(word * kWord), kWord);
      }
      write.step = step;
      write.step.lane = lane;
      write.epoch = epoch_;
    }
  }
}

void ProxyWrites::Fence(int warp, Lanes lanes) {
  for (auto at = words_.begin(); at != words_.end();) {
    const Write& write = at->second;
    const bool seen = write.epoch != epoch_ || IsOf(write.step, warp, lanes);
    at = seen ? words_.erase(at) : std::next(at);
  }
}

// Calls visit(number, write) for each of `words` that is in the range, whichever is the faster way.
template <typename Words, typename Visit>
void ProxyWrites::VisitWords(Words& words, const char* memory, uint64_t size, const Visit& visit) {
  const uint64_t first = NumberOf(memory) / kWord;
  const uint64_t end = (NumberOf(memory) + size + kWord - 1) / kWord;
  if (words.size() < end - first) {
    for (auto& [number, write] : words) {
      if (first <= number && number < end) visit(number, write);
    }
    return;
  }
  for (uint64_t word = first; word < end; ++word) {
    const auto found = words.find(word);
    if (found != words.end()) visit(word, found->second);
  }
}

const ExecutedStep* ProxyWrites::FindUnseen(const char* memory, uint64_t size,
                                            uint64_t* offset) const {
  const ExecutedStep* first = nullptr;
  uint64_t least = ~uint64_t{0};
  VisitWords(words_, memory, size, [&](uint64_t word, const Write& write) {
    if (word >= least) return;
    least = word;
    first = &write.step;
  });
  if (first != nullptr) *offset = std::max(least * kWord, NumberOf(memory)) - NumberOf(memory);
  return first;
}

void ProxyWrites::PutOlder(const char* memory, uint64_t size, char* read) const {
  VisitWords(words_, memory, size, [&](uint64_t word, const Write& write) {
    std::memcpy(read + (word * kWord - NumberOf(memory)), write.older.data(), kWord);
  });
}

void ProxyWrites::Forget(const char* memory, uint64_t size) {
  if (words_.empty()) return;
  std::vector<uint64_t> gone;
  VisitWords(words_, memory, size, [&](uint64_t word, const Write&) { gone.push_back(word); });
  for (const uint64_t word : gone) words_.erase(word);
}

void ProxyWrites::Begin(const Copy& copy) {
  if (copies_.size() == kMostCopies) copies_.pop_front();
  copies_.push_back(copy);
  copies_.back().group = committed_[static_cast<size_t>(copy.step.warp * kLanes + copy.step.lane)];
}

void ProxyWrites::EndAtMbarrier(uint64_t mbarrier) {
  copies_.erase(std::remove_if(copies_.begin(), copies_.end(),
                               [&](const Copy& copy) {
                                 return copy.by_mbarrier && copy.mbarrier == mbarrier;
                               }),
                copies_.end());
}

void ProxyWrites::Commit(int warp, Lanes lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    ++committed_[static_cast<size_t>(warp * kLanes + __builtin_ctz(lanes))];
  }
}

void ProxyWrites::EndGroups(int warp, Lanes lanes, uint32_t left, bool only_read) {
  const auto is_over = [&](const Copy& copy) {
    if (copy.by_mbarrier || !IsOf(copy.step, warp, lanes) || (only_read && copy.writes)) {
      return false;
    }
    return uint64_t{copy.group} + left <
           committed_[static_cast<size_t>(warp * kLanes + copy.step.lane)];
  };
  copies_.erase(std::remove_if(copies_.begin(), copies_.end(), is_over), copies_.end());
}

const ProxyWrites::Copy* ProxyWrites::FindCopy(const Copy& copy) const {
  const auto meets = [&](const Copy& other) {
    if ((!copy.writes && !other.writes) || (copy.reduces && other.reduces)) return false;
    return NumberOf(copy.memory) < NumberOf(other.memory) + other.size &&
           NumberOf(other.memory) < NumberOf(copy.memory) + copy.size;
  };
  const auto found = std::find_if(copies_.begin(), copies_.end(), meets);
  return found == copies_.end() ? nullptr : &*found;
}

const ProxyWrites::Copy* ProxyWrites::FindCopy(Lanes lanes, const LaneMemory& memory, uint32_t size,
                                               bool writes, int* lane) const {
  uint64_t least = ~uint64_t{0};
  uint64_t most = 0;
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    const uint64_t at = NumberOf(memory[static_cast<size_t>(__builtin_ctz(rest))]);
    least = std::min(least, at);
    most = std::max(most, at + size);
  }
  for (const Copy& copy : copies_) {
    const uint64_t begin = NumberOf(copy.memory);
    if ((!copy.writes && !writes) || most <= begin || begin + copy.size <= least) continue;
    for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
      const uint64_t at = NumberOf(memory[static_cast<size_t>(__builtin_ctz(rest))]);
      if (at >= begin + copy.size || begin >= at + size) continue;
      *lane = __builtin_ctz(rest);
      return &copy;
    }
  }
  return nullptr;
}

}  // namespace twinmmu::ptx

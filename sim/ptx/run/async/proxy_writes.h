// ProxyWrites: what threads of a block have written that the async proxy may not see yet, and what
// bulk copies of the block still read or write.

#ifndef TWINMMU_SIM_PTX_RUN_ASYNC_PROXY_WRITES_H_
#define TWINMMU_SIM_PTX_RUN_ASYNC_PROXY_WRITES_H_

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "sim/ptx/operations/operation.h"
#include "sim/ptx/program/code.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {

// An instruction that a thread of the block has executed.
struct ExecutedStep {
  const FunctionCode* function = nullptr;
  int instruction = 0;
  int warp = 0;
  int lane = 0;
};

// Bulk copies go by the async proxy, all else by the generic one. A write of the generic proxy is
// there for copies that come later if its thread, or one that has synchronised with it since, has
// executed fence.proxy.async. Which threads have synchronised is not known in detail: each barrier
// that is passed, and each acquire, counts as one of all with all. So nothing is found where all is
// in order. Places go by the memory of the host. For one thread.
class ProxyWrites {
 public:
  // --- The generic proxy ---
  // Before `lanes` write `size` bytes each.
  void NoteWrites(const ExecutedStep& step, Lanes lanes, const LaneMemory& memory, uint32_t size);
  // Threads have synchronised.
  void Synchronize() { ++epoch_; }
  // fence.proxy.async
  void Fence(int warp, Lanes lanes);

  // --- The async proxy ---
  // The first write to `size` bytes that it may not see yet; null: it sees them all.
  const ExecutedStep* FindUnseen(const char* memory, uint64_t size, uint64_t* offset) const;
  // Puts what it may see instead over what was read from there; `memory` is a multiple of 4.
  void PutOlder(const char* memory, uint64_t size, char* read) const;
  // It has overwritten these.
  void Forget(const char* memory, uint64_t size);

  // --- Copies that nobody has waited for ---
  struct Copy {
    ExecutedStep step;
    const char* memory = nullptr;
    uint64_t address = 0;  // of it, in shared or in global memory
    uint64_t size = 0;
    bool shared = false;
    bool writes = false;
    bool reduces = false;
    bool by_mbarrier = false;
    uint64_t mbarrier = 0;  // or
    uint32_t group = 0;     // of its thread
  };
  void Begin(const Copy& copy);
  // A phase of the mbarrier is over, and somebody knows.
  void EndAtMbarrier(uint64_t mbarrier);
  void Commit(int warp, Lanes lanes);
  // The threads have waited for all groups but `left`. `only_read`: for what these read.
  void EndGroups(int warp, Lanes lanes, uint32_t left, bool only_read);
  bool any_copies() const { return !copies_.empty(); }
  // One that an access of `lanes` meets, the first of them in *lane; null: none.
  const Copy* FindCopy(Lanes lanes, const LaneMemory& memory, uint32_t size, bool writes,
                       int* lane) const;
  // One that `copy` meets. Reductions do not meet each other.
  const Copy* FindCopy(const Copy& copy) const;

 private:
  static constexpr uint64_t kWord = 4;
  // Beyond these, what was noted first is forgotten: nothing is found there.
  static constexpr size_t kMostWords = 1 << 16;
  static constexpr size_t kMostCopies = 64;

  struct Write {
    ExecutedStep step;
    uint64_t epoch = 0;
    std::array<char, kWord> older = {};
  };

  template <typename Words, typename Visit>
  static void VisitWords(Words& words, const char* memory, uint64_t size, const Visit& visit);

  uint64_t epoch_ = 0;
  std::unordered_map<uint64_t, Write> words_;  // by the number of a word
  std::deque<Copy> copies_;
  std::array<uint32_t, 1024> committed_ = {};  // by thread
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_ASYNC_PROXY_WRITES_H_

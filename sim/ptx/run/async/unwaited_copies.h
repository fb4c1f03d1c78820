// UnwaitedCopies: what cp.async of a block still reads and writes, because nobody has waited for
// it.

#ifndef TWINMMU_SIM_PTX_RUN_ASYNC_UNWAITED_COPIES_H_
#define TWINMMU_SIM_PTX_RUN_ASYNC_UNWAITED_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/ptx/operations/operation.h"
#include "sim/ptx/run/async/proxy_writes.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {

// A cp.async is done when its thread has waited for its group, or somebody for the mbarrier that it
// arrives at; until then it races with whatever meets its bytes, also in its own thread. Behind the
// wait it counts as an access of its thread, as the alias monitor has it. Places go by the memory
// of the host. For one thread.
class UnwaitedCopies {
 public:
  // Of one lane; it copies at most kPiece bytes, of which either place is a multiple of its size.
  struct Copy {
    ExecutedStep step;
    const char* to = nullptr;
    const char* from = nullptr;
    uint64_t to_address = 0;  // in shared memory
    uint64_t from_address = 0;
    uint32_t size = 0;  // written
    uint32_t read = 0;  // the others become zeros
  };
  // Two accesses that meet.
  struct Meeting {
    const Copy* copy = nullptr;  // null: there is none
    int lane = 0;                // of the access
    bool copy_writes = false;
  };

  void Begin(const Copy& copy);
  // All that these threads asked for since their last one is a group.
  void Commit(int warp, Lanes lanes);
  // They have waited for all groups but `left`.
  void EndGroups(int warp, Lanes lanes, uint32_t left);
  // What these threads have asked for so far ends with the phase of the mbarrier.
  void ArriveAt(int warp, Lanes lanes, uint64_t mbarrier);
  // A phase of the mbarrier is over, and somebody knows.
  void EndAtMbarrier(uint64_t mbarrier);

  bool empty() const { return by_piece_.empty(); }
  Meeting Find(Lanes lanes, const LaneMemory& memory, uint32_t size, bool writes) const;

 private:
  static constexpr uint64_t kPiece = 16;
  // Beyond these none is noted: nothing is found there.
  static constexpr size_t kMostCopies = 1 << 14;

  struct Noted {
    Copy copy;
    uint32_t group = 0;     // of its thread
    uint64_t mbarrier = 0;  // that it arrives at
    bool arrives = false;
  };
  using Numbers = std::vector<uint32_t>;  // of copies
  struct Thread {
    uint32_t committed = 0;
    Numbers copies;
  };

  Thread& ThreadAt(int warp, int lane);
  template <typename IsOver>
  void End(Thread& thread, const IsOver& is_over);
  void Remove(const char* memory, uint32_t number);

  std::vector<Noted> copies_;
  Numbers unused_;
  std::vector<Thread> threads_;
  std::unordered_map<uint64_t, Numbers> by_piece_;  // those that read or write there
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_ASYNC_UNWAITED_COPIES_H_

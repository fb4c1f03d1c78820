// What steps of asynchronous copies and mbarriers have in common.

#ifndef TWINMMU_SIM_PTX_RUN_ASYNC_SHARED_WORDS_H_
#define TWINMMU_SIM_PTX_RUN_ASYNC_SHARED_WORDS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "sim/ptx/run/async/async_copies.h"
#include "sim/ptx/run/warp.h"
#include "sim/ptx/text/type.h"

namespace twinmmu::ptx {

// 8 bytes of shared memory.
struct SharedWord {
  Block* owner = nullptr;
  uint32_t address = 0;  // in the shared memory of the cluster
  char* memory = nullptr;
};

// By the address that `lane` has for `step`, whose memory.space says what that is. False: a fault,
// which is noted.
bool FindSharedWord(Warp& warp, const Step& step, uint64_t address, int lane, SharedWord* word);

// With who asks, and where.
AsyncOperation OperationOf(Warp& warp, const Step& step, int lane);

// Adds, for each block that `mask` names, the same at the same place in its shared memory. False: a
// fault, which is noted.
bool AddForBlocks(Warp& warp, const AsyncOperation& operation, int lane, uint32_t mask);

// Null: there is none.
ReduceRange FindRangeReduction(absl::string_view operation, Type type);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_ASYNC_SHARED_WORDS_H_

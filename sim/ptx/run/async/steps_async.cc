// Asynchronous copies, stores and reductions.

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/ptx/run/async/async_copies.h"
#include "sim/ptx/run/async/cluster.h"
#include "sim/ptx/run/async/shared_words.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/observed_step.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"
#include "sim/ptx/run/word_changes.h"

namespace twinmmu::ptx {
namespace {

// Of the addresses and the size of a bulk copy.
constexpr uint32_t kBulkAlignment = 16;

template <typename U, typename Operation>
void ReduceElements(char* to, const char* from, uint64_t size) {
  for (uint64_t at = 0; at < size; at += sizeof(U)) {
    U value;
    std::memcpy(&value, from + at, sizeof(U));
    Change(reinterpret_cast<U*>(to + at), value, U{0},
           [](U old, U b, U c) { return Operation::Next(old, b, c); });
  }
}

// --- cp.async ------------------------------------------------------------------------------------

// How many bytes `lane` reads.
uint32_t ReadBytes(Warp& warp, const Step& step, int lane) {
  const uint32_t size = step.memory.size();
  switch (static_cast<CopySource>(step.detail)) {
    case CopySource::kWhole:
      return size;
    case CopySource::kSized:
      return warp.Slot<uint32_t>(step.operands[2])[lane];
    case CopySource::kIgnored:
      return (*warp.Slot<Lanes>(step.operands[2]) >> lane & 1) != 0 ? 0 : size;
  }
  return size;
}

// Until somebody waits for it.
void Begin(Warp& warp, const Step& step, int lane, const char* to, const char* from,
           uint32_t read) {
  UnwaitedCopies::Copy copy;
  copy.step = {warp.frame().function, step.instruction, warp.number(), lane};
  copy.to = to;
  copy.from = from;
  copy.to_address = warp.Slot<uint64_t>(step.operands[0])[lane];
  copy.from_address = warp.Slot<uint64_t>(step.operands[1])[lane];
  copy.size = step.memory.size();
  copy.read = read;
  warp.block().Begin(copy);
}

Flow CopyOne(Warp& warp, const Step& step, int lane) {
  AsyncOperation operation = OperationOf(warp, step, lane);
  MemoryAccess access = step.memory;
  operation.to = warp.Slot<uint64_t>(step.operands[0])[lane];
  operation.from = warp.Slot<uint64_t>(step.operands[1])[lane];
  operation.size = step.memory.size();
  operation.read = ReadBytes(warp, step, lane);
  if (operation.read > operation.size) {
    return warp.Fault(GridFault::kUndefined, Lanes{1} << lane,
                      absl::StrCat("of ", operation.size, " bytes it reads ", operation.read));
  }
  for (const uint64_t address : {operation.to, operation.from}) {
    if (address % operation.size == 0) continue;
    warp.FaultAt(GridFault::kMisalignedAddress, lane, access, address);
    return Flow::kFault;
  }
  const DeviceAddress from(operation.from);
  const uint32_t read = operation.read;
  const char* const to = warp.block().SharedAt(operation.to, operation.size);
  if (!warp.block().copies().Add(std::move(operation))) return Flow::kFault;
  const TranslationCache::Span* const source =
      read == 0 ? nullptr : warp.block().cache().Find(from, read, Access::kRead);
  Begin(warp, step, lane, to,
        source == nullptr ? to : source->memory + (from - source->base).value(), read);
  return Flow::kNext;
}

// All lanes at once, each as a load and a store. False: a fault.
bool CopyNow(Warp& warp, const Step& step, Lanes lanes) {
  const uint32_t size = step.memory.size();
  LaneMemory from;
  LaneMemory to;
  MemoryAccess target = step.memory;
  target.space = Space::kShared;
  target.access = Access::kReadWrite;
  const Found target_found = warp.Resolve(target, step.operands[0], lanes, &to);
  if (target_found == Found::kFault) return false;
  if (target_found == Found::kObserved) {
    ObservedStep observed(&warp, step);
    if (!observed.BeforeAll(to, /*writes=*/true)) {
      ForEachLane(lanes, [&](int lane) { observed.BeforeStore(lane, to[lane]); });
    }
  }
  if (warp.meets_copies()) warp.MeetCopies(step, lanes, to, /*writes=*/true);
  const Found found = warp.Resolve(step.memory, step.operands[1], lanes, &from);
  if (found == Found::kFault) return false;
  if (found == Found::kObserved) {
    ObservedStep observed(&warp, step);
    alignas(kMaxAccess) char older[kMaxAccess];
    ForEachLane(lanes, [&](int lane) {
      std::memcpy(to[lane], observed.Load(lane, from[lane], older), size);
      Begin(warp, step, lane, to[lane], from[lane], size);
    });
    return true;
  }
  if (size == 16) {
    ForEachLane(lanes, [&](int lane) { std::memcpy(to[lane], from[lane], 16); });
  } else {
    ForEachLane(lanes, [&](int lane) { std::memcpy(to[lane], from[lane], size); });
  }
  return true;
}

// --- cp.async.bulk -------------------------------------------------------------------------------

struct BulkAddresses {
  uint64_t address;
  bool shared;
  bool target;
};

bool CheckBulk(Warp& warp, int lane, const AsyncOperation& operation) {
  for (const BulkAddresses& each : {BulkAddresses{operation.to, operation.to_shared, true},
                                    BulkAddresses{operation.from, operation.from_shared, false}}) {
    if (each.address % kBulkAlignment == 0) continue;
    MemoryAccess access;
    access.bytes = kBulkAlignment;
    access.access = each.target ? Access::kReadWrite : Access::kRead;
    warp.FaultAt(GridFault::kMisalignedAddress, lane, access, each.address);
    warp.block().fault().words =
        absl::StrCat("of a bulk copy, it is where ", each.target ? "it writes" : "it reads",
                     each.shared ? " in shared memory" : "");
    return false;
  }
  if (operation.size % kBulkAlignment == 0) return true;
  warp.Fault(
      GridFault::kUndefined, Lanes{1} << lane,
      absl::StrCat("a bulk copy of ", operation.size, " bytes, no multiple of ", kBulkAlignment));
  return false;
}

// What writes to the shared memory of a cluster and completes there is an illegal instruction to an
// H200 where there is none, whichever block it is for.
bool HasCluster(Warp& warp, Lanes lanes) {
  if (lanes == 0 || warp.block().grid().explicit_cluster) return true;
  warp.Fault(GridFault::kIllegalInstruction, lanes,
             "it writes to shared memory of a cluster, and the grid was launched without clusters");
  return false;
}

Flow CopyBulk(Warp& warp, const Step& step, Lanes lanes, ReduceRange reduce) {
  const bool between = (step.detail & kFromShared) != 0 && (step.detail & kToShared) != 0;
  if (between && !HasCluster(warp, lanes)) return Flow::kFault;
  if (lanes != 0) warp.NoteStore((step.detail & kToShared) != 0 ? Space::kShared : Space::kGlobal);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    AsyncOperation operation = OperationOf(warp, step, lane);
    operation.kind = AsyncOperation::kBulk;
    operation.from_shared = (step.detail & kFromShared) != 0;
    operation.to_shared = (step.detail & kToShared) != 0;
    operation.to = warp.Slot<uint64_t>(step.operands[0])[lane];
    operation.from = warp.Slot<uint64_t>(step.operands[1])[lane];
    operation.size = warp.Slot<uint32_t>(step.operands[2])[lane];
    if (operation.size == 0) continue;  // no address is looked at, as on an H200
    operation.read = operation.size;
    operation.reduce = reduce;
    operation.has_barrier = step.operands[3] != kNoSlot;
    if (operation.has_barrier) {
      operation.barrier = warp.Slot<uint64_t>(step.operands[3])[lane];
    }
    if (!CheckBulk(warp, lane, operation)) return Flow::kFault;
    warp.work += operation.size / kBulkAlignment;
    const bool added =
        step.operands[4] == kNoSlot
            ? warp.block().copies().Add(std::move(operation))
            : AddForBlocks(warp, operation, lane, warp.Slot<uint16_t>(step.operands[4])[lane]);
    if (!added) return Flow::kFault;
  }
  return Flow::kNext;
}

template <typename U, typename Operation>
Flow ReduceBulk(Warp& warp, const Step& step, Lanes lanes) {
  return CopyBulk(warp, step, lanes, ReduceElements<U, Operation>);
}

// For FindForm.
struct BulkReductions {
  using Function = Perform;
  template <typename U, typename Operation>
  static constexpr Perform kPerform = ReduceBulk<U, Operation>;
};

// The same.
struct RangeReductions {
  using Function = ReduceRange;
  template <typename U, typename Operation>
  static constexpr ReduceRange kPerform = ReduceElements<U, Operation>;
};

// --- st.async ------------------------------------------------------------------------------------

Flow StoreAll(Warp& warp, const Step& step, Lanes lanes, ReduceRange reduce) {
  if (!HasCluster(warp, lanes)) return Flow::kFault;
  warp.changes += lanes != 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    AsyncOperation operation = OperationOf(warp, step, lane);
    operation.kind = AsyncOperation::kStore;
    operation.to = warp.Slot<uint64_t>(step.operands[0])[lane];
    operation.barrier = warp.Slot<uint64_t>(step.operands[1])[lane];
    if (step.memory.space == Space::kGeneric) {
      operation.to -= kSharedWindow;
      operation.barrier -= kSharedWindow;
    }
    operation.size = step.memory.size();
    operation.read = operation.size;
    operation.reduce = reduce;
    operation.has_barrier = true;
    if (operation.to % operation.size != 0) {
      warp.FaultAt(GridFault::kMisalignedAddress, lane, step.memory, operation.to);
      return Flow::kFault;
    }
    for (size_t i = 0; i < step.memory.count; ++i) {
      const char* const slot = warp.Slot<char>(step.operands[2 + i]);
      std::memcpy(operation.value.data() + i * step.memory.bytes,
                  slot + size_t{step.memory.bytes} * static_cast<size_t>(lane), step.memory.bytes);
    }
    if (!warp.block().copies().Add(std::move(operation))) return Flow::kFault;
  }
  return Flow::kNext;
}

template <typename U, typename Operation>
Flow ReduceOne(Warp& warp, const Step& step, Lanes lanes) {
  return StoreAll(warp, step, lanes, ReduceElements<U, Operation>);
}

struct ReductionsAsync {
  using Function = Perform;
  template <typename U, typename Operation>
  static constexpr Perform kPerform = ReduceOne<U, Operation>;
};

}  // namespace

AsyncOperation OperationOf(Warp& warp, const Step& step, int lane) {
  AsyncOperation operation;
  operation.warp = warp.number();
  operation.lane = lane;
  operation.function = warp.frame().function;
  operation.instruction = step.instruction;
  return operation;
}

bool AddForBlocks(Warp& warp, const AsyncOperation& operation, int lane, uint32_t mask) {
  constexpr uint64_t kInBlock = (uint64_t{1} << kSharedOfBlockBits) - 1;
  for (; mask != 0; mask &= mask - 1) {
    const uint32_t rank = static_cast<uint32_t>(__builtin_ctz(mask));
    if (rank >= warp.block().cluster().size()) {
      warp.Fault(GridFault::kUndefined, Lanes{1} << lane,
                 absl::StrCat("the mask names the block of rank ", rank, " of a cluster that has ",
                              warp.block().cluster().size(), " blocks"));
      return false;
    }
    const uint64_t base = uint64_t{rank} << kSharedOfBlockBits;
    AsyncOperation copy = operation;
    copy.to = base | (operation.to & kInBlock);
    copy.barrier = base | (operation.barrier & kInBlock);
    if (!warp.block().copies().Add(std::move(copy))) return false;
  }
  return true;
}

ReduceRange FindRangeReduction(absl::string_view operation, Type type) {
  if (type == Type::kU32 && operation == "inc")
    return ReduceElements<uint32_t, Increment<uint32_t>>;
  if (type == Type::kU32 && operation == "dec")
    return ReduceElements<uint32_t, Decrement<uint32_t>>;
  const bool largest = operation == "max";
  if ((largest || operation == "min") && type == Type::kF16) {
    return largest ? ReduceElements<uint16_t, HalfExtreme<true, 0x7c00>>
                   : ReduceElements<uint16_t, HalfExtreme<false, 0x7c00>>;
  }
  if ((largest || operation == "min") && type == Type::kBf16) {
    return largest ? ReduceElements<uint16_t, HalfExtreme<true, 0x7f80>>
                   : ReduceElements<uint16_t, HalfExtreme<false, 0x7f80>>;
  }
  return FindForm<RangeReductions>(operation, type);
}

Flow PerformCopyAsync(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  ++warp.changes;
  bool whole = !warp.block().copies().late();
  ForEachLane(
      lanes, [&](int lane) { whole = whole && ReadBytes(warp, step, lane) == step.memory.size(); });
  if (whole) return CopyNow(warp, step, lanes) ? Flow::kNext : Flow::kFault;
  Flow flow = Flow::kNext;
  for (; lanes != 0 && flow == Flow::kNext; lanes &= lanes - 1) {
    flow = CopyOne(warp, step, __builtin_ctz(lanes));
  }
  return flow;
}

Flow PerformCommitCopies(Warp& warp, const Step& step, Lanes lanes) {
  const bool bulk = (step.detail & kOfBulkCopies) != 0;
  warp.block().copies().Commit(warp.number(), lanes, bulk);
  ProxyWrites* const proxy = warp.block().proxy_writes();
  if (bulk && proxy != nullptr) proxy->Commit(warp.number(), lanes);
  UnwaitedCopies* const unwaited = warp.block().unwaited_copies();
  if (!bulk && unwaited != nullptr) unwaited->Commit(warp.number(), lanes);
  return Flow::kNext;
}

Flow PerformWaitForCopies(Warp& warp, const Step& step, Lanes lanes) {
  const bool bulk = (step.detail & kOfBulkCopies) != 0;
  const bool only_read = (step.detail & kOnlyRead) != 0;
  const bool done = warp.block().copies().Wait(warp.number(), lanes, bulk, step.target, only_read);
  ProxyWrites* const proxy = warp.block().proxy_writes();
  if (bulk && proxy != nullptr) proxy->EndGroups(warp.number(), lanes, step.target, only_read);
  UnwaitedCopies* const unwaited = warp.block().unwaited_copies();
  if (!bulk && unwaited != nullptr) unwaited->EndGroups(warp.number(), lanes, step.target);
  return done ? Flow::kNext : Flow::kFault;
}

Flow PerformBulkCopy(Warp& warp, const Step& step, Lanes lanes) {
  return CopyBulk(warp, step, lanes, nullptr);
}

Perform FindBulkReduction(absl::string_view operation, Type type) {
  if (type == Type::kU32 && operation == "inc") {
    return ReduceBulk<uint32_t, Increment<uint32_t>>;
  }
  if (type == Type::kU32 && operation == "dec") {
    return ReduceBulk<uint32_t, Decrement<uint32_t>>;
  }
  const bool largest = operation == "max";
  if ((largest || operation == "min") && type == Type::kF16) {
    return largest ? ReduceBulk<uint16_t, HalfExtreme<true, 0x7c00>>
                   : ReduceBulk<uint16_t, HalfExtreme<false, 0x7c00>>;
  }
  if ((largest || operation == "min") && type == Type::kBf16) {
    return largest ? ReduceBulk<uint16_t, HalfExtreme<true, 0x7f80>>
                   : ReduceBulk<uint16_t, HalfExtreme<false, 0x7f80>>;
  }
  return FindForm<BulkReductions>(operation, type);
}

Flow PerformBulkPrefetch(Warp& warp, const Step& step, Lanes lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    AsyncOperation operation = OperationOf(warp, step, lane);
    operation.to = warp.Slot<uint64_t>(step.operands[0])[lane];
    operation.from = operation.to;
    operation.size = warp.Slot<uint32_t>(step.operands[1])[lane];
    if (operation.size != 0 && !CheckBulk(warp, lane, operation)) return Flow::kFault;
  }
  return Flow::kNext;
}

Flow PerformStoreAsync(Warp& warp, const Step& step, Lanes lanes) {
  return StoreAll(warp, step, lanes, nullptr);
}

Perform FindReductionAsync(absl::string_view operation, Type type) {
  if (type == Type::kU32 && operation == "inc") return ReduceOne<uint32_t, Increment<uint32_t>>;
  if (type == Type::kU32 && operation == "dec") return ReduceOne<uint32_t, Decrement<uint32_t>>;
  if (BytesOf(type) == 8 && type != Type::kU64) return nullptr;
  return IsFloating(type) ? nullptr : FindForm<ReductionsAsync>(operation, type);
}

}  // namespace twinmmu::ptx

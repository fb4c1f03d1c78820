// Loads, stores and fences.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "sim/base/thread_sanitizer.h"
#include "sim/ptx/operations/host_vectors.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/find_run.h"
#include "sim/ptx/run/observed_step.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {
namespace {

bool IsAcquire(Order order) { return order >= Order::kAcquire && order != Order::kRelease; }
bool IsRelease(Order order) { return order >= Order::kRelease; }

void ObserveFence(Warp& warp, const Step& step, Lanes lanes) {
  const BlockThreads& threads = warp.block().threads();
  if (!threads.known()) return;
  const coherence::ThreadId first = threads.FirstOf(warp.number());
  coherence::AliasMonitor::Session session(&warp.block().aliases());
  switch (static_cast<FenceKind>(step.detail)) {
    case FenceKind::kMemory:
      return session.Fence(first, lanes, step.memory.strength,
                           step.memory.order == Order::kSequential);
    case FenceKind::kAlias:
      return session.AliasFence(first, lanes);
    case FenceKind::kAliasAcquire:
      return session.AliasAcquireFence(first, lanes);
    case FenceKind::kAliasRelease:
      return session.AliasReleaseFence(first, lanes);
    case FenceKind::kAsync:
    case FenceKind::kOtherProxy:
      break;
  }
}

// Memory of 16 bytes as a processor with vectors of 32 moves it, all at once.
struct __attribute__((may_alias)) Whole {
  uint64_t words __attribute__((vector_size(16)));
};

template <typename W>
void MoveAtOnce(char* to, const char* from, bool loads) {
  W whole;
  if (loads) {
    whole = __atomic_load_n(reinterpret_cast<const W*>(from), __ATOMIC_RELAXED);
    std::memcpy(to, &whole, sizeof(W));
  } else {
    std::memcpy(&whole, from, sizeof(W));
    __atomic_store_n(reinterpret_cast<W*>(to), whole, __ATOMIC_RELAXED);
  }
}

// Loads from memory, or stores to it. Sizes: 2, 4, 8, 16; both are aligned to that.
void MoveVector(char* to, const char* from, uint32_t size, bool loads) {
  if (size == 2) return MoveAtOnce<uint16_t>(to, from, loads);
  if (size == 4) return MoveAtOnce<uint32_t>(to, from, loads);
  if (size == 8) return MoveAtOnce<uint64_t>(to, from, loads);
  if constexpr (kThreadSanitizer) {  // it knows no wider ones
    MoveAtOnce<uint64_t>(to, from, loads);
    MoveAtOnce<uint64_t>(to + 8, from + 8, loads);
  } else {
    reinterpret_cast<volatile Whole*>(to)->words =
        reinterpret_cast<const volatile Whole*>(from)->words;
  }
}

// PTX lets the elements of a vector come one by one. A device moves them at once, and libraries of
// the toolkit count on it where an access is strong: they keep a flag beside its value.
bool MovesAtOnce(const Step& step, Lanes lanes, const LaneMemory& memory) {
  const MemoryAccess& access = step.memory;
  if (access.count == 1 || access.order == Order::kWeak) return false;
  uint64_t all = 0;
  ForEachLane(lanes, [&](int lane) { all |= reinterpret_cast<uint64_t>(memory[lane]); });
  return (all & (access.size() - 1)) == 0;  // what is a thread's own may lie anywhere
}

template <typename M, typename R>
__attribute__((noinline)) void ReadVectors(Warp& warp, const Step& step, Lanes lanes,
                                           const LaneMemory& memory) {
  ForEachLane(lanes, [&](int lane) {
    alignas(kMaxAccess) std::array<M, kMaxAccess / sizeof(M)> elements;
    MoveVector(reinterpret_cast<char*>(elements.data()), memory[lane], step.memory.size(),
               /*loads=*/true);
    for (size_t i = 0; i < step.memory.count; ++i) {
      warp.Slot<R>(step.operands[1 + i])[lane] = static_cast<R>(elements[i]);
    }
  });
  if (IsAcquire(step.memory.order)) std::atomic_thread_fence(std::memory_order_acquire);
}

template <typename M, typename R>
__attribute__((noinline)) void WriteVectors(Warp& warp, const Step& step, Lanes lanes,
                                            const LaneMemory& memory) {
  if (IsRelease(step.memory.order)) std::atomic_thread_fence(std::memory_order_release);
  ForEachLane(lanes, [&](int lane) {
    alignas(kMaxAccess) std::array<M, kMaxAccess / sizeof(M)> elements;
    for (size_t i = 0; i < step.memory.count; ++i) {
      elements[i] = static_cast<M>(warp.Slot<R>(step.operands[1 + i])[lane]);
    }
    MoveVector(memory[lane], reinterpret_cast<const char*>(elements.data()), step.memory.size(),
               /*loads=*/false);
  });
}

// M in memory, R in registers. Relaxed atomic accesses, so that blocks on several threads of the
// host may do as the threads of a GPU do.
template <typename M, typename R>
__attribute__((always_inline)) inline void ReadLanes(Warp& warp, const Step& step, Lanes lanes,
                                                     const LaneMemory& memory) {
  if (MovesAtOnce(step, lanes, memory)) return ReadVectors<M, R>(warp, step, lanes, memory);
  const bool acquire = IsAcquire(step.memory.order);
  for (int i = 0; i < step.memory.count; ++i) {
    R* const to = warp.Slot<R>(step.operands[1 + static_cast<size_t>(i)]);
    if (acquire) {
      ForEachLane(lanes, [&](int lane) {
        const M* const from = reinterpret_cast<const M*>(memory[lane]) + i;
        to[lane] = static_cast<R>(__atomic_load_n(from, __ATOMIC_ACQUIRE));
      });
      continue;
    }
    ForEachLane(lanes, [&](int lane) {
      const M* const from = reinterpret_cast<const M*>(memory[lane]) + i;
      to[lane] = static_cast<R>(__atomic_load_n(from, __ATOMIC_RELAXED));
    });
  }
}

template <typename M, typename R>
__attribute__((always_inline)) inline void WriteLanes(Warp& warp, const Step& step, Lanes lanes,
                                                      const LaneMemory& memory) {
  if (MovesAtOnce(step, lanes, memory)) return WriteVectors<M, R>(warp, step, lanes, memory);
  const bool release = IsRelease(step.memory.order);
  for (int i = 0; i < step.memory.count; ++i) {
    const R* const from = warp.Slot<R>(step.operands[1 + static_cast<size_t>(i)]);
    if (release) {
      ForEachLane(lanes, [&](int lane) {
        M* const to = reinterpret_cast<M*>(memory[lane]) + i;
        __atomic_store_n(to, static_cast<M>(from[lane]), __ATOMIC_RELEASE);
      });
      continue;
    }
    ForEachLane(lanes, [&](int lane) {
      M* const to = reinterpret_cast<M*>(memory[lane]) + i;
      __atomic_store_n(to, static_cast<M>(from[lane]), __ATOMIC_RELAXED);
    });
  }
}

// A vector that may lie anywhere: clang takes it for aligned unless it is packed.
struct __attribute__((packed, may_alias)) Chunk {
  uint64_t words __attribute__((vector_size(32)));
};

// 32 bytes at a time: stores of 64 take twice as long on some processors that have them. Volatile,
// so that none is made of smaller parts.
template <size_t kBytes>
__attribute__((always_inline)) inline void MoveWords(char* to, const char* from) {
  for (size_t i = 0; i < kBytes; i += sizeof(Chunk)) {
    reinterpret_cast<volatile Chunk*>(to + i)->words =
        reinterpret_cast<const volatile Chunk*>(from + i)->words;
  }
}

// The same for all lanes of a run: words side by side are moved as vectors, which a processor reads
// and writes word by word, if in any order.
template <typename M, typename R>
__attribute__((always_inline)) inline void ReadRun(Warp& warp, const Step& step,
                                                   const LaneRun& run) {
  for (int i = 0; i < step.memory.count; ++i) {
    R* const to = warp.Slot<R>(step.operands[1 + static_cast<size_t>(i)]);
    const char* const from = run.memory + static_cast<size_t>(i) * sizeof(M);
    const auto load = [&](int lane) {
      const M* const word =
          reinterpret_cast<const M*>(from + static_cast<uint64_t>(lane) * run.stride);
      return static_cast<R>(__atomic_load_n(word, __ATOMIC_RELAXED));
    };
    if (run.stride == 0) {
      std::fill_n(to, kLanes, load(0));
    } else if (run.stride == sizeof(M) && !kThreadSanitizer) {
      if constexpr (sizeof(M) == sizeof(R)) {
        MoveWords<kLanes * sizeof(M)>(reinterpret_cast<char*>(to), from);
      } else {
        std::copy_n(reinterpret_cast<const M*>(from), kLanes, to);
      }
    } else {
      for (int lane = 0; lane < kLanes; ++lane) to[lane] = load(lane);
    }
  }
}

template <typename M, typename R>
__attribute__((always_inline)) inline void WriteRun(Warp& warp, const Step& step,
                                                    const LaneRun& run) {
  for (int i = 0; i < step.memory.count; ++i) {
    const R* const from = warp.Slot<R>(step.operands[1 + static_cast<size_t>(i)]);
    char* const to = run.memory + static_cast<size_t>(i) * sizeof(M);
    if (run.stride == sizeof(M) && !kThreadSanitizer) {
      if constexpr (sizeof(M) == sizeof(R)) {
        MoveWords<kLanes * sizeof(M)>(to, reinterpret_cast<const char*>(from));
      } else {
        M* const words = reinterpret_cast<M*>(to);
        for (int lane = 0; lane < kLanes; ++lane) words[lane] = static_cast<M>(from[lane]);
      }
      continue;
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      M* const word = reinterpret_cast<M*>(to + static_cast<uint64_t>(lane) * run.stride);
      __atomic_store_n(word, static_cast<M>(from[lane]), __ATOMIC_RELAXED);
    }
  }
}

// The monitor of aliases may give some lanes older values.
template <typename M, typename R>
__attribute__((noinline)) void ReadObserved(Warp& warp, const Step& step, Lanes lanes,
                                            const LaneMemory& memory) {
  ObservedStep observed(&warp, step);
  if (observed.BeforeAll(memory, /*writes=*/false)) {
    ReadLanes<M, R>(warp, step, lanes, memory);
    return;
  }
  alignas(kMaxAccess) char older[kLanes][kMaxAccess];
  LaneMemory from;
  ForEachLane(lanes, [&](int lane) {
    from[lane] = const_cast<char*>(observed.Load(lane, memory[lane], older[lane]));
  });
  ReadLanes<M, R>(warp, step, lanes, from);
}

template <typename M, typename R>
void WriteOneByOne(Warp& warp, const Step& step, Lanes lanes, const LaneMemory& memory,
                   ObservedStep* observed) {
  ForEachLane(lanes, [&](int lane) {
    observed->BeforeStore(lane, memory[lane]);
    WriteLanes<M, R>(warp, step, Lanes{1} << lane, memory);
    observed->AfterStore(lane, memory[lane]);
  });
}

template <typename M, typename R>
__attribute__((noinline)) void WriteObserved(Warp& warp, const Step& step, Lanes lanes,
                                             const LaneMemory& memory) {
  ObservedStep observed(&warp, step);
  if (observed.BeforeAll(memory, /*writes=*/true)) {
    WriteLanes<M, R>(warp, step, lanes, memory);
    observed.AfterStores(memory);
    return;
  }
  WriteOneByOne<M, R>(warp, step, lanes, memory, &observed);
}

// A load or store of a run that the monitor observes: move(run) under its lock, so that what it
// notes is what is read and written. False: it is none, and nothing was done.
template <typename Move>
[[gnu::noinline]] bool MoveObservedRun(Warp& warp, const Step& step, Lanes lanes, bool writes,
                                       const Move& move) {
  coherence::AddressId address;
  const LaneRun run = FindObservedRun(warp, step.memory, step.operands[0], lanes, &address);
  if (run.memory == nullptr) return false;
  const coherence::MonitoredAccess access = ObservedRun(&warp, step, run.memory, address);
  coherence::AliasMonitor::Session session(&warp.block().aliases());
  if (access.thread != 0 && !session.BeforeRow(access, kLanes, writes)) return false;
  move(run);
  return true;
}

// Lane by lane.
template <typename M, typename R>
__attribute__((noinline)) Flow LoadLanes(Warp& warp, const Step& step, Lanes lanes) {
  const auto read = [&](const LaneRun& run) { ReadRun<M, R>(warp, step, run); };
  if (warp.block().aliases().active() && MoveObservedRun(warp, step, lanes, false, read)) {
    return Flow::kNext;
  }
  LaneMemory memory;
  const Found found = warp.Resolve(step.memory, step.operands[0], lanes, &memory);
  if (found == Found::kFault) return Flow::kFault;
  if (step.memory.order != Order::kWeak) warp.NotePoll(memory[__builtin_ctz(lanes)]);
  if (warp.meets_copies()) warp.MeetCopies(step, lanes, memory, false);
  if (found == Found::kObserved) {
    ReadObserved<M, R>(warp, step, lanes, memory);
    return Flow::kNext;
  }
  ReadLanes<M, R>(warp, step, lanes, memory);
  return Flow::kNext;
}

template <typename M, typename R>
Flow StoreLanes(Warp& warp, const Step& step, Lanes lanes);

// Where some lanes have addresses of multicast objects: these store to every replica, as by
// multimem.st. If one of them faults, none has stored.
template <typename M, typename R>
[[gnu::cold, gnu::noinline]] Flow StoreToReplicas(Warp& warp, const Step& step, Lanes lanes) {
  const Lanes multicast = warp.AtMulticast(step.memory, step.operands[0], lanes);
  const auto& replicas = warp.ResolveMulticast(step.memory, step.operands[0], multicast);
  if (replicas.empty()) return Flow::kFault;
  const Lanes others = lanes & ~multicast;
  if (others != 0 && StoreLanes<M, R>(warp, step, others) == Flow::kFault) return Flow::kFault;
  warp.NoteStore(Space::kGlobal);
  for (const ReplicaLanes& replica : replicas) {
    if (replica.observed.lanes == 0) {
      WriteLanes<M, R>(warp, step, replica.lanes, replica.memory);
      continue;
    }
    ObservedStep observed(&warp, step, replica.observed);
    WriteOneByOne<M, R>(warp, step, replica.lanes, replica.memory, &observed);
  }
  return Flow::kNext;
}

template <typename M, typename R>
__attribute__((noinline)) Flow StoreLanes(Warp& warp, const Step& step, Lanes lanes) {
  const auto write = [&](const LaneRun& run) {
    warp.NoteStore(step.memory.space);
    WriteRun<M, R>(warp, step, run);
  };
  if (warp.block().aliases().active() && MoveObservedRun(warp, step, lanes, true, write)) {
    return Flow::kNext;
  }
  LaneMemory memory;
  const Found found = warp.Resolve(step.memory, step.operands[0], lanes, &memory, /*stores=*/true);
  if (found == Found::kFault) return Flow::kFault;
  if (found == Found::kMulticast) return StoreToReplicas<M, R>(warp, step, lanes);
  warp.NoteStore(step.memory.space);
  if (warp.meets_copies()) warp.MeetCopies(step, lanes, memory, true);
  if (found == Found::kObserved) {
    WriteObserved<M, R>(warp, step, lanes, memory);
    return Flow::kNext;
  }
  WriteLanes<M, R>(warp, step, lanes, memory);
  return Flow::kNext;
}

template <typename M, typename R>
Flow Load(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  const LaneRun run = FindRun(warp, step.memory, step.operands[0], lanes);
  if (run.memory == nullptr) return LoadLanes<M, R>(warp, step, lanes);
  ReadRun<M, R>(warp, step, run);
  return Flow::kNext;
}

template <typename M, typename R>
Flow Store(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  const LaneRun run = FindRun(warp, step.memory, step.operands[0], lanes);
  if (run.memory == nullptr) return StoreLanes<M, R>(warp, step, lanes);
  warp.NoteStore(step.memory.space);
  WriteRun<M, R>(warp, step, run);
  return Flow::kNext;
}

template <typename M>
Perform LoadTo(int width) {
  if (width == 2 && sizeof(M) <= 2) return ForHost<Load<M, uint16_t>>();
  if (width == 4 && sizeof(M) <= 4) return ForHost<Load<M, uint32_t>>();
  return width == 8 ? ForHost<Load<M, uint64_t>>() : nullptr;
}

template <typename M>
Perform StoreFrom(int width) {
  if (width == 2 && sizeof(M) <= 2) return ForHost<Store<M, uint16_t>>();
  if (width == 4 && sizeof(M) <= 4) return ForHost<Store<M, uint32_t>>();
  return width == 8 ? ForHost<Store<M, uint64_t>>() : nullptr;
}

}  // namespace

Perform FindLoad(Type type, int width) {
  const bool is_signed = IsSigned(type);
  switch (BytesOf(type)) {
    case 1:
      return is_signed ? LoadTo<int8_t>(width) : LoadTo<uint8_t>(width);
    case 2:
      return is_signed ? LoadTo<int16_t>(width) : LoadTo<uint16_t>(width);
    case 4:
      return is_signed ? LoadTo<int32_t>(width) : LoadTo<uint32_t>(width);
    case 8:
      return LoadTo<uint64_t>(width);
    default:
      return nullptr;
  }
}

Perform FindStore(Type type, int width) {
  switch (BytesOf(type)) {
    case 1:
      return StoreFrom<uint8_t>(width);
    case 2:
      return StoreFrom<uint16_t>(width);
    case 4:
      return StoreFrom<uint32_t>(width);
    case 8:
      return StoreFrom<uint64_t>(width);
    default:
      return nullptr;
  }
}

Flow PerformFence(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ProxyWrites* const proxy = warp.block().proxy_writes();
  if (proxy != nullptr && step.detail == static_cast<uint8_t>(FenceKind::kAsync)) {
    proxy->Fence(warp.number(), lanes);
  } else {
    warp.block().Synchronize();
  }
  if (warp.block().aliases().active()) ObserveFence(warp, step, lanes);
  return Flow::kNext;
}

Flow PerformCheck(Warp& warp, const Step& step, Lanes lanes) {
  LaneMemory memory;
  const bool stores = step.detail != 0;
  const bool there = lanes == 0 || warp.Resolve(step.memory, step.operands[0], lanes, &memory,
                                                stores) != Found::kFault;
  return there ? Flow::kNext : Flow::kFault;
}

}  // namespace twinmmu::ptx

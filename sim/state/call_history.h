// History: the last calls that changed something or were refused.

#ifndef TWINMMU_SIM_STATE_CALL_HISTORY_H_
#define TWINMMU_SIM_STATE_CALL_HISTORY_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/calls.inc"
#include "sim/base/caller.h"
#include "sim/base/striped_mutex.h"
#include "sim/mmu/page_table.h"

namespace twinmmu {

// Calls of the driver that no interface of ours has: name here, and the driver's.
#define TWINMMU_MANAGED_CALLS(CALL)                                        \
  CALL(kAllocateManaged, "cuMemAllocManaged")                              \
  CALL(kPrefetchAsync, "cuMemPrefetchAsync")                               \
  CALL(kPrefetchBatchAsync, "cuMemPrefetchBatchAsync")                     \
  CALL(kDiscardBatchAsync, "cuMemDiscardBatchAsync")                       \
  CALL(kDiscardAndPrefetchBatchAsync, "cuMemDiscardAndPrefetchBatchAsync") \
  CALL(kAdvise, "cuMemAdvise")                                             \
  CALL(kAttachAsync, "cuStreamAttachMemAsync")
#define TWINMMU_C_CALLS(CALL)                        \
  TWINMMU_MANAGED_CALLS(CALL)                        \
  CALL(kAllocate, "cuMemAlloc")                      \
  CALL(kFreeMemory, "cuMemFree")                     \
  CALL(kAllocateHost, "cuMemHostAlloc")              \
  CALL(kFreeHost, "cuMemFreeHost")                   \
  CALL(kRegisterHost, "cuMemHostRegister")           \
  CALL(kUnregisterHost, "cuMemHostUnregister")       \
  CALL(kOpenIpcMemory, "cuIpcOpenMemHandle")         \
  CALL(kCloseIpcMemory, "cuIpcCloseMemHandle")       \
  CALL(kDestroyContext, "cuCtxDestroy")              \
  CALL(kCopy, "cuMemcpy")                            \
  CALL(kCopyPeer, "cuMemcpyPeer")                    \
  CALL(kCopyAsync, "cuMemcpyAsync")                  \
  CALL(kCopyPeerAsync, "cuMemcpyPeerAsync")          \
  CALL(kCopy2D, "cuMemcpy2D")                        \
  CALL(kCopy2DUnaligned, "cuMemcpy2DUnaligned")      \
  CALL(kCopy2DAsync, "cuMemcpy2DAsync")              \
  CALL(kCopy3D, "cuMemcpy3D")                        \
  CALL(kCopy3DPeer, "cuMemcpy3DPeer")                \
  CALL(kCopy3DPeerAsync, "cuMemcpy3DPeerAsync")      \
  CALL(kCopyDtoA, "cuMemcpyDtoA")                    \
  CALL(kCopyAtoD, "cuMemcpyAtoD")                    \
  CALL(kCopyHtoA, "cuMemcpyHtoA")                    \
  CALL(kCopyAtoH, "cuMemcpyAtoH")                    \
  CALL(kCopyAtoA, "cuMemcpyAtoA")                    \
  CALL(kCopyHtoAAsync, "cuMemcpyHtoAAsync")          \
  CALL(kCopyAtoHAsync, "cuMemcpyAtoHAsync")          \
  CALL(kCopyBatchAsync, "cuMemcpyBatchAsync")        \
  CALL(kCopy3DBatchAsync, "cuMemcpy3DBatchAsync")    \
  CALL(kFillD2D8, "cuMemsetD2D8")                    \
  CALL(kFillD2D16, "cuMemsetD2D16")                  \
  CALL(kFillD2D32, "cuMemsetD2D32")                  \
  CALL(kFillD2D8Async, "cuMemsetD2D8Async")          \
  CALL(kFillD2D16Async, "cuMemsetD2D16Async")        \
  CALL(kFillD2D32Async, "cuMemsetD2D32Async")        \
  CALL(kWaitValue32, "cuStreamWaitValue32")          \
  CALL(kWaitValue64, "cuStreamWaitValue64")          \
  CALL(kWriteValue32, "cuStreamWriteValue32")        \
  CALL(kWriteValue64, "cuStreamWriteValue64")        \
  CALL(kBatchMemOp, "cuStreamBatchMemOp")            \
  CALL(kAllocateAsync, "cuMemAllocAsync")            \
  CALL(kAllocateFromPool, "cuMemAllocFromPoolAsync") \
  CALL(kFreeAsync, "cuMemFreeAsync")                 \
  CALL(kCreatePool, "cuMemPoolCreate")               \
  CALL(kLaunchGraph, "cuGraphLaunch")                \
  CALL(kOther, "a call")

// DriverCall, and those: a program that uses the C interface makes both.
enum class Call : uint8_t {
#define TWINMMU_LISTED_CALL(context, id, ...) k##id,
  TWINMMU_ALL_CALLS(TWINMMU_LISTED_CALL, )
#undef TWINMMU_LISTED_CALL
#define TWINMMU_C_CALL(call, name) call,
      TWINMMU_C_CALLS(TWINMMU_C_CALL)
#undef TWINMMU_C_CALL
};
const char* NameOf(Call call);
// Whether it is one of Multicast, which names an object.
bool IsOfMulticast(Call call);
// The call of that name; kOther for one that is not numbered.
Call FindCall(absl::string_view name);

// What became of a call.
struct CallEvent {
  uint64_t id = 0;
  Call call = Call::kOther;
  bool refused = false;
  AddressRange range;   // of calls with a handle only: the size of the allocation
  uint64_t detail = 0;  // the handle; of SetAccess the access, of Unmap how many mappings went
  const void* caller = nullptr;  // from where the program made it; null: not known

  AllocationHandle handle() const { return AllocationHandle(detail); }
  // Of SetAccess: the access that `location` got, if it got one.
  std::optional<Access> granted(int location) const;
};
// The detail of a SetAccess.
uint64_t GrantsOf(const PageEdit& edit);

// "cuMemMap mapped handle 0x100000001 at [0x7f0000200000, +2 MiB]". `host`: its number among the
// locations that have access.
std::string SentenceOf(const CallEvent& event, int host);

// Gives calls ids from 1, and keeps the last ones in a ring. Who changes something calls NextId
// and Write with Mmu::mutex held alone: an addition, and a store of 40 bytes. Who holds it shared
// calls the same through the functions that end in Shared, which take turns.
//
// Who holds stripes of Mmu::mutex alone calls those that end in Beside. A thread that is the only
// one to do so gets one id after the other; threads that do so beside one another get some for each
// stripe. So ids are in the order of calls for the calls of one thread, for those with a stripe in
// common, and for all others on either side of a call that holds the mutex alone.
class History {
 public:
  // Of the last `capacity` calls (rounded up to a power of two); of none if that is 0.
  explicit History(size_t capacity);

  uint64_t NextId() {
    const uint64_t id = next_.load(std::memory_order_relaxed);
    next_.store(id + 1, std::memory_order_relaxed);
    least_.store(id + 1, std::memory_order_relaxed);
    return id;
  }
  void Write(const CallEvent& event) {
    if (slots_ == nullptr) return;
    Slot& slot = slots_[event.id & mask_];
    slot.Fill(event);
    slot.stamp.store(Slot::StampOf(event), std::memory_order_relaxed);
  }

  uint64_t NextIdShared() {
    const std::lock_guard lock(mutex_);
    return NextId();
  }
  void WriteShared(const CallEvent& event) {
    const std::lock_guard lock(mutex_);
    Write(event);
  }

  uint64_t NextIdBeside(StripedMutex::Stripes stripes) {
    Ids& ids = ids_[__builtin_ctz(stripes)];
    const uint64_t least =
        std::max(least_.load(std::memory_order_relaxed), latest_.of == this ? latest_.id + 1 : 0);
    const bool several = (stripes & (stripes - 1)) != 0;
    if (several || ids.next == ids.end || ids.next < least) TakeIds(stripes);
    latest_ = {this, ids.next};
    return ids.next++;
  }
  // Not where a later call has taken the place, which may happen to a thread that stood still.
  void WriteBeside(const CallEvent& event) {
    if (slots_ == nullptr) return;
    Slot& slot = slots_[event.id & mask_];
    uint64_t stamp = slot.stamp.load(std::memory_order_relaxed);
    if (stamp >> Slot::kIdShift >= event.id || (stamp & Slot::kBusy) != 0) return;
    const uint64_t busy = event.id << Slot::kIdShift | Slot::kBusy;
    if (!slot.stamp.compare_exchange_strong(stamp, busy, std::memory_order_acquire)) return;
    slot.Fill(event);
    slot.stamp.store(Slot::StampOf(event), std::memory_order_release);
  }

  // Visits the events from the newest to the oldest, until visit(event) is false. With Mmu::mutex
  // held as a whole, if only shared. The visit must not come back here.
  template <typename Visit>
  void ForEachBackwards(const Visit& visit) const {
    if (slots_ == nullptr) return;
    const std::lock_guard lock(mutex_);
    const uint64_t last = next_.load(std::memory_order_relaxed) - 1;
    for (uint64_t id = last; id != 0 && last - id <= mask_; --id) {
      const Slot& slot = slots_[id & mask_];
      // Some ids are of calls that found no memory, and have no event, or of none.
      const uint64_t stamp = slot.stamp.load(std::memory_order_relaxed);
      if (stamp >> Slot::kIdShift == id && !visit(EventOf(slot))) return;
    }
  }

 private:
  struct Slot {
    std::atomic<uint64_t> stamp = 0;  // the id, whether it is being written, was refused; the call
    uint64_t base = 0;
    uint64_t size = 0;
    uint64_t detail = 0;
    const void* caller = nullptr;

    static constexpr int kIdShift = 16;
    static constexpr uint64_t kBusy = 1 << 9;
    static constexpr uint64_t kRefused = 1 << 8;

    static uint64_t StampOf(const CallEvent& event) {
      return event.id << kIdShift | (event.refused ? kRefused : 0) |
             static_cast<uint64_t>(event.call);
    }
    void Fill(const CallEvent& event) {
      base = event.range.base.value();
      size = event.range.size.value();
      detail = event.detail;
      caller = caller_of_call;
    }
  };
  static_assert(sizeof(Slot) == 40);
  static CallEvent EventOf(const Slot& slot);

  // The ids that calls with a stripe get next.
  struct alignas(64) Ids {
    uint64_t next = 0;
    uint64_t end = 0;
  };
  // The last call of the thread that got an id of stripes.
  struct Latest {
    const History* of;
    uint64_t id;
  };
  [[gnu::cold, gnu::noinline]] void TakeIds(StripedMutex::Stripes stripes);

  // A shared library reads it without a call, too.
  [[gnu::tls_model("initial-exec")]] static inline thread_local Latest latest_;

  mutable std::mutex mutex_;  // a leaf: nothing else is locked while it is held
  uint64_t mask_ = 0;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<uint64_t> least_{1};               // no stripe gives lower ids any more
  std::array<Ids, StripedMutex::kStripes> ids_;  // each guarded by its stripe
  alignas(64) std::atomic<uint64_t> next_{1};
  std::atomic<const void*> taker_{nullptr};  // the thread that took ids last
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STATE_CALL_HISTORY_H_

// History: the last calls that changed something or were refused.

#ifndef TWINMMU_SIM_MACHINE_CALL_HISTORY_H_
#define TWINMMU_SIM_MACHINE_CALL_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "api/address.h"
#include "api/allocation.h"
#include "sim/mmu/page_table.h"

namespace twinmmu {

// The calls that are numbered: name here, and the driver's.
#define TWINMMU_SIM_CALLS(CALL)                                  \
  CALL(kReserve, "cuMemAddressReserve")                          \
  CALL(kFree, "cuMemAddressFree")                                \
  CALL(kGetGranularity, "cuMemGetAllocationGranularity")         \
  CALL(kCreate, "cuMemCreate")                                   \
  CALL(kRelease, "cuMemRelease")                                 \
  CALL(kRetain, "cuMemRetainAllocationHandle")                   \
  CALL(kGetProperties, "cuMemGetAllocationPropertiesFromHandle") \
  CALL(kMap, "cuMemMap")                                         \
  CALL(kUnmap, "cuMemUnmap")                                     \
  CALL(kSetAccess, "cuMemSetAccess")                             \
  CALL(kGetAccess, "cuMemGetAccess")                             \
  CALL(kGetAddressRange, "cuMemGetAddressRange")                 \
  CALL(kExport, "cuMemExportToShareableHandle")                  \
  CALL(kImport, "cuMemImportFromShareableHandle")                \
  CALL(kGetRangeHandle, "cuMemGetHandleForAddressRange")         \
  CALL(kGetMulticastGranularity, "cuMulticastGetGranularity")    \
  CALL(kCreateMulticast, "cuMulticastCreate")                    \
  CALL(kAddDevice, "cuMulticastAddDevice")                       \
  CALL(kBindMemory, "cuMulticastBindMem")                        \
  CALL(kBindAddress, "cuMulticastBindAddr")                      \
  CALL(kUnbind, "cuMulticastUnbind")                             \
  CALL(kAllocate, "cuMemAlloc")                                  \
  CALL(kFreeMemory, "cuMemFree")                                 \
  CALL(kAllocateHost, "cuMemHostAlloc")                          \
  CALL(kFreeHost, "cuMemFreeHost")                               \
  CALL(kRegisterHost, "cuMemHostRegister")                       \
  CALL(kUnregisterHost, "cuMemHostUnregister")                   \
  CALL(kDestroyContext, "cuCtxDestroy")                          \
  CALL(kCopy, "cuMemcpy")                                        \
  CALL(kCopyPeer, "cuMemcpyPeer")                                \
  CALL(kCopyAsync, "cuMemcpyAsync")                              \
  CALL(kCopyPeerAsync, "cuMemcpyPeerAsync")                      \
  CALL(kCopyHostToDevice, "cuMemcpyHtoD")                        \
  CALL(kCopyDeviceToHost, "cuMemcpyDtoH")                        \
  CALL(kCopyDeviceToDevice, "cuMemcpyDtoD")                      \
  CALL(kFill, "cuMemset")                                        \
  CALL(kCopyHostToDeviceAsync, "cuMemcpyHtoDAsync")              \
  CALL(kCopyDeviceToHostAsync, "cuMemcpyDtoHAsync")              \
  CALL(kCopyDeviceToDeviceAsync, "cuMemcpyDtoDAsync")            \
  CALL(kFillAsync, "cuMemsetAsync")                              \
  CALL(kCreateStream, "cuStreamCreate")                          \
  CALL(kDestroyStream, "cuStreamDestroy")                        \
  CALL(kQueryStream, "cuStreamQuery")                            \
  CALL(kSynchronizeStream, "cuStreamSynchronize")                \
  CALL(kCreateEvent, "cuEventCreate")                            \
  CALL(kDestroyEvent, "cuEventDestroy")                          \
  CALL(kRecordEvent, "cuEventRecord")                            \
  CALL(kWaitEvent, "cuStreamWaitEvent")                          \
  CALL(kQueryEvent, "cuEventQuery")                              \
  CALL(kSynchronizeEvent, "cuEventSynchronize")                  \
  CALL(kLoadModule, "cuModuleLoadData")                          \
  CALL(kUnloadModule, "cuModuleUnload")                          \
  CALL(kGetKernel, "cuModuleGetFunction")                        \
  CALL(kLaunch, "cuLaunchKernel")                                \
  CALL(kCreateArray, "cuArray3DCreate")                          \
  CALL(kDestroyArray, "cuArrayDestroy")                          \
  CALL(kCreateMipmappedArray, "cuMipmappedArrayCreate")          \
  CALL(kDestroyMipmappedArray, "cuMipmappedArrayDestroy")        \
  CALL(kGetLevel, "cuMipmappedArrayGetLevel")                    \
  CALL(kArrayProperties, "cuArrayGetSparseProperties")           \
  CALL(kMipmapProperties, "cuMipmappedArrayGetSparseProperties") \
  CALL(kMapTiles, "cuMemMapArrayAsync")                          \
  CALL(kCopyBoxAsync, "cuMemcpy3DAsync")                         \
  CALL(kOther, "a call")

enum class Call : uint8_t {
#define TWINMMU_SIM_CALL(call, name) call,
  TWINMMU_SIM_CALLS(TWINMMU_SIM_CALL)
#undef TWINMMU_SIM_CALL
};
const char* NameOf(Call call);
// The call of that name; kOther for one that is not numbered.
Call FindCall(absl::string_view name);

// What became of a call, in 32 bytes.
struct CallEvent {
  uint64_t number = 0;
  Call call = Call::kOther;
  bool refused = false;
  AddressRange range;   // of calls with a handle only: the size of the allocation
  uint64_t detail = 0;  // the handle; of SetAccess the rights, of Unmap how many mappings went

  AllocationHandle handle() const { return AllocationHandle(detail); }
  // Of SetAccess: the right that `location` got, if it got one.
  std::optional<Access> granted(int location) const;
};
// The detail of a SetAccess.
uint64_t RightsOf(const PageEdit& edit);

// "cuMemMap mapped handle 0x100000001 at [0x7f0000200000, +2 MiB]". `host`: its number among the
// locations that have rights.
std::string SentenceOf(const CallEvent& event, int host);

// Numbers calls from 1, and keeps the last ones in a ring. Who changes something calls NextNumber
// and Write with Mmu::mutex held alone: an addition, and a store of 32 bytes. Who holds it shared
// calls the same through the functions that end in Shared, which take turns.
class History {
 public:
  // Of the last `capacity` calls (rounded up to a power of two); of none if that is 0.
  explicit History(size_t capacity);

  uint64_t NextNumber() { return next_++; }
  void Write(const CallEvent& event) {
    if (slots_ == nullptr) return;
    Slot& slot = slots_[event.number & mask_];
    slot.number = event.number;
    slot.call = event.call;
    slot.refused = event.refused;
    slot.base = event.range.base.value();
    slot.size = event.range.size.value();
    slot.detail = event.detail;
  }

  uint64_t NextNumberShared() {
    const std::lock_guard lock(mutex_);
    return NextNumber();
  }
  void WriteShared(const CallEvent& event) {
    const std::lock_guard lock(mutex_);
    Write(event);
  }

  // Visits the events from the newest to the oldest, until visit(event) is false. With Mmu::mutex
  // held, if only shared. The visit must not come back here.
  template <typename Visit>
  void ForEachBackwards(const Visit& visit) const {
    if (slots_ == nullptr) return;
    const std::lock_guard lock(mutex_);
    for (uint64_t number = next_ - 1; number != 0 && next_ - 1 - number <= mask_; --number) {
      const Slot& slot = slots_[number & mask_];
      // Some numbers are of calls that found no memory, and have no event.
      if (slot.number == number && !visit(EventOf(slot))) return;
    }
  }

 private:
  struct Slot {
    uint64_t number : 48;
    Call call;
    bool refused;
    uint64_t base;
    uint64_t size;
    uint64_t detail;
  };
  static_assert(sizeof(Slot) == 32);
  static CallEvent EventOf(const Slot& slot);

  mutable std::mutex mutex_;  // a leaf: nothing else is locked while it is held
  uint64_t next_ = 1;
  uint64_t mask_ = 0;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MACHINE_CALL_HISTORY_H_

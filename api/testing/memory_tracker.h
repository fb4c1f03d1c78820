// MemoryTracker: how much memory of each device is in use, computed from successful calls.

#ifndef TWINMMU_API_TESTING_MEMORY_TRACKER_H_
#define TWINMMU_API_TESTING_MEMORY_TRACKER_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu {

// Memory counts as long as anything refers to it: a handle, a mapping, an open exported descriptor.
// Each function except InUse reports a successful call. The tracker ignores what was not reported
// to it, such as a handle made elsewhere. Not thread-safe.
class MemoryTracker {
 public:
  MemoryTracker() = default;
  MemoryTracker(const MemoryTracker&) = delete;
  MemoryTracker& operator=(const MemoryTracker&) = delete;

  void Created(AllocationHandle handle, DeviceOrdinal device, Bytes size);
  void Released(AllocationHandle handle);
  void Retained(AllocationHandle handle, DeviceAddress address);
  void Mapped(const AddressRange& range, AllocationHandle handle);
  void Unmapped(const AddressRange& range);
  void Exported(AllocationHandle handle, const ShareableHandle& shareable);
  void Imported(AllocationHandle handle, const ShareableHandle& shareable);

  // Checks which descriptors have been closed, with one system call each.
  Bytes InUse(DeviceOrdinal device);

 private:
  // Counts as in use during its lifetime.
  class Allocation {
   public:
    Allocation(Bytes* in_use, Bytes size) : in_use_(*in_use), size_(size) {
      in_use_ = in_use_ + size_;
    }
    ~Allocation() { in_use_ = in_use_ - size_; }
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;

   private:
    Bytes& in_use_;
    const Bytes size_;
  };
  using Memory = std::shared_ptr<const Allocation>;

  struct Handle {
    Memory memory;
    uint64_t references = 0;
  };
  struct Mapping {
    Bytes size;
    Memory memory;
  };
  struct Descriptor {
    int number;
    dev_t device;
    ino_t inode;
    Memory memory;
  };

  void ForgetClosed();
  template <typename Predicate>
  void ForgetDescriptors(const Predicate& forget);

  // The first member: allocations change it as they end.
  std::map<DeviceOrdinal, Bytes> in_use_;
  std::map<AllocationHandle, Handle> handles_;
  std::map<DeviceAddress, Mapping> mappings_;
  std::vector<Descriptor> descriptors_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_MEMORY_TRACKER_H_

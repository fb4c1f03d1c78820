#include "api/testing/memory_tracker.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>

namespace twinmmu {

void MemoryTracker::Created(AllocationHandle handle, DeviceOrdinal device, Bytes size) {
  handles_[handle] = {std::make_shared<const Allocation>(&in_use_[device], size), 1};
}

void MemoryTracker::Released(AllocationHandle handle) {
  const auto found = handles_.find(handle);
  if (found != handles_.end() && --found->second.references == 0) handles_.erase(found);
}

void MemoryTracker::Retained(AllocationHandle handle, DeviceAddress address) {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return;
  const auto& [base, mapping] = *std::prev(after);
  if (address - base >= mapping.size) return;
  // The handle may have been released before.
  Handle& retained = handles_[handle];
  retained.memory = mapping.memory;
  ++retained.references;
}

void MemoryTracker::Mapped(const AddressRange& range, AllocationHandle handle) {
  const auto found = handles_.find(handle);
  if (found != handles_.end()) mappings_[range.base] = {range.size, found->second.memory};
}

void MemoryTracker::Unmapped(const AddressRange& range) {
  mappings_.erase(mappings_.lower_bound(range.base), mappings_.lower_bound(range.end()));
}

void MemoryTracker::Exported(AllocationHandle handle, const ShareableHandle& shareable) {
  const auto found = handles_.find(handle);
  struct stat now = {};
  if (found == handles_.end() || shareable.type != HandleType::kPosixFileDescriptor ||
      fstat(shareable.file_descriptor, &now) != 0) {
    return;
  }
  ForgetDescriptors([&](const Descriptor& known) {
    return known.number == shareable.file_descriptor;  // closed since, and given out again
  });
  descriptors_.push_back({shareable.file_descriptor, now.st_dev, now.st_ino, found->second.memory});
}

void MemoryTracker::Imported(AllocationHandle handle, const ShareableHandle& shareable) {
  ForgetClosed();
  const auto found =
      std::find_if(descriptors_.begin(), descriptors_.end(), [&](const Descriptor& known) {
        return shareable.type == HandleType::kPosixFileDescriptor &&
               known.number == shareable.file_descriptor;
      });
  if (found == descriptors_.end()) return;
  Handle& imported = handles_[handle];
  imported.memory = found->memory;
  ++imported.references;
}

Bytes MemoryTracker::InUse(DeviceOrdinal device) {
  ForgetClosed();
  const auto found = in_use_.find(device);
  return found != in_use_.end() ? found->second : Bytes(0);
}

void MemoryTracker::ForgetClosed() {
  ForgetDescriptors([](const Descriptor& known) {
    struct stat now = {};
    return fstat(known.number, &now) != 0 || now.st_dev != known.device ||
           now.st_ino != known.inode;
  });
}

template <typename Predicate>
void MemoryTracker::ForgetDescriptors(const Predicate& forget) {
  descriptors_.erase(std::remove_if(descriptors_.begin(), descriptors_.end(), forget),
                     descriptors_.end());
}

}  // namespace twinmmu

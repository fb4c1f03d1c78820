// PhysicalMemory: allocations, what they cost, and how long they live.

#ifndef TWINMMU_SIM_PHYSICAL_MEMORY_H_
#define TWINMMU_SIM_PHYSICAL_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/vmm.h"
#include "sim/backing.h"
#include "sim/handle_table.h"
#include "sim/profile.h"

namespace twinmmu {

// The memory itself. Several allocations share it when it was imported.
struct PhysicalPages {
  Bytes size;
  Location location;
  BackingKind kind = BackingKind::kPrivate;
  Backing backing;
  bool exported = false;
  uint64_t number = 0;  // from 1; never used again
};

// What one handle names.
struct Allocation {
  AllocationProperties properties;
  std::shared_ptr<PhysicalPages> pages;
  uint64_t references = 0;  // given out and not released
  uint64_t mappings = 0;

  bool on_device() const { return pages->location.type == LocationType::kDevice; }
};

// An allocation is named by a handle outside and by a small number inside. It lives while there are
// references or mappings; its pages live on while a descriptor of them is open, in any process.
// Not thread-safe, but for the const members and Export among themselves.
class PhysicalMemory {
 public:
  explicit PhysicalMemory(const Profile& profile);

  // ResourceExhausted: `location` has not got that much left.
  absl::Status CheckRoom(Bytes size, const Location& location);
  // An allocation with one reference, where CheckRoom was OK. `properties` are valid.
  // ResourceExhausted: the host that simulates it refused.
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties);

  // The allocation of a handle, also one without references that is still mapped. Null for a handle
  // that is dead or was never given out.
  const Allocation* Find(AllocationHandle handle) const { return table_.Find(handle.value()); }
  static uint32_t NumberOf(AllocationHandle handle) {
    return HandleTable<Allocation>::IndexOf(handle.value());
  }
  const Allocation& operator[](uint32_t number) const { return table_[number]; }

  // One more reference. The handle is the one that Create or Import gave.
  AllocationHandle Retain(uint32_t number);
  // These free the allocation when they take away the last that refers to it.
  void Release(uint32_t number);
  void AddMapping(uint32_t number) { ++table_[number].mappings; }
  void RemoveMapping(uint32_t number);

  // A new descriptor of the pages. ResourceExhausted: the process can have no more.
  absl::StatusOr<int> Export(uint32_t number);
  // A new allocation over the pages behind a memory file; nullopt if they are not of this machine.
  // It has the properties of the first one, but `types` as requested handle types.
  std::optional<AllocationHandle> Import(const FileIdentity& identity,
                                         std::optional<HandleType> types);

  MemoryInfo Info(DeviceOrdinal device);
  size_t size() const { return table_.size(); }

 private:
  struct Capacity {
    Bytes total;
    Bytes used;
    Bytes kept_back;
  };
  struct MemoryFile {
    std::shared_ptr<PhysicalPages> pages;
    AllocationProperties properties;
  };

  Capacity& CapacityOf(const Location& location);
  void FreeIfUnused(uint32_t number);
  void FreePages(const PhysicalPages& pages);
  // Frees orphans whose descriptors have been closed meanwhile.
  void Collect();

  const bool host_sees_memory_;
  std::vector<Capacity> devices_;
  std::map<int, Capacity> host_nodes_;
  uint64_t next_number_ = 1;
  HandleTable<Allocation> table_;
  std::map<FileIdentity, MemoryFile> files_;
  std::set<FileIdentity> orphans_;  // of these: kept by descriptors only
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_PHYSICAL_MEMORY_H_

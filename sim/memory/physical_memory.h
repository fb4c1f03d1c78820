// PhysicalMemory: allocations, what they cost, and how long they live.

#ifndef TWINMMU_SIM_MEMORY_PHYSICAL_MEMORY_H_
#define TWINMMU_SIM_MEMORY_PHYSICAL_MEMORY_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
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
#include "sim/base/handle_table.h"
#include "sim/host/backing.h"
#include "sim/host/fabric_domain.h"
#include "sim/host/memory_label.h"
#include "sim/memory/multicast_team.h"
#include "sim/profile/profile.h"

namespace twinmmu {

// The memory itself, or a multicast object, which has none of its own. Several allocations share it
// when it was imported. Threads that map memory of their own share no line of the processor's
// cache.
struct alignas(64) PhysicalPages {
  Bytes size;
  Location location;
  AllocationProperties properties;  // of the allocation that it was made for
  BackingKind kind = BackingKind::kPrivate;
  Backing backing;
  bool imported = false;  // made by another simulator
  bool exported = false;
  uint64_t exported_by = 0;  // the id of the last call that exported a descriptor
  bool published = false;    // in the fabric domain
  uint64_t serial = 0;       // from 1; never used again
  uint64_t id = 0;           // what no other memory has, of whatever machine and process
  // Of all allocations over them, and of the multicast objects that they are bound to, once for
  // each binding: how many addresses a byte may have.
  std::atomic<uint64_t> mappings = 0;
  bool was_mapped = false;              // some time; set by who adds the first mapping
  std::unique_ptr<MulticastTeam> team;  // of a multicast object; null: this is memory
  std::shared_ptr<PhysicalPages> next_unfreed;

  // What other simulators are told of.
  MemoryLabel LabelOn(const Profile& profile) const;

  // Whether a descriptor of them is open outside, or another simulator has them mapped, as far as
  // the host says.
  bool IsKeptElsewhere() const {
    return (exported || published) && backing.HasDescriptorElsewhere();
  }

  // Whether the alias monitor observes accesses.
  bool IsArmed() const { return mappings > 1; }
};

// Of memory for GPUDirect RDMA: mappings by their ids, 0 for none.
struct RdmaMappings {
  uint32_t first = 0;   // that it hangs on: the first, or the first after that was gone
  uint32_t holder = 0;  // where there is no such: another, which its device was granted since
};

// What one handle names. Aligned for the same reason.
struct alignas(64) AllocationRecord {
  AllocationProperties properties;
  std::shared_ptr<PhysicalPages> pages;
  uint64_t references = 0;  // given out and not released
  uint64_t mappings = 0;
  uint64_t made_by = 0;  // the id of the call that created or imported it
  bool imported = false;
  RdmaMappings rdma;
  uint64_t pins = 0;  // of tiles of sparse arrays, and of descriptors of address ranges

  bool on_device() const {
    return is_multicast() || pages->location.type == LocationType::kDevice ||
           pages->location.type == LocationType::kInvisible;
  }
  bool is_multicast() const { return pages->team != nullptr; }
};

// An allocation is named by a handle outside and by a small index inside. It lives while there are
// references, mappings or pins; its pages live on while a descriptor of them is open, in any
// process. Where a call fails or throws std::bad_alloc nothing has changed, and what takes
// something away never does. Not thread-safe, but for the const members and where it says so.
class PhysicalMemory {
 public:
  // `profile` must outlive this object.
  explicit PhysicalMemory(const Profile& profile);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  // ResourceExhausted: `location` has not got that much left.
  absl::Status CheckRoom(Bytes size, const Location& location);
  // An allocation with one reference, where CheckRoom was OK. `properties` are valid.
  // ResourceExhausted: the host that simulates it refused.
  // `call`, here and below: the id of the call that asks for it.
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t call);

  // The same of a multicast object, with nobody in its team; it takes no room.
  absl::StatusOr<AllocationHandle> CreateMulticast(const MulticastProperties& properties,
                                                   uint64_t call);

  // The allocation of a handle, also one without references that is still mapped. Null for a handle
  // that is dead or was never given out.
  const AllocationRecord* Find(AllocationHandle handle) const {
    return table_.Find(handle.value());
  }
  // Whether the handle was given out, and its allocation is gone.
  bool IsDead(AllocationHandle handle) const { return table_.IsDead(handle.value()); }
  static uint32_t IndexOf(AllocationHandle handle) {
    return HandleTable<AllocationRecord>::IndexOf(handle.value());
  }
  AllocationHandle HandleOf(uint32_t index) const {
    return AllocationHandle(table_.ValueOf(index));
  }
  const AllocationRecord& operator[](uint32_t index) const { return table_[index]; }

  // One more reference. The handle is the one that Create or Import gave.
  AllocationHandle Retain(uint32_t index);
  // These free the allocation when they take away the last that refers to it.
  void Release(uint32_t index);
  void AddMapping(uint32_t index) { ++table_[index].mappings; }
  void RemoveMapping(uint32_t index);
  // The same beside others that call these: of memory that has no mapping, under whatever handle,
  // or only this one. False: that is not so, and nothing has changed. The handle has references.
  bool AddOnlyMapping(uint32_t index) {
    AllocationRecord& allocation = table_[index];
    uint64_t none = 0;
    if (!allocation.pages->mappings.compare_exchange_strong(none, 1)) return false;
    allocation.pages->was_mapped = true;
    ++allocation.mappings;
    return true;
  }
  bool HasOnlyMapping(uint32_t index) const { return table_[index].pages->mappings.load() == 1; }
  void RemoveOnlyMapping(uint32_t index) {
    --table_[index].mappings;
    table_[index].pages->mappings.store(0, std::memory_order_release);
  }
  // A pin keeps the allocation as a mapping does; it has no address.
  void Pin(uint32_t index) { ++table_[index].pins; }
  void Unpin(uint32_t index);
  void SetRdma(uint32_t index, const RdmaMappings& mappings) { table_[index].rdma = mappings; }

  // Ends what a multicast object holds of memory.
  void Unbind(std::shared_ptr<PhysicalPages> pages) { FreePagesIfUnused(std::move(pages)); }

  // A new descriptor of the pages. ResourceExhausted: the process can have no more, or the host has
  // no memory for the label.
  absl::StatusOr<int> Export(uint32_t index, uint64_t call);
  // Memory that a descriptor pins.
  struct PinnedRange {
    Backing file;  // holds nothing: it tells whether the descriptor is open
    std::vector<uint32_t> allocations;
    uint64_t linear_block = 0;  // LinearAllocation::block_id; 0: no linear memory
    Bytes kept;                 // the room of that block, from when it was freed
    Bytes size;
    Location location;  // of that block
    uint64_t call = 0;
  };
  // A new descriptor that pins `range`, but for its file, as long as it is open, in any process. It
  // leads to no memory. ResourceExhausted: the process can have no more.
  absl::StatusOr<int> PinByDescriptor(PinnedRange range);
  // A name of the pages, which other machines of the fabric domain know, and without one this
  // machine only. Unlike a descriptor it keeps nothing. ResourceExhausted: the host refused.
  absl::StatusOr<FabricHandle> ExportFabric(uint32_t index);
  // The pages in a memory file that are here, made or imported; null: there are none.
  const PhysicalPages* FindFile(const FileIdentity& identity) const;
  // A new allocation over the pages in a file that FindFile finds, or behind a fabric handle;
  // nullopt if it names none of this machine, or they are gone. It has the properties of the first
  // one, but cannot be exported, and is not for GPUDirect RDMA.
  AllocationHandle Import(const FileIdentity& identity, uint64_t call);
  std::optional<AllocationHandle> ImportFabric(const FabricName& name, uint64_t call);
  // The same over the memory of another simulator, in a file that FindFile does not find. The label
  // is that of the file, and right. The memory takes room here, too, from the first import to the
  // end of the last one, if there is any. InvalidArgument: the descriptor does not allow to write.
  // ResourceExhausted: the host refused.
  absl::StatusOr<AllocationHandle> ImportForeign(int file_descriptor, const FileIdentity& identity,
                                                 const MemoryLabel& label, uint64_t call);
  // The same of a multicast object, of which the label says what it is.
  absl::StatusOr<AllocationHandle> ImportTeam(int file_descriptor, const FileIdentity& identity,
                                              const MemoryLabel& label, uint64_t call);

  // Lets other simulators of the object's team find `pages`. ResourceExhausted: the host refused.
  absl::StatusOr<SharedBinding> Announce(const PhysicalPages& pages) const;
  // The memory that another simulator has bound; it takes room here as an import does.
  // ResourceExhausted: the host refused, which may be over soon. NotFound: it cannot be reached,
  // and why.
  absl::StatusOr<std::shared_ptr<PhysicalPages>> Reach(const TeamEntry& entry,
                                                       const PhysicalPages& object);
  // The multicast objects that can be shared. Whether there are any can be asked without a lock.
  const std::vector<PhysicalPages*>& shared_teams() const { return shared_teams_; }
  bool has_shared_teams() const { return shared_team_count_.load(std::memory_order_relaxed) != 0; }

  // Takes room, where CheckRoom was OK, for memory that has no handle; and gives it back. Memory
  // that is not visible takes none.
  void Occupy(Bytes size, const Location& location);
  void Vacate(Bytes size, const Location& location);
  // The same for a block of linear memory, once no descriptor pins it.
  void VacateBlock(uint64_t block, Bytes size, const Location& location);

  // Where profile.memory_returns_late: what was freed comes back.
  void ReturnFreed();

  const FabricDomain& fabric() const { return domain_; }

  MemoryInfo Info(DeviceOrdinal device);
  size_t size() const { return table_.size(); }

  // Calls visit(handle, allocation) for each allocation.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    table_.ForEach([&](uint64_t value, const AllocationRecord& allocation) {
      visit(AllocationHandle(value), allocation);
    });
  }
  // Calls visit(pages) for all exported pages of which this process has a descriptor open, as far
  // as the host says. Others may have one, too: that is theirs.
  template <typename Visit>
  void ForEachExported(const Visit& visit) const {
    if (files_.empty() && orphans_.empty()) return;
    const std::multiset<FileIdentity> open = OpenFiles();
    for (const Files* files : {&files_, &orphans_}) {
      for (const auto& [identity, pages] : *files) {
        // One is the simulator's own.
        if (pages->exported && open.count(identity) > 1) visit(*pages);
      }
    }
  }
  // The same for the descriptors of PinByDescriptor: visit(range).
  template <typename Visit>
  void ForEachPinnedRange(const Visit& visit) const {
    for (const PinnedRange& range : pinned_ranges_) {
      if (range.file.HasDescriptorElsewhere()) visit(range);
    }
  }

 private:
  struct Capacity {
    Bytes total;
    Bytes used;  // with imports, it may be more than the total
    Bytes kept_back;
    Bytes late = Bytes(0);  // of what is used: freed, and not yet back

    Bytes free() const { return used < total ? total - used : Bytes(0); }
  };
  using Files = std::map<FileIdentity, std::shared_ptr<PhysicalPages>>;

  bool IsInFile(HandleType types) const;
  absl::Status Label(const PhysicalPages& pages) const;
  FabricName NameOf(const PhysicalPages& pages) const;
  void Withdraw(const PhysicalPages& pages) const;
  Capacity& CapacityOf(const Location& location);
  void Adopt(const FileIdentity& identity);
  AllocationHandle Insert(std::shared_ptr<PhysicalPages> pages, uint64_t call);
  AllocationHandle InsertImport(const std::shared_ptr<PhysicalPages>& pages, uint64_t call);
  // Pages in a file of another simulator, with the label's properties.
  std::shared_ptr<PhysicalPages> PagesOf(const MemoryLabel& label, Backing backing);
  absl::Status StartTeam(PhysicalPages& pages, const MulticastProperties& properties);
  void AddSharedTeam(PhysicalPages* pages);
  void EndTeam(PhysicalPages& pages);
  void FreeIfUnused(uint32_t index);
  void FreePagesIfUnused(std::shared_ptr<PhysicalPages> pages);
  void FreePages(std::shared_ptr<PhysicalPages> pages);
  // Gives the host what it would not take before, and frees orphans whose descriptors have been
  // closed meanwhile.
  void Collect();
  void UnpinClosedRanges();

  const Profile& profile_;
  const uint64_t first_id_;
  FabricDomain domain_;
  std::vector<Capacity> devices_;
  std::map<int, Capacity> host_nodes_;
  uint64_t next_serial_ = 1;
  HandleTable<AllocationRecord> table_;
  Files files_;
  Files orphans_;  // kept by descriptors only
  std::list<PinnedRange> pinned_ranges_;
  std::vector<PhysicalPages*> shared_teams_;
  std::atomic<size_t> shared_team_count_ = 0;
  std::map<uint64_t, std::weak_ptr<PhysicalPages>> fabric_;  // by id
  std::shared_ptr<PhysicalPages> unfreed_;  // a list of what the host would not take back
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MEMORY_PHYSICAL_MEMORY_H_

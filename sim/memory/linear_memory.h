// LinearMemory: memory that has its address from the start: of devices, and of the host.

#ifndef TWINMMU_SIM_MEMORY_LINEAR_MEMORY_H_
#define TWINMMU_SIM_MEMORY_LINEAR_MEMORY_H_

#include <bitset>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "sim/host/backing.h"
#include "sim/memory/address_space.h"
#include "sim/memory/linear_allocation.h"
#include "sim/memory/managed_hints.h"
#include "sim/memory/physical_memory.h"
#include "sim/profile/profile.h"

namespace twinmmu {

// Small allocations share blocks, one behind the other; large ones have blocks of their own. A
// block takes its room in the machine's memory, and gives it back when nothing of it is in use.
// Where a call fails or throws std::bad_alloc nothing has changed, and what takes something
// away never does. Not thread-safe, but for the const members.
class LinearMemory {
 public:
  // The addresses that devices may have, if they are mere numbers; else that many.
  static AddressRange AddressesFor(const Profile& profile);

  // `addresses`: those that devices have. `physical` must outlive this object.
  LinearMemory(const Profile& profile, const AddressRange& addresses, PhysicalMemory* physical);
  ~LinearMemory();
  LinearMemory(const LinearMemory&) = delete;
  LinearMemory& operator=(const LinearMemory&) = delete;

  // Makes memory of any kind but kRegistered, of `size` bytes, not 0; all else is as in `wanted`,
  // but for flags that belong to the block: if that is shared, they are those of the first in it.
  // ResourceExhausted: there is no room, or the host that simulates it refused.
  absl::StatusOr<AddressRange> Allocate(Bytes size, const LinearAllocation& wanted);
  // Whether memory of that size shares a block with other memory, and may hold what earlier memory
  // left there. What has a block for itself is zeros.
  static bool IsShared(Bytes size) { return size.value() <= kLargestShared; }
  // Notes memory at wanted.range, of which nothing is known yet.
  void Register(const LinearAllocation& wanted);
  // Forgets the allocation that begins there, and frees what it made.
  void Free(DeviceAddress base);
  // The same for all that has this owner, after visit(allocation) for each.
  template <typename Visit>
  void FreeOwnedBy(uint64_t owner, const Visit& visit) {
    for (auto next = allocations_.begin(); next != allocations_.end();) {
      const LinearAllocation& allocation = (next++)->second;
      if (allocation.owner != owner || allocation.of_pool()) continue;
      visit(allocation);
      Free(allocation.range.base);
    }
  }
  void SetSyncMemops(DeviceAddress base, bool value);
  // Of the pages of managed memory.
  HintsByPage& hints() { return hints_; }

  // A block in a memory file, and the part of it that an allocation has.
  struct BlockFile {
    int descriptor = -1;
    FileIdentity identity;
    Bytes size;  // of the block
    Bytes offset;
  };
  // Moves the block around memory of kDevice into a file, unless it is in one. It stays where it
  // is, and the file with it. ResourceExhausted: the host refused.
  absl::StatusOr<BlockFile> PutInFile(DeviceAddress base);
  // Memory of kForeign in such a file of another process: a block for itself, which never fails for
  // lack of room. InvalidArgument: it is no part of a block. ResourceExhausted: there are no
  // addresses, or the host refused.
  absl::StatusOr<AddressRange> AddForeign(const BlockFile& file, Bytes size,
                                          const LinearAllocation& wanted);

  // Bytes in a file that several processes have, and the log of what they do there.
  struct LoggedBytes {
    const char* memory = nullptr;
    Bytes size;
    std::shared_ptr<AccessLog> log;
  };
  // Of the block around memory in such a file, or of an arena over one (below), of which that is
  // any descriptor. ResourceExhausted: the host refused.
  absl::StatusOr<LoggedBytes> OpenLogOfBlock(DeviceAddress base, int descriptor);
  absl::StatusOr<LoggedBytes> OpenLogOfArena(DeviceAddress base, int descriptor);

  // Addresses for the memory of a pool, of at least `least` bytes, with no memory yet; all else is
  // as in `wanted`. ResourceExhausted: there are none, or the host that simulates it refused.
  absl::StatusOr<AddressRange> AddArena(Bytes least, const LinearAllocation& wanted);
  // The same over a part of a file that other processes see too; of devices. What is imported is
  // there all the time, and never fails for lack of room.
  struct ArenaFile {
    int descriptor = -1;
    FileIdentity identity;
    Bytes offset;
    bool imported = false;
  };
  absl::StatusOr<AddressRange> AddArenaOfFile(const ArenaFile& file, Bytes size,
                                              const LinearAllocation& wanted);
  // Of one where nothing is committed.
  void RemoveArena(DeviceAddress base);
  // A part of an arena, of whole blocks, gets memory, unless it has; or loses it, unless that
  // throws std::bad_alloc. What lies side by side is one allocation. ResourceExhausted: there is no
  // room.
  absl::Status Commit(const AddressRange& part);
  void Decommit(const AddressRange& part);
  // Which devices may use what is committed of an arena, now and later.
  void SetReaders(DeviceAddress arena, uint64_t readers);
  // The pieces in arenas are others now.
  void ChangePieces() { ++generation_; }

  // Peer access that the context `owner` of `device` gets to memory of `peer`, or loses. False: it
  // was so before.
  bool AddPeerAccess(uint64_t owner, DeviceOrdinal device, DeviceOrdinal peer) {
    return peer_access_.insert({owner, device.value(), peer.value()}).second;
  }
  bool RemovePeerAccess(uint64_t owner, DeviceOrdinal device, DeviceOrdinal peer) {
    ++generation_;
    return peer_access_.erase({owner, device.value(), peer.value()}) != 0;
  }
  bool HasPeerAccess(DeviceOrdinal device, DeviceOrdinal peer) const {
    for (const auto& [owner, from, to] : peer_access_) {
      if (from == device.value() && to == peer.value()) return true;
    }
    return false;
  }
  void RemovePeerAccessOf(uint64_t owner) {
    ++generation_;
    const auto first = peer_access_.lower_bound({owner, 0, 0});
    auto end = first;
    while (end != peer_access_.end() && std::get<0>(*end) == owner) ++end;
    peer_access_.erase(first, end);
  }
  // Whether work of `device` may use that memory under its address. Copies always may.
  bool CanReach(DeviceOrdinal device, const LinearAllocation& allocation) const {
    if (allocation.of_pool()) return (allocation.readers >> device.value() & 1) != 0;
    if (!allocation.on_device() || device == allocation.device) return true;
    return HasPeerAccess(device, allocation.device);
  }

  // The allocation that contains `address`, or null.
  const LinearAllocation* Find(DeviceAddress address) const;
  // The allocation that contains all of `range`, or null.
  const LinearAllocation* FindAll(const AddressRange& range) const {
    const LinearAllocation* const allocation = Find(range.base);
    return allocation != nullptr && allocation->range.contains(range) ? allocation : nullptr;
  }
  // The first allocation that shares a byte with `range`, or null.
  const LinearAllocation* FindAny(const AddressRange& range) const;
  // Whether a part of `range` is for memory of devices, allocated or not.
  bool OverlapsDevices(const AddressRange& range) const { return addresses_.overlaps(range); }

  // From 1; another after each call that takes memory or access to it away.
  uint64_t generation() const { return generation_; }

  size_t size() const { return allocations_.size(); }
  // Calls visit(allocation) for each, in order of addresses.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [base, allocation] : allocations_) visit(allocation);
  }

 private:
  static constexpr uint64_t kBlock = uint64_t{2} << 20;
  static constexpr uint64_t kStep = 512;
  static constexpr uint64_t kSteps = kBlock / kStep;
  // Source: an H200 with driver 580.159.
  static constexpr uint64_t kLargestShared = kBlock - kStep;

  struct Block {
    AddressRange range;
    uint64_t id = 0;
    size_t place = 0;  // the number of its device; behind those of devices, of the host and of what
                       // is managed
    Backing backing;
    char* memory = nullptr;  // where its bytes lie
    uint32_t flags = 0;
    DeviceOrdinal device;  // for which it was made
    // Of one that is shared:
    std::bitset<kSteps> taken;
    uint64_t no_more_than = 0;  // steps in a row that may be free
  };
  using Blocks = std::map<uint64_t, Block>;  // by base
  using Allocations = std::map<uint64_t, LinearAllocation>;
  struct Arena {
    AddressRange range;
    Backing backing;
    char* memory = nullptr;
    LinearAllocation wanted;
    bool in_file = false;
    bool imported = false;
  };

  // The first of `steps` free steps in a row, now taken.
  static std::optional<uint64_t> Take(Block& block, uint64_t steps);
  size_t PlaceOf(const LinearAllocation& allocation) const {
    if (allocation.on_device()) return static_cast<size_t>(allocation.device.value());
    return allocation.managed() ? devices_ + 1 : devices_;
  }
  std::optional<Location> LocationOf(size_t place) const;
  absl::Status CheckRoom(Bytes size, size_t place);
  // Room of `steps` in a block that others use too; null: there is none.
  Block* FindRoom(uint64_t steps, const LinearAllocation& wanted, uint64_t* first);
  absl::StatusOr<Block*> AddBlock(Bytes size, const LinearAllocation& wanted);
  void RemoveBlock(Blocks::iterator block);
  absl::Status PlaceArena(Arena* arena, Bytes size);
  absl::Status ReserveArena(Arena* arena, Bytes size);
  AddressRange InsertArena(std::map<uint64_t, Arena>* made);
  const Arena& ArenaOf(DeviceAddress address) const {
    return std::prev(arenas_.upper_bound(address.value()))->second;
  }
  void AddRun(const Arena& arena, const AddressRange& range);
  void Collect();

  const AddressRange addresses_;  // of devices
  const size_t devices_;
  const std::optional<int> host_node_;
  PhysicalMemory& physical_;
  AddressSpace space_;                                    // of devices
  std::set<std::tuple<uint64_t, int, int>> peer_access_;  // owner, device, peer
  Allocations allocations_;                               // by base
  HintsByPage hints_;
  Blocks blocks_;
  std::map<uint64_t, Arena> arenas_;         // by base
  std::vector<std::vector<Block*>> shared_;  // by place
  std::multimap<uint64_t, Block> unfreed_;   // what the host would not take back
  uint64_t last_block_id_ = 0;
  uint64_t generation_ = 1;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MEMORY_LINEAR_MEMORY_H_

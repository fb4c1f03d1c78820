// Mmu: the memory of a simulated machine, and the translation of device addresses.

#ifndef TWINMMU_SIM_MMU_MMU_H_
#define TWINMMU_SIM_MMU_MMU_H_

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "sim/base/host_memory.h"
#include "sim/base/pool.h"
#include "sim/base/striped_mutex.h"
#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/host/backing.h"
#include "sim/host/window.h"
#include "sim/memory/address_space.h"
#include "sim/memory/linear_memory.h"
#include "sim/memory/physical_memory.h"
#include "sim/memory/pooled_pieces.h"
#include "sim/mmu/page_table.h"
#include "sim/profile/profile.h"

namespace twinmmu {

// Whether `granted` allows all that `needed` does.
constexpr bool Covers(Access granted, Access needed) {
  const auto bits = static_cast<uint32_t>(needed);
  return (static_cast<uint32_t>(granted) & bits) == bits;
}

// In pages of the MMU; small, because there may be millions.
struct MappingRecord {
  uint32_t first_page = 0;
  uint32_t pages = 0;
  uint32_t offset = 0;  // into the allocation
  uint32_t allocation = 0;
  uint32_t reservation = 0;  // that it begins in
  uint32_t id = 0;           // not 0; counts the mappings ever made
  uint64_t call : 60;        // the id of the call that made it
  uint64_t overhangs : 1;    // its end is not in that reservation
  uint64_t shown : 1;        // the CPU sees it, or a part of it, in the window
  uint64_t device_last : 1;  // of the access of the host and device 0, the latter changed last
  uint64_t multicast : 1;    // of a multicast object, which stands for several replicas

  MappingRecord() : call(0), overhangs(false), shown(false), device_last(false), multicast(false) {}
  uint64_t end() const { return uint64_t{first_page} + pages; }
};

// `mutex` guards every member that is not const: calls that change something hold it alone, those
// that only read, copies included, share it. So memory cannot go away under a copy.
//
// A page has one stripe of it. Who holds the stripes of pages alone may change the entries that
// these pages have to themselves in `table`, mappings that lie in these pages, and how memory that
// has no other mapping is mapped; who shares them, or holds them alone, may read these pages, and
// all that only who holds the whole alone can change.
//
// Access is kept for each device, under its number, and one for the host, whose NUMA nodes share
// it.
struct Mmu {
  // `observed` is notified which pages have several addresses; it must outlive this object.
  Mmu(const Profile& machine, Window addresses, coherence::AliasMonitor* observed);

  const Profile profile;
  const Window window;
  const int page_shift;
  const int host;  // the index of the host among the access of a page

  HostMemory host_memory;  // for what runs on it

  StripedMutex mutex;
  std::condition_variable_any team_changed;  // of some multicast object; waited for with `mutex`
  PhysicalMemory memory;
  LinearMemory linear;
  PooledPieces pooled;  // in segments of `linear`
  AddressSpace space;
  PageTable table;
  Pool<MappingRecord> mappings;
  // Where profile.mappings_seen_late: what devices find in mappings that they do not see yet, by
  // id.
  std::map<uint32_t, Backing> unseen;
  uint32_t buffers_made = 0;  // the last id of a mapping or a linear allocation

  // Whether the alias monitor observes all memory.
  bool watched() const { return aliases_.watches_all(); }

  bool HasDevice(DeviceOrdinal device) const {
    return device.value() >= 0 && device.value() < profile.device_count();
  }
  // Whether any of `range` is memory of devices, or may become that.
  bool OverlapsDevices(const AddressRange& range) const {
    return (window.claimed() && window.range().overlaps(range)) || linear.OverlapsDevices(range);
  }
  // The index of a location that can have access, which any NUMA node can, known or not; kNowhere
  // for others.
  static constexpr int kNowhere = -1;
  int IndexOf(const Location& location) const {
    if (location.type == LocationType::kDevice) {
      return HasDevice(DeviceOrdinal(location.id)) ? location.id : kNowhere;
    }
    const bool of_host =
        location.type == LocationType::kHost || location.type == LocationType::kHostNuma;
    return of_host ? host : kNowhere;
  }

  // The id for the next mapping or linear allocation; not 0.
  uint32_t NextBuffer() const { return std::max(buffers_made + 1, 1u); }

  // Whether `value` is a multiple of the minimum granularity.
  bool IsGranular(uint64_t value) const {
    return (value & (profile.minimum_granularity.value() - 1)) == 0;
  }

  // The same of multicast objects.
  bool IsMulticastGranular(uint64_t value) const {
    return (value & (profile.multicast_minimum_granularity.value() - 1)) == 0;
  }

  // With `mutex` held as a whole: another one, larger, after each change that takes something away
  // from a device. At least 2.
  uint64_t generation() const { return table.generation() + linear.generation() + mutex.writes(); }

  // The page of an address; of one outside the window, a page that is a hole.
  uint64_t PageOf(DeviceAddress address) const {
    return (address - window.range().base).value() >> page_shift;
  }
  uint64_t PagesIn(Bytes size) const { return size.value() >> page_shift; }
  Bytes SizeOf(uint64_t pages) const { return Bytes(pages << page_shift); }
  DeviceAddress AddressOf(uint64_t page) const { return window.range().base + SizeOf(page); }
  AddressRange RangeOf(const MappingRecord& mapping) const {
    return AddressRange{AddressOf(mapping.first_page), SizeOf(mapping.pages), Bytes(0)};
  }

  // The stripes of the pages of `range`; none: they are not all in the window, or more than a few.
  StripedMutex::Stripes StripesOf(const AddressRange& range) const {
    constexpr uint64_t kFewPages = 16;
    if (range.empty() || !window.range().contains(range)) return 0;
    const uint64_t first = PageOf(range.base);
    const uint64_t last = PageOf(range.end() - Bytes(1));
    if (last - first >= kFewPages) return 0;
    StripedMutex::Stripes stripes = 0;
    for (uint64_t page = first; page <= last; ++page) {
      stripes |= StripedMutex::Stripes{1} << StripeOf(page);
    }
    return stripes;
  }

  PageEntry At(DeviceAddress address) const { return table.Find(PageOf(address)).entry; }
  // The mapping that contains `address`, or null.
  const MappingRecord* MappingAt(DeviceAddress address) const {
    const PageEntry entry = At(address);
    return entry.mapped() ? &mappings[entry.index()] : nullptr;
  }
  const AllocationRecord& AllocationOf(const MappingRecord& mapping) const {
    return memory[mapping.allocation];
  }
  // Calls visit(mapping) for each mapping that has a page in [first, stop), in order of addresses.
  template <typename Visit>
  void ForEachMapping(uint64_t first, uint64_t stop, const Visit& visit) const {
    for (uint64_t page = first; page < stop;) {
      const PageSpan run = table.Find(page);
      page = run.end;
      if (!run.entry.mapped()) continue;
      const MappingRecord& mapping = mappings[run.entry.index()];
      page = mapping.end();
      visit(mapping);
    }
  }
  // The same for all that there are.
  template <typename Visit>
  void ForEachMapping(const Visit& visit) const {
    ForEachMapping(0, PagesIn(window.range().size), visit);
  }
  // The reservation that contains `address`, be it mapped or not; null if there is none.
  const AddressRange* ReservationAt(DeviceAddress address) const;
  bool IsReserved(DeviceAddress address) const { return ReservationAt(address) != nullptr; }

  // Whether `address` is in a mapping of a multicast object.
  bool IsMulticast(DeviceAddress address) const {
    const MappingRecord* const mapping = MappingAt(address);
    return mapping != nullptr && mapping->multicast;
  }
  // What the `size` bytes at a multicast address, at least one, stand for: one replica for each
  // device of the team, in the order of their numbers, each contiguous in host memory. Nothing:
  // they are not all in one mapping of a multicast object, or some device has no single binding
  // there. Access is not looked at: see At(). What was found holds until generation() changes.
  std::vector<Replica> ReplicasAt(DeviceAddress address, uint64_t size) const;
  // Calls visit(replica, address, size) for each piece of `range` that is contiguous in host
  // memory, on one device after the other. False: some of it is not in one mapping of a multicast
  // object, or some device has bound nothing there.
  using VisitReplica = absl::FunctionRef<void(const Replica&, DeviceAddress, uint64_t)>;
  bool ForEachReplica(const AddressRange& range, VisitReplica visit) const;
  // Whether copies and fills by `device` can write all of `range` on every device of a team.
  bool CanWriteReplicas(DeviceOrdinal device, const AddressRange& range) const;
  // Why there are none, of bytes in a mapping of a multicast object.
  std::string WhyNoReplicas(DeviceAddress address, uint64_t size) const;

  // The right to change a multicast object, which is as other simulators have left it, until it is
  // destroyed; `mutex` is held alone. With an error nothing can be done to the object; it is
  // DeadlineExceeded, InvalidArgument or ResourceExhausted, as TeamFile says.
  absl::StatusOr<TeamFile::Turn> EnterTeam(PhysicalPages& object);
  // Without `mutex`: takes over what other simulators did to the objects that are mapped here. Can
  // throw std::bad_alloc.
  void FollowTeams();

  // One mapping more, or less, of an allocation, with which it may go. Of memory, and of all that
  // is bound to a multicast object, the alias monitor is notified.
  void AddMapping(uint32_t allocation);
  void RemoveMapping(uint32_t allocation);
  // What is known of a mapping, by an index that others get once it is removed. Where AddRecord
  // throws std::bad_alloc nothing has changed.
  uint32_t AddRecord(const MappingRecord& mapping);
  void RemoveRecord(uint32_t id);
  // The same of no multicast object, with stripes of `mutex` held alone, one of which is `stripe`.
  // PrepareRecord: whether one can be added. AddPreparedRecord, after it, sets the id.
  bool PrepareRecord(int stripe) {
    const Stock& stock = stocks_[stripe];
    return (stock.records != 0 && stock.next_id != stock.end_id) || Restock(stripe);
  }
  uint32_t AddPreparedRecord(int stripe, const MappingRecord& mapping);
  void ReturnRecord(int stripe, uint32_t id);
  // Where profile.mappings_seen_late, devices do not see that mapping until SeeAll.
  // ResourceExhausted: the host refused.
  absl::Status HideFromDevices(const MappingRecord& mapping);
  void SeeAll();
  // The memory of `binding`, which is not yet or no longer in the team, has the addresses of the
  // object's mappings, too; or has them no more, and may go.
  void AddBinding(PhysicalPages& object, MulticastBinding binding);
  void RemoveBinding(PhysicalPages& object, const MulticastBinding& binding);

  // Whether `device` may access every byte of `range` in this way; of a multicast object nobody
  // may.
  bool CanAccess(DeviceOrdinal device, const AddressRange& range, Access access) const;
  // Whether a copy by `device` may: one that begins in memory of the host to which the device has
  // no access goes by the access of the host.
  bool CanCopy(DeviceOrdinal device, const AddressRange& range, Access access) const;
  // Whether the host has that access to every byte.
  bool CpuCanAccess(const AddressRange& range, Access access) const;

  char* MemoryOf(const MappingRecord& mapping) const {
    return AllocationOf(mapping).pages->backing.data() + SizeOf(mapping.offset).value();
  }
  // The same as devices see it.
  char* MemorySeen(const MappingRecord& mapping) const {
    return ABSL_PREDICT_TRUE(unseen.empty()) ? MemoryOf(mapping) : FindSeen(mapping);
  }
  static char* MemoryOf(const LinearAllocation& allocation, DeviceAddress address) {
    return allocation.memory + (address - allocation.range.base).value();
  }
  // Calls visit(char* host_memory, uint64_t size) for each piece of `range` that is contiguous in
  // host memory, in order of addresses. All of `range` must be mapped, or in one linear allocation.
  template <typename Visit>
  void ForEachPiece(const AddressRange& range, const Visit& visit) const {
    for (uint64_t done = 0; done < range.size.value();) {
      const DeviceAddress address = range.base + Bytes(done);
      const MappingRecord* const mapping = MappingAt(address);
      if (mapping == nullptr)
        return visit(MemoryOf(*linear.Find(address), address), range.size.value());
      const uint64_t inside = (address - AddressOf(mapping->first_page)).value();
      const uint64_t length =
          std::min(range.size.value() - done, SizeOf(mapping->pages).value() - inside);
      visit(MemorySeen(*mapping) + inside, length);
      done += length;
    }
  }

 private:
  // What calls that hold a stripe need of what all mappings have in common, for some more of them.
  struct alignas(64) Stock {
    static constexpr uint32_t kPortion = 8;
    uint32_t records = 0;
    uint32_t next_id = 0;
    uint32_t end_id = 0;
    std::array<uint32_t, 2 * kPortion> record;
  };

  coherence::AliasMonitor& aliases_;                  // of pages with several addresses
  std::array<Stock, StripedMutex::kStripes> stocks_;  // each guarded by its stripe
  // Of who holds stripes, for `mappings` as what gives ids to records, and `buffers_made`.
  std::mutex stocking_;

  static int StripeOf(uint64_t page) {
    // Pages that are near, and those at the same place of ranges, have different ones.
    static_assert(StripedMutex::kStripes == 1 << 5);
    return static_cast<int>(page * 0x9e3779b97f4a7c15 >> (64 - 5));
  }
  [[gnu::cold]] bool Restock(int stripe);

  [[gnu::cold]] char* FindSeen(const MappingRecord& mapping) const;
  void AddAddresses(PhysicalPages& pages, uint64_t count);
  void RemoveAddresses(PhysicalPages& pages, uint64_t count);
  bool AddForeign(PhysicalPages& object, const TeamEntry& entry);
  absl::Status ReadTeam(PhysicalPages& object);
  template <typename Allowed>
  bool EveryPage(const AddressRange& range, const Allowed& allowed) const;
};

// Shares the mutex of an Mmu as far as it takes to read the pages of a range: their stripes, if
// they are few, else the whole. Who may have to tell of misuse, for which others are looked at,
// gives an empty range.
class SharedPagesLock {
 public:
  SharedPagesLock(Mmu& mmu, const AddressRange& range) : mutex_(mmu.mutex) {
    const StripedMutex::Stripes stripes = mmu.StripesOf(range);
    if (stripes != 0) {
      stripes_.emplace(mutex_, stripes);
    } else {
      mutex_.lock_shared();
    }
  }
  ~SharedPagesLock() {
    if (!stripes_.has_value()) mutex_.unlock_shared();
  }
  SharedPagesLock(const SharedPagesLock&) = delete;
  SharedPagesLock& operator=(const SharedPagesLock&) = delete;

 private:
  StripedMutex& mutex_;
  std::optional<SharedStripesLock> stripes_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MMU_MMU_H_

// AddressSpace: which device addresses are reserved.

#ifndef TWINMMU_SIM_MEMORY_ADDRESS_SPACE_H_
#define TWINMMU_SIM_MEMORY_ADDRESS_SPACE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "api/address.h"
#include "sim/base/pool.h"

namespace twinmmu {

// Places reservations in a window: without a usable hint, in the lowest free span that is large
// enough.
//
// With areas it does so as an H100: small reservations, of up to three quarters of an area, lie in
// areas for them, none in two; a larger one begins with an area, and the rest of its last one stays
// empty. A hint at a free place is honoured for a large one, and for a small one only in an area
// for small ones. Such an area is made where there is none with room.
//
// Where Reserve throws std::bad_alloc nothing has changed; nothing else throws. Not
// thread-safe.
class AddressSpace {
 public:
  // `area`: a power of two, of more than the default alignment; 0: there are none.
  AddressSpace(const AddressRange& window, Bytes default_alignment, Bytes area = Bytes(0));

  // A reservation of `size` bytes (not 0), its base a multiple of `alignment` (0 or a power of two)
  // and of the default alignment: at `hint` if that is free, else elsewhere. nullopt: no free span
  // holds it. `call`: the id of the call that asks.
  std::optional<uint32_t> Reserve(Bytes size, Bytes alignment, DeviceAddress hint,
                                  uint64_t call = 0);
  void Free(uint32_t id);
  // The next reservation that is made begins at `base`, whatever is hinted, if that is free then.
  void PlaceNext(DeviceAddress base) { next_ = base; }

  // The reservation that contains `address`. By ordered search: the page table answers the same
  // question faster where nothing is mapped.
  std::optional<uint32_t> Find(DeviceAddress address) const;

  const AddressRange& operator[](uint32_t id) const { return reservations_[id].range; }
  // The id of the call that asked for it.
  uint64_t MadeBy(uint32_t id) const { return reservations_[id].made_by; }
  size_t size() const { return reservations_.size(); }
  // Calls visit(id) for each, in order of addresses.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [base, id] : by_base_) visit(static_cast<uint32_t>(id));
  }

 private:
  std::optional<uint64_t> Place(uint64_t size, uint64_t alignment, uint64_t hint);
  std::optional<uint64_t> LowestFree(uint64_t size, uint64_t alignment) const;
  // With areas: of a small reservation, of a large one, and in an area.
  std::optional<uint64_t> PlaceSmall(uint64_t size, uint64_t alignment, uint64_t hint);
  std::optional<uint64_t> PlaceLarge(uint64_t size, uint64_t alignment, uint64_t hint);
  std::optional<uint64_t> PlaceIn(uint64_t area, uint64_t size, uint64_t alignment) const;
  bool IsFree(uint64_t base, uint64_t size) const;

  // Both maps are of one kind, so that the node of a reservation becomes that of its free span.
  using Map = std::map<uint64_t, uint64_t>;

  struct Reservation {
    AddressRange range;
    uint64_t made_by = 0;
  };

  const uint64_t default_alignment_;
  const uint64_t area_;
  std::set<uint64_t> small_areas_;
  DeviceAddress next_;  // 0: anywhere
  Map free_;            // base -> size; no two are adjacent
  Map by_base_;         // base -> reservation
  Pool<Reservation> reservations_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MEMORY_ADDRESS_SPACE_H_

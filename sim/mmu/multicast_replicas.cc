// What lies behind the addresses of multicast objects.

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/mmu/mmu.h"

namespace twinmmu {

std::vector<Replica> Mmu::ReplicasAt(DeviceAddress address, uint64_t size) const {
  const MappingRecord* const mapping = MappingAt(address);
  if (mapping == nullptr || !mapping->multicast) return {};
  const AddressRange whole = RangeOf(*mapping);
  const AddressRange asked{address, Bytes(size), Bytes(0)};
  if (size == 0 || !whole.contains(asked)) return {};
  const Bytes offset = SizeOf(mapping->offset) + (address - whole.base);
  const MulticastTeam& team = *AllocationOf(*mapping).pages->team;
  if (!team.trouble.empty()) return {};
  std::vector<Replica> replicas;
  replicas.reserve(team.devices.size());
  for (const DeviceOrdinal device : team.devices) {
    const MulticastBinding* const bound = team.Find(device, offset, Bytes(size));
    if (bound == nullptr || offset < bound->offset || bound->end() < offset + Bytes(size)) {
      return {};
    }
    const Bytes inside = bound->memory_offset + (offset - bound->offset);
    replicas.push_back(
        {device, bound->pages->backing.data() + inside.value(), bound->pages.get(), inside});
  }
  return replicas;
}

void Mmu::AddBinding(PhysicalPages& object, MulticastBinding binding) {
  std::vector<MulticastBinding>& bindings = object.team->bindings;
  const auto after =
      std::upper_bound(bindings.begin(), bindings.end(), binding,
                       [](const MulticastBinding& a, const MulticastBinding& b) {
                         return std::tuple(a.device, a.offset) < std::tuple(b.device, b.offset);
                       });
  const auto added = bindings.insert(after, std::move(binding));
  AddAddresses(*added->pages, object.mappings);
  table.Invalidate();
}

void Mmu::RemoveBinding(PhysicalPages& object, const MulticastBinding& binding) {
  std::vector<MulticastBinding>& bindings = object.team->bindings;
  std::shared_ptr<PhysicalPages> pages = binding.pages;
  bindings.erase(bindings.begin() + (&binding - bindings.data()));
  RemoveAddresses(*pages, object.mappings);
  table.Invalidate();
  memory.Unbind(std::move(pages));
}

}  // namespace twinmmu

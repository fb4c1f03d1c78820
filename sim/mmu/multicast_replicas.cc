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

bool Mmu::ForEachReplica(const AddressRange& range, VisitReplica visit) const {
  const MappingRecord* const mapping = MappingAt(range.base);
  if (mapping == nullptr || !mapping->multicast || !RangeOf(*mapping).contains(range)) return false;
  const Bytes first = SizeOf(mapping->offset) + (range.base - AddressOf(mapping->first_page));
  const MulticastTeam& team = *AllocationOf(*mapping).pages->team;
  if (!team.trouble.empty()) return false;
  for (const DeviceOrdinal device : team.devices) {
    for (Bytes done; done < range.size;) {
      const Bytes offset = first + done;
      const MulticastBinding* const bound = team.Find(device, offset, Bytes(1));
      if (bound == nullptr) return false;
      const Bytes inside = bound->memory_offset + (offset - bound->offset);
      const Bytes length = std::min(range.size - done, bound->end() - offset);
      visit({device, bound->pages->backing.data() + inside.value(), bound->pages.get(), inside},
            range.base + done, length.value());
      done = done + length;
    }
  }
  return true;
}

bool Mmu::CanWriteReplicas(DeviceOrdinal device, const AddressRange& range) const {
  if (range.empty() || !ForEachReplica(range, [](const Replica&, DeviceAddress, uint64_t) {})) {
    return false;
  }
  const uint64_t last = PageOf(range.end() - Bytes(1));
  for (uint64_t page = PageOf(range.base); page <= last;) {
    const PageSpan run = table.Find(page);
    if (!Covers(run.entry.access(device.value()), Access::kReadWrite)) return false;
    page = run.end;
  }
  return true;
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

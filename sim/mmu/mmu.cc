#include "sim/mmu/mmu.h"

#include <new>
#include <optional>
#include <utility>

namespace twinmmu {
namespace {

// One location is the host; page numbers count from 0.
static_assert(Profile::kMaxDevices == PageEntry::kMaxLocations - 1);
static_assert(Profile::kMaxPages == PageEntry::kMaxIndex - 1);

int Log2(Bytes power_of_two) { return __builtin_ctzll(power_of_two.value()); }

}  // namespace

Mmu::Mmu(const Profile& machine, Window addresses, coherence::AliasMonitor* observed)
    : profile(machine),
      window(std::move(addresses)),
      page_shift(Log2(machine.page_size())),
      host(machine.device_count()),
      host_memory(machine.host_memory_limit),
      memory(profile),
      linear(machine, window.linear(), &memory),
      space(window.range(), machine.default_alignment(), machine.reservation_area),
      table(window.range().size.value() >> page_shift),
      aliases_(*observed) {}

const AddressRange* Mmu::ReservationAt(DeviceAddress address) const {
  const PageEntry entry = At(address);
  if (entry.hole()) return nullptr;
  if (!entry.mapped()) return &space[entry.index()];
  const MappingRecord& mapping = mappings[entry.index()];
  if (!mapping.overhangs) return &space[mapping.reservation];
  const std::optional<uint32_t> id = space.Find(address);
  return id.has_value() ? &space[*id] : nullptr;
}

void Mmu::AddAddresses(PhysicalPages& pages, uint64_t count) {
  const bool armed = pages.IsArmed();
  pages.mappings += count;
  pages.was_mapped = true;
  if (!armed && pages.IsArmed()) aliases_.Arm(pages.backing.data(), pages.size.value());
}

void Mmu::RemoveAddresses(PhysicalPages& pages, uint64_t count) {
  const bool armed = pages.IsArmed();
  pages.mappings -= count;
  if (armed && !pages.IsArmed()) aliases_.Disarm(pages.backing.data(), pages.size.value());
  if (pages.mappings == 0) aliases_.Forget(pages.backing.data(), pages.size.value());
}

void Mmu::AddMapping(uint32_t allocation) {
  memory.AddMapping(allocation);
  PhysicalPages& pages = *memory[allocation].pages;
  const bool fresh = !pages.was_mapped && !pages.imported && !pages.exported && !pages.published &&
                     pages.location.type == LocationType::kDevice;
  if (pages.team == nullptr && fresh) aliases_.Allocate(pages.backing.data(), pages.size.value());
  if (pages.team == nullptr) return AddAddresses(pages, 1);
  ++pages.mappings;
  for (const MulticastBinding& bound : pages.team->bindings) AddAddresses(*bound.pages, 1);
}

void Mmu::RemoveMapping(uint32_t allocation) {
  PhysicalPages& pages = *memory[allocation].pages;
  if (pages.team == nullptr) {
    RemoveAddresses(pages, 1);
  } else {
    --pages.mappings;
    for (const MulticastBinding& bound : pages.team->bindings) RemoveAddresses(*bound.pages, 1);
  }
  memory.RemoveMapping(allocation);
}

uint32_t Mmu::AddRecord(const MappingRecord& mapping) {
  if (!mapping.multicast) return mappings.Add(mapping);
  aliases_.AddMulticastAddress(mapping.id);
  try {
    return mappings.Add(mapping);
  } catch (const std::bad_alloc&) {
    aliases_.RemoveMulticastAddress(mapping.id);
    throw;
  }
}

void Mmu::RemoveRecord(uint32_t id) {
  if (mappings[id].multicast) aliases_.RemoveMulticastAddress(mappings[id].id);
  unseen.erase(mappings[id].id);
  mappings.Remove(id);
}

bool Mmu::Restock(int stripe) {
  Stock& stock = stocks_[stripe];
  const std::lock_guard lock(stocking_);
  if (stock.records == 0) {
    stock.records = static_cast<uint32_t>(mappings.Take(Stock::kPortion, stock.record.data()));
  }
  if (stock.next_id == stock.end_id && buffers_made < ~uint32_t{0} - Stock::kPortion) {
    stock.next_id = buffers_made + 1;
    stock.end_id = stock.next_id + Stock::kPortion;
    buffers_made += Stock::kPortion;
  }
  return stock.records != 0 && stock.next_id != stock.end_id;
}

uint32_t Mmu::AddPreparedRecord(int stripe, const MappingRecord& mapping) {
  Stock& stock = stocks_[stripe];
  const uint32_t id = stock.record[--stock.records];
  mappings[id] = mapping;
  mappings[id].id = stock.next_id++;
  return id;
}

void Mmu::ReturnRecord(int stripe, uint32_t id) {
  Stock& stock = stocks_[stripe];
  if (stock.records == stock.record.size()) {
    const std::lock_guard lock(stocking_);
    while (stock.records > Stock::kPortion) mappings.Remove(stock.record[--stock.records]);
  }
  stock.record[stock.records++] = id;
}

absl::Status Mmu::HideFromDevices(const MappingRecord& mapping) {
  if (!profile.mappings_seen_late || mapping.multicast) return absl::OkStatus();
  absl::StatusOr<Backing> zeros = Backing::Make(BackingKind::kPrivate, SizeOf(mapping.pages));
  if (!zeros.ok()) return zeros.status();
  unseen[mapping.id] = *std::move(zeros);
  return absl::OkStatus();
}

void Mmu::SeeAll() {
  if (unseen.empty()) return;
  unseen.clear();
  table.Invalidate();
}

char* Mmu::FindSeen(const MappingRecord& mapping) const {
  const auto found = unseen.find(mapping.id);
  return found == unseen.end() ? MemoryOf(mapping) : found->second.data();
}

template <typename Allowed>
bool Mmu::EveryPage(const AddressRange& range, const Allowed& allowed) const {
  if (!window.range().contains(range)) return false;
  for (DeviceAddress address = range.base; address < range.end();) {
    const PageSpan run = table.Find(PageOf(address));
    if (!run.entry.mapped() || !allowed(run.entry)) return false;
    if (mappings[run.entry.index()].multicast) return false;
    address = AddressOf(run.end);
  }
  return true;
}

bool Mmu::CanAccess(DeviceOrdinal device, const AddressRange& range, Access access) const {
  return EveryPage(range,
                   [&](PageEntry entry) { return Covers(entry.access(device.value()), access); });
}

bool Mmu::CanCopy(DeviceOrdinal device, const AddressRange& range, Access access) const {
  const MappingRecord* first = MappingAt(range.base);
  const bool by_cpu = first != nullptr && !AllocationOf(*first).on_device() &&
                      At(range.base).access(device.value()) == Access::kNone;
  return by_cpu ? CpuCanAccess(range, access) : CanAccess(device, range, access);
}

bool Mmu::CpuCanAccess(const AddressRange& range, Access access) const {
  return EveryPage(range, [&](PageEntry entry) { return Covers(entry.access(host), access); });
}

}  // namespace twinmmu

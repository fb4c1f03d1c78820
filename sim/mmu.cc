#include "sim/mmu.h"

#include <optional>
#include <utility>

namespace twinmmu {
namespace {

int Log2(Bytes power_of_two) { return __builtin_ctzll(power_of_two.value()); }

coherence::AliasOptions AliasOptionsOf(const Profile& machine) {
  coherence::AliasOptions options;
  options.modes.boundary = machine.alias_boundary;
  options.modes.multicast = machine.alias_multicast;
  options.policy = machine.alias_policy;
  options.seed = machine.alias_seed;
  options.check = machine.alias_check;
  return options;
}

}  // namespace

Mmu::Mmu(const Profile& machine, Window addresses, size_t calls_remembered, size_t diagnostics_kept,
         DiagnosticObserver observer)
    : profile(machine),
      window(std::move(addresses)),
      page_shift(Log2(machine.page_size())),
      host(machine.device_count()),
      memory(profile),
      plain(machine, window.plain(), &memory),
      space(window.range(), machine.default_alignment()),
      table(window.range().size.value() >> page_shift),
      aliases(AliasOptionsOf(machine),
              [this](const coherence::AliasHazard& hazard) {
                if (on_alias_hazard) on_alias_hazard(hazard);
              }),
      order(&aliases, machine.device_count()),
      scheduler(machine.stream_policy, machine.stream_seed),
      history(calls_remembered),
      log(diagnostics_kept, std::move(observer)) {}

const AddressRange* Mmu::ReservationAt(DeviceAddress address) const {
  const PageEntry entry = At(address);
  if (entry.hole()) return nullptr;
  if (!entry.mapped()) return &space[entry.index()];
  const MappingRecord& mapping = mappings[entry.index()];
  if (!mapping.overhangs) return &space[mapping.reservation];
  const std::optional<uint32_t> id = space.Find(address);
  return id.has_value() ? &space[*id] : nullptr;
}

template <typename Allowed>
bool Mmu::EveryPage(const AddressRange& range, const Allowed& allowed) const {
  if (!window.range().contains(range)) return false;
  for (DeviceAddress address = range.base; address < range.end();) {
    const PageRun run = table.Find(PageOf(address));
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

#include "sim/diagnostics/alias_reports.h"

#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/diagnostic_words.h"
#include "sim/coherence/model/litmus_program.h"
#include "sim/diagnostics/explain.h"
#include "sim/diagnostics/race_words.h"

namespace twinmmu {
namespace {

DiagnosticKind KindOf(const coherence::AliasHazard& hazard) {
  if (hazard.unwritten) return DiagnosticKind::kUninitializedRead;
  switch (hazard.hazard) {
    case coherence::Hazard::kData:
      return DiagnosticKind::kDataRace;
    case coherence::Hazard::kCrossDevice:
      return DiagnosticKind::kUnorderedAliasesOfDevices;
    case coherence::Hazard::kAlias:
    case coherence::Hazard::kProxy:  // of litmus tests alone
      break;
  }
  return hazard.missing_fence ? DiagnosticKind::kMissingAliasFence
                              : DiagnosticKind::kUnorderedAliases;
}

// The live mapping of that id; null: it is gone. A walk over all that is mapped, which is done
// once for each pair of places in code.
const MappingRecord* FindMapping(const SimulatorState& state, uint32_t id) {
  const MappingRecord* found = nullptr;
  state.mmu.ForEachMapping([&](const MappingRecord& mapping) {
    if (mapping.id == id) found = &mapping;
  });
  return found;
}

// The same of a multicast object: that of the replica which `memory` is in.
std::optional<DeviceAddress> MulticastAddressOf(const SimulatorState& state,
                                                const MappingRecord& mapping, const char* memory) {
  for (const MulticastBinding& bound : state.mmu.AllocationOf(mapping).pages->team->bindings) {
    const char* const begin = bound.pages->backing.data() + bound.memory_offset.value();
    if (memory < begin || memory >= begin + bound.size.value()) continue;
    const Bytes offset = bound.offset + Bytes(static_cast<uint64_t>(memory - begin));
    return state.mmu.RangeOf(mapping).base + (offset - state.mmu.SizeOf(mapping.offset));
  }
  return std::nullopt;
}

// The same of linear memory, or of a piece of a pool.
std::optional<DeviceAddress> LinearAddressOf(const SimulatorState& state, uint32_t id,
                                             const char* memory) {
  std::optional<DeviceAddress> found;
  state.mmu.linear.ForEach([&](const LinearAllocation& allocation) {
    const bool of_it = allocation.of_pool() || allocation.buffer_id == id;
    if (!of_it || memory < allocation.memory) return;
    const Bytes inside(static_cast<uint64_t>(memory - allocation.memory));
    if (inside < allocation.range.size) found = allocation.range.base + inside;
  });
  return found;
}

// The address of `memory` by that mapping; of linear memory it is the memory's own.
std::optional<DeviceAddress> AddressOf(const SimulatorState& state, uint32_t mapping_id,
                                       const char* memory) {
  const MappingRecord* const mapping = FindMapping(state, mapping_id);
  if (mapping == nullptr) return LinearAddressOf(state, mapping_id, memory);
  if (mapping->multicast) return MulticastAddressOf(state, *mapping, memory);
  const auto inside = static_cast<uint64_t>(memory - state.mmu.MemoryOf(*mapping));
  return state.mmu.RangeOf(*mapping).base + Bytes(inside);
}

std::string InWords(const std::optional<DeviceAddress>& address) {
  return address.has_value() ? ToString(*address) : "an address that is unmapped by now";
}

const char* WhatIsMissing(const coherence::AliasHazard& hazard) {
  if (hazard.missing_fence) return "they are in order, and what is missing is fence.proxy.alias";
  return "no barrier, no release and acquire of sufficient scope, no event, no griddepcontrol.wait "
         "and no wait of the host orders them";
}

// "kernel read, PTX line 12, ld.global.u32 reads 0x2000, which kernel write, PTX line 7,
// st.global.u32 has written through 0x1000; they are in order, and ..."
std::string InWords(const coherence::AliasHazard& hazard, const std::string& first,
                    const std::string& second, const std::optional<DeviceAddress>& first_address,
                    const std::optional<DeviceAddress>& second_address) {
  const bool one_address = hazard.first.address == hazard.second.address;
  return absl::StrCat(
      second, hazard.second.writes ? " writes " : " reads ", InWords(second_address), ", which ",
      first, hazard.first.writes ? " has written" : " has read", " through ",
      one_address ? "the same address" : InWords(first_address), "; ", WhatIsMissing(hazard));
}

// The same where all memory is watched: "kernel read, PTX line 12, ld.shared.u32, thread ... reads
// shared memory at 0x410, which kernel read, PTX line 7, ... has written; bar.sync ..."
std::string RaceInWords(const coherence::AliasHazard& hazard, const std::string& first,
                        const std::string& second, const std::optional<DeviceAddress>& address) {
  const std::string where =
      hazard.second.address != 0 ? InWords(address)
      : hazard.shared == nullptr
          ? "shared memory of another block of its cluster"
          : absl::StrCat("shared memory at 0x", absl::Hex(hazard.memory - hazard.shared));
  return absl::StrCat(
      AccessInWords(hazard.second, second), hazard.second.writes ? " writes " : " reads ", where,
      ", which ", AccessInWords(hazard.first, first),
      hazard.first.writes ? ", has written" : ", has read", "; ", WhatWouldOrder(hazard));
}

// "kernel read, PTX line 12, ld.global.u32, thread ... reads 4 B at 0x1000, which nothing has
// written"
std::string UnwrittenInWords(const coherence::AliasHazard& hazard, const std::string& site,
                             const std::optional<DeviceAddress>& address) {
  return absl::StrCat(AccessInWords(hazard.second, site), " reads ", ToString(Bytes(hazard.size)),
                      " at ", InWords(address), ", and nothing has written all of them");
}

// "kernel read, PTX line 12, ld.global.u32, call 4 reads 0x2000, which kernel write, PTX line 7,
// st.global.u32, call 9 of process 4711, has written; ..."
std::string ProcessRaceInWords(const ProcessRace& race, const std::string& site,
                               const std::optional<DeviceAddress>& address) {
  const LoggedAccess& other = race.other;
  return absl::StrCat(
      site, ", call ", race.call, race.use.writes ? " writes " : " reads ", InWords(address),
      ", which ", other.words, ", call ", other.call, " of process ", other.pid,
      other.writes ? ", has written" : ", has read",
      "; that process has to wait for its work (cuStreamSynchronize) before it tells this one to "
      "go "
      "on, or to record an event of both (cuIpcGetEventHandle) that this one waits for");
}

void Keep(SimulatorState& state, const ProcessRace& race) {
  const char* const memory = reinterpret_cast<const char*>(race.use.first);
  const std::optional<DeviceAddress> address = AddressOf(state, race.use.event.address, memory);
  const std::string site = state.sites.InWords(race.use.event.site);
  const Call known = FindCall(site);
  const AddressRange range{address.value_or(DeviceAddress(0)),
                           Bytes(race.use.last - race.use.first + 1), Bytes(0)};
  Diagnostic diagnostic = DiagnosticOf(Misuse{DiagnosticKind::kDataRace, address}, Severity::kError,
                                       NameOf(known == Call::kOther ? Call::kLaunch : known),
                                       race.call, range, ProcessRaceInWords(race, site, address));
  if (address.has_value()) diagnostic.history = HistoryOf(state, *address);
  state.log.Keep(std::move(diagnostic));
}

void Keep(SimulatorState& state, DiagnosticKind kind, const coherence::AliasHazard& hazard) {
  const std::optional<DeviceAddress> first = AddressOf(state, hazard.first.address, hazard.memory);
  const std::optional<DeviceAddress> second =
      AddressOf(state, hazard.second.address, hazard.memory);
  const std::string by = state.sites.InWords(hazard.second.site);
  const std::string earlier = state.sites.InWords(hazard.first.site);
  const Call known = FindCall(by);
  const Call call = known == Call::kOther ? Call::kLaunch : known;
  const AddressRange range{second.value_or(DeviceAddress(0)), Bytes(hazard.size), Bytes(0)};
  const bool watched = state.aliases.watches_all() && kind == DiagnosticKind::kDataRace;
  Diagnostic diagnostic =
      DiagnosticOf(Misuse{kind, second}, watched ? Severity::kError : InfoOf(kind).severity,
                   NameOf(call), hazard.call, range,
                   hazard.unwritten ? UnwrittenInWords(hazard, by, second)
                   : watched        ? RaceInWords(hazard, earlier, by, second)
                                    : InWords(hazard, earlier, by, first, second));
  if (second.has_value()) diagnostic.history = HistoryOf(state, *second);
  state.log.Keep(std::move(diagnostic));
}

}  // namespace

coherence::Site SiteOfCall(SimulatorState& state, const std::shared_ptr<const SiteSource>& calls,
                           const char* call) {
  if (!state.aliases.active()) return SiteTable::kUnknown;
  try {
    return state.sites.Add(calls, static_cast<uint32_t>(FindCall(call)), 1, call);
  } catch (const std::bad_alloc&) {
    return SiteTable::kUnknown;
  }
}

void ReportAliasHazard(SimulatorState& state, const coherence::AliasHazard& hazard) {
  const DiagnosticKind kind = KindOf(hazard);
  if (!state.log.Count(kind)) return state.log.Drop(kind);
  try {
    Keep(state, kind, hazard);
  } catch (const std::bad_alloc&) {
    state.log.Drop(kind);
  }
}

void ReportProcessRace(SimulatorState& state, const ProcessRace& race) {
  constexpr DiagnosticKind kKind = DiagnosticKind::kDataRace;
  if (!state.log.Count(kKind)) return state.log.Drop(kKind);
  try {
    Keep(state, race);
  } catch (const std::bad_alloc&) {
    state.log.Drop(kKind);
  }
}

}  // namespace twinmmu

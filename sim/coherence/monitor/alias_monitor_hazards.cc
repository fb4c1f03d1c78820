// Accesses go to the hazard checker, and what it finds is reported.

#include <algorithm>

#include "sim/coherence/monitor/alias_monitor_impl.h"

namespace twinmmu::coherence {
namespace {

constexpr uint32_t kLanes = 32;

// Where a row of lanes ends that begins with `lane`: each accesses what is behind the one before
// it, in one page.
uint32_t EndOfRow(uint32_t size, uint32_t lanes, char* const* memory, uint32_t lane) {
  const uint64_t room = (kPageBytes - LocationOf(memory[lane]) % kPageBytes) / size;
  const uint32_t last = static_cast<uint32_t>(std::min<uint64_t>(kLanes, lane + room));
  uint32_t end = lane + 1;
  while (end < last && (lanes >> end & 1) != 0 && memory[end] == memory[end - 1] + size) ++end;
  return end;
}

}  // namespace

void AliasMonitor::Impl::Check(const MonitoredAccess& access, const AccessEvent& event,
                               bool writes) {
  NoteWritten(access, access.memory, access.size, writes);
  NoteShared(access, event, access.memory, access.size, writes);
  const Strength& strength = access.strength;
  if (!shared_.empty() && strength.IsStrong() && strength.scope >= Scope::kGpu) {
    flagged_ = flagged_ || shared_.Has(LocationOf(access.memory), access.size);
  }
  CheckOrder(access, event, writes);
}

void AliasMonitor::Impl::CheckOrder(const MonitoredAccess& access, const AccessEvent& event,
                                    bool writes) {
  if (!options_.check) return;
  checker_.Check(ordering_, LocationOf(access.memory), access.size, event, access.strength, writes,
                 &reports_);
  if (!reports_.empty()) ReportHazards(access, 0, access.size);
}

// What is known of one side of a hazard.
AliasHazard::Side AliasMonitor::Impl::SideOf(const AccessEvent& event, const Strength& strength,
                                             bool writes) const {
  AliasHazard::Side side{event.address, event.site, writes, strength, Origin(), 0};
  auto origin = origins_.upper_bound(event.thread);
  if (origin == origins_.begin()) return side;
  --origin;
  side.origin = origin->second;
  side.thread = event.thread - origin->first;
  return side;
}

void AliasMonitor::Impl::CheckRange(const MonitoredAccess& access, uint64_t size,
                                    const AccessEvent& event, bool writes) {
  NoteWritten(access, access.memory, size, writes);
  NoteShared(access, event, access.memory, size, writes);
  if (!options_.check) return;
  LocationId first = LocationOf(access.memory);
  const LocationId end = first + size;
  while (first < end) {
    const uint64_t part = std::min(end - first, kPageBytes - first % kPageBytes);
    checker_.Check(ordering_, first, static_cast<uint32_t>(part), event, access.strength, writes,
                   &reports_);
    if (!reports_.empty()) ReportHazards(access, first - LocationOf(access.memory), part);
    first += part;
  }
}

// Of the `size` bytes that are `at` bytes into the access.
void AliasMonitor::Impl::ReportHazards(const MonitoredAccess& access, uint64_t at, uint64_t size) {
  for (const HazardReport& report : reports_) {
    if (access.of_copy && report.first.thread == report.second.thread) continue;
    AliasHazard hazard;
    hazard.hazard = report.hazard;
    hazard.missing_fence = report.missing_fence;
    hazard.first = SideOf(report.first, report.first_strength, report.first_writes);
    hazard.second = SideOf(report.second, access.strength, report.second_writes);
    hazard.memory = access.memory + at;
    hazard.size = size;
    hazard.call = access.call;
    hazard.shared = access.shared;
    const Place* const first = ordering_.PlaceOf(report.first.thread);
    const Place* const second = ordering_.PlaceOf(report.second.thread);
    if (hazard.hazard == Hazard::kAlias && first != nullptr && second != nullptr &&
        first->gpu != second->gpu && !ordering_.IsMulticast(report.first.address) &&
        !ordering_.IsMulticast(report.second.address)) {
      hazard.hazard = Hazard::kCrossDevice;
    }
    hazard.same_block =
        report.first.thread - hazard.first.thread == report.second.thread - hazard.second.thread;
    if (options_.watch_all) {
      if (hazard.hazard == Hazard::kData && !options_.tell_races) continue;
      // Whichever of two places comes first in this run.
      const auto [low, high] = std::minmax(hazard.first.site, hazard.second.site);
      if (!reported_.emplace(low, high, hazard.hazard).second) continue;
    } else if (!reported_.emplace(hazard.first.site, hazard.second.site, hazard.hazard).second) {
      continue;
    }
    if (report_) report_(hazard);
  }
  reports_.clear();
}

void AliasMonitor::Impl::CheckWritten(const MonitoredAccess& access, const char* memory,
                                      uint64_t size, bool writes) {
  const LocationId first = LocationOf(memory);
  if (writes) return written_.SetWritten(first, size);
  if (unwritten_.count(access.site) != 0 || !written_.HasFresh(first, size)) return;
  unwritten_.insert(access.site);
  AliasHazard hazard;
  hazard.unwritten = true;
  const AccessEvent event{access.thread, 0, access.address, access.site};
  hazard.second = SideOf(event, access.strength, /*writes=*/false);
  hazard.memory = memory;
  hazard.size = size;
  hazard.call = access.call;
  if (report_) report_(hazard);
}

std::vector<SharedUse> AliasMonitor::Impl::TakeShared(uint64_t call, bool* flagged) {
  std::vector<SharedUse> taken;
  Try([&] { taken = shared_.Take(call); });
  *flagged = *flagged || flagged_;
  return taken;
}

void AliasMonitor::Impl::NoteRow(const MonitoredAccess& access, uint32_t threads, bool writes) {
  HazardChecker::Row row;
  row.size = access.size;
  row.writes = writes;
  row.event = {access.thread, 0, access.address, access.site};
  NoteWritten(access, access.memory, uint64_t{threads} * access.size, writes);
  NoteShared(access, row.event, access.memory, uint64_t{threads} * access.size, writes);
  if (!options_.check) return;
  for (uint32_t done = 0; done < threads; ++done) {
    row.first = LocationOf(access.memory) + uint64_t{done} * access.size;
    row.threads = threads - done;
    row.event.thread = access.thread + done;
    done += checker_.CheckQuickly(&ordering_, row);
    if (done == threads || !ordering_.Runs(access.thread + done)) continue;
    MonitoredAccess one = access;
    one.memory += uint64_t{done} * access.size;
    one.thread += done;
    CheckOrder(one, ordering_.Next(one.thread, one.address, one.site), writes);
  }
}

// Row by row: the lanes from one on that access memory one behind the other.
void AliasMonitor::Impl::NoteAll(const MonitoredAccess& access, uint32_t lanes, char* const* memory,
                                 bool writes) {
  MonitoredAccess row = access;
  while (lanes != 0) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(lanes));
    const uint32_t end = EndOfRow(access.size, lanes, memory, lane);
    row.memory = memory[lane];
    row.thread = access.thread + lane;
    NoteRow(row, end - lane, writes);
    lanes = end == kLanes ? 0 : lanes >> end << end;
  }
}

}  // namespace twinmmu::coherence

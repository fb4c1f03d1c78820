#include "sim/coherence/hazard_checker.h"

#include <algorithm>

namespace twinmmu::coherence {

bool HazardChecker::IsBefore(const Ordering& ordering, const Access& earlier, const Mark& now) {
  return ordering.IsBefore(earlier.mark, now.thread, now.address) ||
         std::any_of(earlier.observers.begin(), earlier.observers.end(), [&](const Mark& mark) {
           return ordering.IsBefore(mark, now.thread, now.address);
         });
}

bool HazardChecker::Replaces(const Access& now, const Access& earlier) {
  if (earlier.mark.thread != now.mark.thread || earlier.mark.address != now.mark.address ||
      earlier.writes != now.writes) {
    return false;
  }
  if (now.writes) return !now.strength.IsStrong();
  return !now.strength.IsStrong() || (now.strength.semantics == earlier.strength.semantics &&
                                      now.strength.scope == earlier.strength.scope);
}

// Nothing is lost: a weak write can only be passed by what comes after it, and so after what came
// before it. (A strong one can be observed by what comes after nothing else.)
void HazardChecker::Prune(const Ordering& ordering, const Access& now, std::vector<Access>* cell) {
  cell->erase(std::remove_if(cell->begin(), cell->end(),
                             [&](const Access& earlier) {
                               return Replaces(now, earlier) ||
                                      (now.writes && !now.strength.IsStrong() &&
                                       IsBefore(ordering, earlier, now.mark));
                             }),
              cell->end());
}

std::vector<HazardReport> HazardChecker::Check(const Ordering& ordering, LocationId location,
                                               const Mark& mark, const Strength& strength,
                                               bool writes) {
  std::vector<HazardReport> reports;
  std::vector<Access>& cell = cells_[location];
  const Access now{mark, strength, writes, {}};
  if (!cell.empty() && Replaces(now, cell.back())) {
    // What the last one raced with, this one does, and it has been told.
    cell.back() = now;
    return reports;
  }
  for (const Access& earlier : cell) {
    if (!earlier.writes && !writes) continue;
    if (earlier.mark.thread == mark.thread && earlier.mark.address == mark.address) continue;
    if (IsBefore(ordering, earlier, mark)) continue;
    const bool reached = ordering.IsReached(earlier.mark, mark.thread);
    const bool same = earlier.mark.address == mark.address;
    if (ordering.IsMorallyStrong(earlier.mark.thread, earlier.mark.address, earlier.strength,
                                 mark.thread, mark.address, strength) &&
        (same || !reached)) {
      continue;
    }
    HazardReport report;
    const int device = ordering.DeviceOf(earlier.mark.address);
    const int other_device = ordering.DeviceOf(mark.address);
    report.hazard = same ? Hazard::kData
                    : device >= 0 && other_device >= 0 && device != other_device
                        ? Hazard::kCrossDevice
                        : Hazard::kAlias;
    report.first = earlier.mark;
    report.second = mark;
    report.missing_fence = !same && reached;
    reports.push_back(report);
  }
  Prune(ordering, now, &cell);
  if (cell.size() >= kMaxAccesses) cell.erase(cell.begin());
  cell.push_back(now);
  return reports;
}

void HazardChecker::Observe(LocationId location, const std::vector<Mark>& writes, const Mark& by) {
  for (Access& access : cells_[location]) {
    for (const Mark& write : writes) {
      if (access.writes && access.mark.thread == write.thread && access.mark.epoch == write.epoch) {
        access.observers.push_back(by);
      }
    }
  }
}

void HazardChecker::AppendTo(std::vector<uint64_t>* key) const {
  for (const auto& [location, cell] : cells_) {
    key->push_back(location << 32 | cell.size());
    for (const Access& access : cell) {
      key->push_back(uint64_t{access.mark.thread} << 32 | access.mark.epoch);
      for (const Mark& mark : access.observers) {
        key->push_back(uint64_t{mark.thread} << 32 | mark.epoch);
      }
    }
  }
}

}  // namespace twinmmu::coherence

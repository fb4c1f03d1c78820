#include "sim/coherence/litmus/races.h"

namespace twinmmu::coherence {
namespace {

class RaceFinder {
 public:
  RaceFinder(const Candidate& candidate, const Causality& causality)
      : candidate_(candidate),
        orders_(candidate.orders()),
        events_(orders_.events),
        causality_(causality) {}

  std::set<Race> Find() const {
    std::set<Race> races;
    for (int x = 0; x < orders_.size(); ++x) {
      for (int y = x + 1; y < orders_.size(); ++y) {
        if (!IsRace(x, y)) continue;
        races.insert(Has(causality_.base, y, x) ? MakeRace(y, x) : MakeRace(x, y));
      }
    }
    return races;
  }

 private:
  bool IsRace(int x, int y) const {
    if (!candidate_.IsAccess(x) || !candidate_.IsAccess(y)) return false;
    if (events_[x].location != events_[y].location) return false;
    if (events_[x].kind != Event::kWrite && events_[y].kind != Event::kWrite) return false;
    if (events_[x].partner == y) return false;
    if (Has(causality_.cause, x, y) || Has(causality_.cause, y, x)) return false;
    if (!orders_.AreMorallyStrong(x, y)) return true;
    if (IsSameAddress(events_[x], events_[y])) return false;
    // A multicast and a unicast address that count as one: fine as synchronisation, and where
    // nothing else orders them; but what is ordered needs the fence, as other data does.
    return OrderedBefore(x, y) || OrderedBefore(y, x);
  }

  // Base causality, but for the edge that `y` itself makes by what it reads.
  bool OrderedBefore(int x, int y) const {
    for (int z = 0; z < orders_.size(); ++z) {
      if (Has(orders_.program_order, z, y) && (z == x || Has(causality_.base, x, z))) return true;
    }
    return false;
  }

  Race MakeRace(int x, int y) const {
    const Program& program = *orders_.program;
    Race race;
    const Address& a = program.addresses[events_[x].address];
    const Address& b = program.addresses[events_[y].address];
    race.hazard = IsSameAddress(events_[x], events_[y])                    ? Hazard::kData
                  : a.proxy != b.proxy                                     ? Hazard::kProxy
                  : a.device >= 0 && b.device >= 0 && a.device != b.device ? Hazard::kCrossDevice
                                                                           : Hazard::kAlias;
    race.first = {events_[x].thread, events_[x].index};
    race.second = {events_[y].thread, events_[y].index};
    race.ordered = Has(causality_.base, x, y);
    if (!race.ordered || HasNoFence(a) || HasNoFence(b)) return race;
    for (size_t t = 0; t < program.threads.size(); ++t) {
      if (program.threads[t].issuer >= 0) continue;
      const int thread = static_cast<int>(t);
      const int length = static_cast<int>(program.threads[t].instructions.size());
      for (int after = -1; after < length; ++after) {
        if (Reaches(x, thread, after) && ReachedFrom(thread, after, y)) {
          race.fences.emplace_back(thread, after);
        }
      }
    }
    return race;
  }

  static bool HasNoFence(const Address& address) {
    return address.proxy == Proxy::kTexture || address.proxy == Proxy::kSurface;
  }

  // Whether `x` would come before a fence after instruction `after` of the thread.
  bool Reaches(int x, int thread, int after) const {
    for (int e = 0; e < orders_.size(); ++e) {
      if (events_[e].thread == thread && events_[e].index <= after &&
          (e == x || Has(causality_.base, x, e))) {
        return true;
      }
    }
    return false;
  }
  bool ReachedFrom(int thread, int after, int y) const {
    for (int e = 0; e < orders_.size(); ++e) {
      if (events_[e].thread == thread && events_[e].index > after &&
          (e == y || Has(causality_.base, e, y))) {
        return true;
      }
    }
    return false;
  }

  const Candidate& candidate_;
  const ProgramOrders& orders_;
  const std::vector<Event>& events_;
  const Causality& causality_;
};

}  // namespace

std::set<Race> RacesOf(const Candidate& candidate, const Causality& causality) {
  return RaceFinder(candidate, causality).Find();
}

}  // namespace twinmmu::coherence

// Timeline: what lay where and for how long in a run, from its events. Pictures are drawn from it.

#ifndef TWINMMU_TOOLS_VIEWS_TIMELINE_TIMELINE_H_
#define TWINMMU_TOOLS_VIEWS_TIMELINE_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "api/record/event.h"

namespace twinmmu {

// kMemory is physical memory, while somebody holds or maps it; all others are ranges of addresses.
enum class SpanKind : uint8_t { kReservation, kMapping, kLinear, kPool, kMemory };

inline constexpr uint32_t kStillThere = UINT32_MAX;

struct Span {
  SpanKind kind = SpanKind::kReservation;
  bool aliased = false;  // A mapping whose memory had, meanwhile, another address too.
  uint32_t process = 0;
  int32_t device = record::kHost;
  uint32_t begin = 0;          // The event that began it: they are numbered from 0.
  uint32_t end = kStillThere;  // The one that ended it.
  uint32_t memory = 0;         // Of a mapping: a number that importers share; 0: not known.
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;  // Of a mapping in its memory.
};

// A call that set the access to (a part of) a mapping.
struct AccessChange {
  uint32_t span = 0;
  uint32_t event = 0;
};

class Timeline {
 public:
  // In order of time. What the record does not explain, because its beginning is lost, is ignored.
  void Add(const record::Event& event);

  size_t events() const { return events_; }
  const std::vector<Span>& spans() const { return spans_; }
  const std::vector<AccessChange>& access_changes() const { return access_changes_; }

 private:
  using Key = std::pair<uint32_t, uint64_t>;  // A process, and an address or allocation in it.
  struct Memory {
    uint32_t span = 0;
    bool known = false;  // It was created within the record.
    int32_t device = record::kHost;
    size_t holders = 0;
    std::set<uint32_t> mappings;  // The newest is the last.
  };

  static bool Failed(const record::Event& event);
  // Whether its address is in a reservation.
  bool IsReserved(const record::Event& event) const;
  Span& Begin(SpanKind kind, const record::Event& event);
  bool End(std::map<Key, uint32_t>& live, Key key);
  void Create(const record::Event& event);
  void Release(const record::Event& event);
  void Map(const record::Event& event);
  void Unmap(const record::Event& event);
  void UnmapSpan(uint32_t index);
  void SetAccess(const record::Event& event);
  void Share(const record::Event& event);
  void Free(const record::Event& event);
  uint32_t MemoryOf(Key allocation);
  void MarkAliases(uint32_t index);
  void EndIfUnused(Memory& memory);

  uint32_t events_ = 0;
  std::vector<Span> spans_;
  std::vector<AccessChange> access_changes_;
  std::vector<Memory> memories_ = std::vector<Memory>(1);            // By number.
  std::map<Key, uint32_t> memory_of_;                                // By allocation.
  std::map<uint64_t, uint32_t> shared_;                              // Memory, by its shared id.
  std::map<Key, uint32_t> reservations_, mappings_, linear_, pool_;  // Those there, by address.
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_TIMELINE_TIMELINE_H_

// HazardChecker: finds accesses of the same bytes that nothing orders, and missing alias fences.

#ifndef TWINMMU_SIM_COHERENCE_HAZARD_CHECKER_H_
#define TWINMMU_SIM_COHERENCE_HAZARD_CHECKER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "sim/coherence/ordering.h"
#include "sim/coherence/page_map.h"
#include "sim/coherence/program.h"

namespace twinmmu::coherence {

struct HazardReport {
  Hazard hazard = Hazard::kData;
  Mark first;
  Mark second;
  bool first_writes = false;
  bool second_writes = false;
  // What is missing is an alias fence: all else is in order. False: nothing orders the two.
  bool missing_fence = false;
};

// One cell per 4 bytes that were accessed; what covers much of a page has one entry there. A cell
// keeps the accesses that a later one could race with: up to kMaxAccesses, of which the oldest goes
// first (so only reports can be lost).
class HazardChecker {
 public:
  static constexpr size_t kMaxAccesses = 16;

  // Beyond `limit` bytes, what was noted first is forgotten.
  explicit HazardChecker(uint64_t limit = uint64_t{1} << 40) : limit_(limit) {}

  // An access of `size` bytes of one page that is being made: `mark` is its own, taken before. Adds
  // what it races with. Call it before the access synchronises by what it reads.
  void Check(const Ordering& ordering, LocationId first, uint32_t size, const Mark& mark,
             const Strength& strength, bool writes, std::vector<HazardReport>* reports);
  // A strong read, with mark `by`, saw these writes.
  void Observe(LocationId first, uint32_t size, const std::vector<Mark>& writes, const Mark& by);

  // Forgets what was noted of the bytes from `first` to `last`, whole pages.
  void Forget(LocationId first, LocationId last);
  // Where nothing runs: all that was is in order.
  void Collapse();
  // About how much memory it has.
  uint64_t bytes() const { return bytes_; }

  void AppendTo(std::vector<uint64_t>* key) const;

 private:
  // All of an access but when it was: few are different.
  struct Kind {
    AddressId address = 0;
    Site site = 0;
    Strength strength;
    bool writes = false;
    uint8_t mask = 0;  // of the bytes of the cell
    bool operator==(const Kind& other) const {
      return site == other.site && address == other.address && writes == other.writes &&
             mask == other.mask && strength.semantics == other.strength.semantics &&
             strength.scope == other.strength.scope;
    }
    bool operator<(const Kind& other) const { return Key() < other.Key(); }
    std::tuple<Site, AddressId, bool, uint8_t, Semantics, Scope> Key() const {
      return {site, address, writes, mask, strength.semantics, strength.scope};
    }
  };
  struct Entry {
    ThreadId thread = 0;
    Epoch epoch = 0;
    uint32_t kind = 0;  // kinds_; 0: no access
  };
  struct Observer {  // of the write with that thread and epoch
    ThreadId thread;
    Epoch epoch;
    Mark by;
  };
  struct More {
    std::vector<Entry> entries;
    std::vector<Observer> observers;
  };
  // Accesses by time.
  struct Cell {
    Cell() = default;
    Cell(Cell&&) noexcept = default;
    Cell& operator=(Cell&&) noexcept = default;
    Cell(const Cell& other)
        : entries(other.entries),
          more(other.more == nullptr ? nullptr : std::make_unique<More>(*other.more)) {}
    Cell& operator=(const Cell& other) {
      if (this != &other) *this = Cell(other);
      return *this;
    }
    size_t size() const;
    Entry& operator[](size_t i) {
      return i < entries.size() ? entries[i] : more->entries[i - entries.size()];
    }
    const Entry& operator[](size_t i) const { return const_cast<Cell&>(*this)[i]; }
    void Resize(size_t size);
    void Add(const Entry& entry);

    std::array<Entry, 2> entries;
    std::unique_ptr<More> more;
  };
  struct RangeEntry {
    Entry entry;
    uint16_t first;  // bytes of the page
    uint16_t last;
  };
  struct Page {
    std::vector<Cell> cells;  // as many as were needed
    std::vector<RangeEntry> ranges;
  };
  // An access that is being made.
  struct Now {
    const Ordering& ordering;
    const Mark& mark;
    const Strength& strength;
    bool writes;
    std::vector<HazardReport>* reports;
  };

  uint32_t KindOf(const Now& now, uint8_t mask);
  uint32_t FindKind(const Kind& kind);
  Cell* CellOf(Page* page, uint64_t number, size_t index);
  void MakeRoom(uint64_t number);
  // Whether a later access that races with `earlier` races with `now`, too.
  static bool Replaces(const Kind& now, const Kind& earlier);
  static bool IsBefore(const Ordering& ordering, const Cell* cell, const Entry& entry,
                       const Mark& earlier, const Mark& now);
  // Compares with `entry`. Whether it need not be kept.
  bool Compare(const Now& now, const Kind& kind, const Cell* cell, const Entry& entry);
  void Report(const Now& now, const Mark& earlier, const Kind& kind);
  void CheckCell(const Now& now, Page* page, Cell* cell, uint32_t byte, uint32_t kind);
  void CheckRange(const Now& now, Page* page, uint32_t first, uint32_t last);
  void PruneObservers(Cell* cell);

  uint64_t limit_;
  uint64_t bytes_ = 0;
  PageMap<Page> pages_;
  std::vector<Kind> kinds_{1};
  std::map<Kind, uint32_t> numbers_;
  std::array<uint32_t, 16> recent_{};  // kinds
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_HAZARD_CHECKER_H_

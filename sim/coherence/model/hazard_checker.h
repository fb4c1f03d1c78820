// HazardChecker: finds accesses of the same bytes that nothing orders, and missing alias fences.

#ifndef TWINMMU_SIM_COHERENCE_MODEL_HAZARD_CHECKER_H_
#define TWINMMU_SIM_COHERENCE_MODEL_HAZARD_CHECKER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "sim/coherence/model/litmus_program.h"
#include "sim/coherence/model/ordering.h"
#include "sim/coherence/model/page_map.h"

namespace twinmmu::coherence {

struct HazardReport {
  Hazard hazard = Hazard::kData;
  AccessEvent first;
  AccessEvent second;
  bool first_writes = false;
  bool second_writes = false;
  Strength first_strength;
  // What is missing is an alias fence: all else is in order. False: nothing orders the two.
  bool missing_fence = false;
};

// One cell per 4 bytes that were accessed; what covers much of a page has one entry there. A cell
// keeps the accesses that a later one could race with: up to kMaxAccesses, of which a read goes
// first (so only reports can be lost). What the lanes of a warp did together with a line of cells
// is noted once for all of them, until somebody does something else with part of it.
class HazardChecker {
 public:
  static constexpr size_t kMaxAccesses = 8;

  // Beyond `limit` bytes, what was noted first is forgotten.
  explicit HazardChecker(uint64_t limit = uint64_t{1} << 40) : limit_(limit) {}

  // An access of `size` bytes of one page that is being made: `event` is its own, taken before.
  // Adds what it races with. Call it before the access synchronises by what it reads.
  void Check(const Ordering& ordering, LocationId first, uint32_t size, const AccessEvent& event,
             const Strength& strength, bool writes, std::vector<HazardReport>* reports);
  // The same of a row of weak accesses: of the threads row.event.thread + i, each of `size` bytes,
  // one behind the other in one page. Notes those that are like most others, from the first on: by
  // words, with nothing to tell. Returns how many these were; call Check for the one after them.
  struct Row {
    LocationId first = 0;
    uint32_t size = 0;
    uint32_t threads = 0;
    AccessEvent event;  // of the first, but for its epoch: they get new ones here
    bool writes = false;
  };
  uint32_t CheckQuickly(Ordering* ordering, const Row& row);
  // A strong read, with event `by`, saw these writes.
  void Observe(LocationId first, uint32_t size, const std::vector<AccessEvent>& writes,
               const AccessEvent& by);

  // Forgets what was noted of the bytes from `first` to `last`, whole pages.
  void Forget(LocationId first, LocationId last);
  // The same of any bytes, word by word where they are less than a page. Can throw std::bad_alloc.
  void ForgetBytes(LocationId first, LocationId last);
  // Where nothing runs: all that was is in order.
  void Collapse();
  // The same, but what is noted of threads from `first` on stays. Costs nothing.
  void CollapseBefore(ThreadId first) { first_kept_ = first; }
  // About how much memory it has.
  uint64_t bytes() const { return bytes_; }
  // How many different accesses it knows, used ones and others.
  size_t kinds() const { return kinds_.size(); }

  void AppendTo(std::vector<uint64_t>* key) const;

 private:
  static constexpr uint32_t kCellBytes = 4;
  static constexpr uint32_t kNoKind = 0x7fffffff;
  static constexpr uint8_t kWhole = 0xf;  // Kind::mask
  static constexpr uint32_t kLineCells = 32;
  // So many different accesses are not met; if so, all is forgotten.
  static constexpr size_t kMaxKinds = size_t{1} << 20;
  // Of no more, nobody looks which ones are still used.
  static constexpr size_t kFewKinds = size_t{1} << 12;
  // What covers more of a page than this is one entry.
  static constexpr uint32_t kMaxCelled = 64;

  // All of an access but when it was: few are different.
  struct Kind {
    Kind() = default;
    Kind(const AccessEvent& event, const Strength& strength, bool writes, uint8_t mask)
        : address(event.address),
          site(event.site),
          traits(uint32_t{mask} | uint32_t{writes} << 8 |
                 static_cast<uint32_t>(strength.semantics) << 16 |
                 static_cast<uint32_t>(strength.scope) << 24) {}
    uint8_t mask() const { return static_cast<uint8_t>(traits); }  // of the bytes of the cell
    bool writes() const { return (traits >> 8 & 1) != 0; }
    Strength strength() const {
      return {static_cast<Semantics>(traits >> 16 & 0xff), static_cast<Scope>(traits >> 24)};
    }
    bool operator==(const Kind& other) const {
      return site == other.site && address == other.address && traits == other.traits;
    }
    bool operator<(const Kind& other) const {
      return std::tie(site, address, traits) < std::tie(other.site, other.address, other.traits);
    }

    AddressId address = 0;
    Site site = 0;
    uint32_t traits = 0;  // in one, as they are compared at each access
  };
  struct Entry {
    Entry() : kind(0), has_rest(0) {}
    Entry(ThreadId t, Epoch e, uint32_t k) : thread(t), epoch(e), kind(k & kNoKind), has_rest(0) {}

    ThreadId thread = 0;
    Epoch epoch = 0;
    uint32_t kind : 31;     // kinds_; 0: no access
    uint32_t has_rest : 1;  // of the first of a cell: Page::rests has more of it
  };
  struct Observer {  // of the write with that thread and epoch
    ThreadId thread;
    Epoch epoch;
    AccessEvent by;
  };
  struct More {
    std::vector<Entry> entries;
    std::vector<Observer> observers;
    // The cell is full, and all but its first are reads: one more can take the place of any.
    bool takes_reads = false;
  };
  struct Rest {
    Rest() = default;
    Rest(Rest&&) noexcept = default;
    Rest& operator=(Rest&&) noexcept = default;
    Rest(const Rest& other)
        : second(other.second),
          more(other.more == nullptr ? nullptr : std::make_unique<More>(*other.more)) {}
    Rest& operator=(const Rest& other) {
      if (this != &other) *this = Rest(other);
      return *this;
    }

    Entry second;
    std::unique_ptr<More> more;
  };
  struct RangeEntry {
    Entry entry;
    uint16_t first;  // bytes of the page
    uint16_t last;
  };
  // Of the threads from entry.thread on, each in that epoch.
  struct Line {
    Entry first;
    Entry second;             // not without a first
    uint32_t cells_each = 1;  // that a thread accessed
    bool spread = false;      // the cells have it; what these had before is void
  };
  // Most cells have one access, so that the others lie elsewhere.
  struct Page {
    size_t bytes() const {
      return lines.capacity() * sizeof(Line) + firsts.capacity() * sizeof(Entry) +
             rests.capacity() * sizeof(Rest);
    }

    std::vector<Line> lines;    // all of them; none: as if spread
    std::vector<Entry> firsts;  // as many as were needed
    std::vector<Rest> rests;    // as many, or none
    std::vector<RangeEntry> ranges;
  };
  // Accesses by time.
  class Cell {
   public:
    Cell(Page* page, size_t index) : page_(page), index_(index) {}
    size_t size() const;
    const Entry& operator[](size_t i) const;
    void Set(size_t i, Entry entry);
    void Remove(size_t i);
    void Resize(size_t size);
    void Add(const Entry& entry);
    // Null: there is none.
    More* more() const { return first().has_rest != 0 ? rest().more.get() : nullptr; }
    More* MakeMore();
    void PruneObservers();

   private:
    Entry& first() const { return page_->firsts[index_]; }
    Rest& rest() const { return page_->rests[index_]; }
    void MakeRest();
    void DropEmptyRest();

    Page* page_;
    size_t index_;
  };
  bool IsEmpty(const Entry& entry) const { return entry.kind == 0 || entry.thread < first_kept_; }
  bool IsQuicklyBefore(const Ordering& ordering, const Entry& entry, const AccessEvent& event,
                       bool writes) const;
  bool CheckCellQuickly(const Ordering& ordering, Page* page, size_t index,
                        const AccessEvent& event, bool writes, uint32_t number) const;
  bool IsOwn(const Entry* cells, const Row& row, uint32_t number) const;
  uint32_t CheckCellsQuickly(Ordering* ordering, Page* page, const Row& row, uint32_t number);
  bool IsLineBefore(const Ordering& ordering, const Entry& entry, const Row& row) const;
  bool CheckLine(const Ordering& ordering, Line* line, const Row& row, const Entry& own) const;
  bool NoteInLine(Ordering* ordering, Page* page, const Row& row, uint32_t number);
  bool AreRangesBefore(const Ordering& ordering, const Page& page, const Row& row) const;
  void Spread(Page* page, uint64_t number, size_t index);
  // Those that hold any of the bytes from `first` to `last` of the page.
  void SpreadLines(Page* page, uint64_t number, uint32_t first, uint32_t last) {
    if (page->lines.empty()) return;
    constexpr uint32_t kLineBytes = kLineCells * kCellBytes;
    for (size_t i = first / kLineBytes; i <= last / kLineBytes; ++i) Spread(page, number, i);
  }
  struct Recent {  // a kind that was met
    Kind kind;
    uint32_t id = 0;
  };
  // An access that is being made.
  struct Now {
    const Ordering& ordering;
    const AccessEvent& event;
    const Strength& strength;
    bool writes;
    std::vector<HazardReport>* reports;
  };

  Recent& RecentOf(const Kind& kind) {
    return recent_[(kind.site + (kind.writes() ? recent_.size() / 2 : 0)) % recent_.size()];
  }
  uint32_t IdOf(const Kind& kind);
  uint32_t KindOf(const Now& now, uint8_t mask) {
    return IdOf(Kind(now.event, now.strength, now.writes, mask));
  }
  Page* GetPage(uint64_t number);
  void DropForgotten(Page* page) const;
  void SetTakesReads(Cell* cell) const;
  uint32_t FindKind(const Kind& kind);
  template <typename Visit>
  void ForEachEntry(const Visit& visit);
  void DropUnusedKinds();
  void ForgetKinds();
  Cell CellOf(Page* page, uint64_t number, size_t index);
  void ForgetPart(Page* page, uint64_t number, uint32_t first, uint32_t last);
  void MakeRoom(uint64_t number);
  // Whether a later access that races with `earlier` races with `now`, too.
  static bool Replaces(const Kind& now, const Kind& earlier);
  static bool IsBefore(const Ordering& ordering, const Cell* cell, const Entry& entry,
                       const AccessEvent& earlier, const AccessEvent& now);
  // Compares with `entry`. Whether it need not be kept.
  bool Compare(const Now& now, const Kind& kind, const Cell* cell, const Entry& entry);
  void Report(const Now& now, const AccessEvent& earlier, const Kind& kind);
  void CheckCell(const Now& now, Page* page, Cell* cell, uint32_t byte, uint32_t kind);
  void CheckRange(const Now& now, Page* page, uint32_t first, uint32_t last);

  uint64_t limit_;
  uint64_t bytes_ = 0;
  ThreadId first_kept_ = 0;
  PageMap<Page> pages_;
  std::vector<Kind> kinds_{1};
  std::map<Kind, uint32_t> ids_;
  size_t most_kinds_ = kFewKinds;  // until it is looked which of them are used
  std::array<Recent, 64> recent_{};
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MODEL_HAZARD_CHECKER_H_

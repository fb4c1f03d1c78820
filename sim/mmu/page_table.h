// PageTable: what lies at each page of the device address space.

#ifndef TWINMMU_SIM_MMU_PAGE_TABLE_H_
#define TWINMMU_SIM_MMU_PAGE_TABLE_H_

#include <cstdint>

#include "api/allocation.h"

namespace twinmmu {

// One page: a hole, reserved, or mapped with the access of each location. 64 bits:
//   0 present, 1..32 access (two bits for each of 16 locations), 33 mapped, 34..63 index.
class PageEntry {
 public:
  static constexpr int kMaxLocations = 16;
  static constexpr uint64_t kMaxIndex = (uint64_t{1} << 30) - 1;

  constexpr PageEntry() = default;
  constexpr explicit PageEntry(uint64_t bits) : bits_(bits) {}
  static constexpr PageEntry Reserved(uint32_t reservation) {
    return PageEntry(uint64_t{reservation} << kIndexShift | kPresent);
  }
  static constexpr PageEntry Mapped(uint32_t mapping) {
    return PageEntry(uint64_t{mapping} << kIndexShift | kMappedBit | kPresent);
  }

  constexpr bool hole() const { return bits_ == 0; }
  constexpr bool mapped() const { return (bits_ & kMappedBit) != 0; }
  // The id of the mapping if mapped(), of the reservation if reserved only.
  constexpr uint32_t index() const { return static_cast<uint32_t>(bits_ >> kIndexShift); }
  constexpr Access access(int location) const {
    return static_cast<Access>(bits_ >> RightShift(location) & 3);
  }
  constexpr uint64_t bits() const { return bits_; }

  static constexpr int RightShift(int location) { return 1 + 2 * location; }
  static constexpr uint64_t kPresent = 1;

 private:
  static constexpr int kIndexShift = 34;
  static constexpr uint64_t kMappedBit = uint64_t{1} << 33;

  uint64_t bits_ = 0;
};

// A change of many pages at once: entry = (entry & keep) | set.
struct PageEdit {
  uint64_t keep = 0;
  uint64_t set = 0;

  static PageEdit Replace(PageEntry entry) { return PageEdit{0, entry.bits()}; }
  // For pages that are mapped.
  void Grant(int location, Access access) {
    const int shift = PageEntry::RightShift(location);
    keep &= ~(uint64_t{3} << shift);
    set = (set & ~(uint64_t{3} << shift)) | (static_cast<uint64_t>(access) & 3) << shift;
  }
  static PageEdit AccessBits() { return PageEdit{~uint64_t{0}, 0}; }
  // The bits of all access.
  static constexpr uint64_t AllAccess() {
    return ((uint64_t{1} << 2 * PageEntry::kMaxLocations) - 1) << PageEntry::RightShift(0);
  }
};

// Pages from the one that was asked for up to `end` are alike.
struct PageSpan {
  PageEntry entry;
  uint64_t end = 0;
};

// A radix tree of 512-way nodes over page numbers. A slot of any level is a child or an entry that
// holds for every page under it, so that a span costs what its edges cost and not what it contains.
// Nodes that an Apply may need are made before it begins, so that one that throws std::bad_alloc
// has changed nothing. Not thread-safe; Find is beside another one, and beside changes of entries
// that a page has to itself.
class PageTable {
 public:
  // For the pages [0, pages).
  explicit PageTable(uint64_t pages);
  ~PageTable();
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  // A page beyond the end is a hole.
  PageSpan Find(uint64_t page) const {
    if (page >= pages_) return PageSpan{PageEntry(), ~uint64_t{0}};
    const Node* node = root_;
    for (int shift = root_shift_; shift > 0; shift -= kBits) {
      const uint64_t slot = node->slots[page >> shift & (kSlots - 1)];
      if (!IsChild(slot)) return PageSpan{PageEntry(slot), ((page >> shift) + 1) << shift};
      node = ChildOf(slot);
    }
    return PageSpan{PageEntry(node->slots[InLeaf(page)]), page + 1};
  }

  // Changes the pages [first, first + count), which must lie in the table.
  void Apply(uint64_t first, uint64_t count, const PageEdit& edit);
  // The entries of pages that have one each, all in one node. Who changes them changes nothing else
  // of the table, its generation neither.
  class OwnEntries;
  OwnEntries EntriesOf(uint64_t first, uint64_t count);
  // Makes sure that Apply cannot fail for one range, nor for several that make up one, nor for any
  // number of them within `pages` pages.
  void Prepare(uint64_t pages = 0);

  // How many nodes there are: with holes only, one.
  uint64_t nodes() const { return nodes_; }
  // From 1; another after each Apply. What was found under it still holds.
  uint64_t generation() const { return generation_; }
  // Another one, where what lies behind the pages is not the same any more.
  void Invalidate() { ++generation_; }

 private:
  static constexpr int kBits = 9;
  static constexpr uint64_t kSlots = uint64_t{1} << kBits;
  struct Node {
    uint64_t slots[kSlots] = {};
    uint32_t used = 0;  // slots that are not holes
  };

  // Which slot of a leaf: neighbours are in different lines of the processor's cache, since threads
  // may use them.
  static uint64_t InLeaf(uint64_t page) { return (page >> 3 & 63) | (page & 7) << 6; }
  static bool IsChild(uint64_t slot) { return slot != 0 && (slot & PageEntry::kPresent) == 0; }
  static Node* ChildOf(uint64_t slot) { return reinterpret_cast<Node*>(slot); }

  // The leaf that all of [first, end) is in; null: there is none.
  Node* LeafOf(uint64_t first, uint64_t end) const;
  // Applies where all of [first, end) is in one leaf that exists, the usual case, and nothing
  // becomes a hole; else false, and nothing has changed.
  bool ApplyInLeaf(uint64_t first, uint64_t end, const PageEdit& edit);
  // Applies to the part of [first, end) under `node`, whose slots are 1 << shift pages each.
  // `first` and `end` are relative to the node.
  void Apply(Node* node, int shift, uint64_t first, uint64_t end, const PageEdit& edit);
  uint64_t ApplyToPart(uint64_t slot, int shift, uint64_t first, uint64_t end,
                       const PageEdit& edit);
  void Delete(Node* node);

  Node* TakeSpare();
  void GiveSpare(Node* node);

  uint64_t pages_;
  int root_shift_ = 0;
  uint64_t nodes_ = 1;
  uint64_t generation_ = 1;
  uint64_t edge_nodes_ = 0;  // that one Apply can need: two at each level below the root
  uint64_t spares_ = 0;
  Node* spare_ = nullptr;  // a list, linked through slots[0]
  Node* root_;
};

class PageTable::OwnEntries {
 public:
  // Whether the pages have such entries.
  explicit operator bool() const { return leaf_ != nullptr; }
  PageEntry operator[](uint64_t page) const { return PageEntry(leaf_->slots[InLeaf(page)]); }
  // Neither the old entry nor the new one is a hole.
  void Set(uint64_t page, PageEntry entry) { leaf_->slots[InLeaf(page)] = entry.bits(); }

 private:
  friend class PageTable;
  explicit OwnEntries(Node* leaf) : leaf_(leaf) {}

  Node* leaf_;
};

inline PageTable::OwnEntries PageTable::EntriesOf(uint64_t first, uint64_t count) {
  return OwnEntries(LeafOf(first, first + count));
}

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MMU_PAGE_TABLE_H_

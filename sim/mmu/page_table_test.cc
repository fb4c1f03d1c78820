// The page table: runs of pages, at every level.

#include "sim/mmu/page_table.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr uint64_t kPages = uint64_t{1} << 23;

// A table begins as one hole, and ends where it ends.
TEST(PageTableTest, BeginsAsOneHole) {
  const PageTable table(kPages);
  EXPECT_TRUE(table.Find(0).entry.hole());
  EXPECT_TRUE(table.Find(kPages - 1).entry.hole());
  EXPECT_TRUE(table.Find(kPages).entry.hole());
  EXPECT_TRUE(table.Find(~uint64_t{0}).entry.hole());
  EXPECT_EQ(table.nodes(), 1u);
}

// An entry knows its state and index, and the access of each location apart.
TEST(PageTableTest, EntriesKeepAccessApart) {
  PageTable table(kPages);
  table.Apply(5, 1, PageEdit::Replace(PageEntry::Mapped(PageEntry::kMaxIndex)));
  PageEdit edit = PageEdit::AccessBits();
  edit.Grant(0, Access::kReadWrite);
  edit.Grant(PageEntry::kMaxLocations - 1, Access::kRead);
  table.Apply(5, 1, edit);
  const PageEntry entry = table.Find(5).entry;
  EXPECT_TRUE(entry.mapped());
  EXPECT_EQ(entry.index(), PageEntry::kMaxIndex);
  EXPECT_EQ(entry.access(0), Access::kReadWrite);
  EXPECT_EQ(entry.access(1), Access::kNone);
  EXPECT_EQ(entry.access(PageEntry::kMaxLocations - 1), Access::kRead);
}

// Access can differ from page to page inside one mapping.
TEST(PageTableTest, AccessCanDifferInsideAMapping) {
  PageTable table(kPages);
  table.Apply(0, 1024, PageEdit::Replace(PageEntry::Mapped(1)));
  PageEdit edit = PageEdit::AccessBits();
  edit.Grant(0, Access::kRead);
  table.Apply(100, 1, edit);
  EXPECT_EQ(table.Find(99).entry.access(0), Access::kNone);
  EXPECT_EQ(table.Find(100).entry.access(0), Access::kRead);
  EXPECT_EQ(table.Find(101).entry.access(0), Access::kNone);
  EXPECT_EQ(table.Find(101).entry.index(), 1u);
}

// Pages that have entries of their own are changed in place; a page under an entry for many, or in
// another node, has none.
TEST(PageTableTest, ChangesOwnEntriesInPlace) {
  PageTable table(kPages);
  table.Apply(0, 2048, PageEdit::Replace(PageEntry::Reserved(3)));
  EXPECT_FALSE(table.EntriesOf(512, 1));
  table.Apply(600, 1, PageEdit::Replace(PageEntry::Mapped(1)));
  EXPECT_FALSE(table.EntriesOf(511, 2));
  EXPECT_FALSE(table.EntriesOf(1023, 2));
  PageTable::OwnEntries entries = table.EntriesOf(512, 512);
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries[600].bits(), PageEntry::Mapped(1).bits());
  const uint64_t generation = table.generation();
  entries.Set(601, PageEntry::Mapped(2));
  EXPECT_EQ(table.Find(600).entry.index(), 1u);
  EXPECT_EQ(table.Find(601).entry.index(), 2u);
  EXPECT_EQ(table.Find(602).entry.bits(), PageEntry::Reserved(3).bits());
  EXPECT_EQ(table.generation(), generation);
}

// A span costs its edges: all of a table but one page takes two nodes per level at most.
TEST(PageTableTest, ASpanCostsItsEdges) {
  PageTable table(kPages);
  table.Apply(1, kPages - 2, PageEdit::Replace(PageEntry::Reserved(3)));
  EXPECT_LE(table.nodes(), 5u);
  EXPECT_TRUE(table.Find(0).entry.hole());
  EXPECT_FALSE(table.Find(1).entry.hole());
  EXPECT_GT(table.Find(kPages / 2).end, kPages / 2 + 1000);
}

// What has become a hole again gives its nodes back.
TEST(PageTableTest, HolesGiveNodesBack) {
  PageTable table(kPages);
  table.Apply(1000, 3, PageEdit::Replace(PageEntry::Reserved(0)));
  const uint64_t nodes = table.nodes();
  EXPECT_GT(nodes, 1u);
  table.Apply(1010, 2, PageEdit::Replace(PageEntry::Reserved(1)));
  table.Apply(1000, 3, PageEdit::Replace(PageEntry()));
  EXPECT_EQ(table.nodes(), nodes);
  table.Apply(1010, 2, PageEdit::Replace(PageEntry()));
  EXPECT_EQ(table.nodes(), 1u);
}

// Against a plain array: random spans, then every page and every run.
TEST(PageTableTest, AgreesWithAnArray) {
  constexpr uint64_t kSmall = 3000;
  PageTable table(kSmall);
  std::vector<uint64_t> model(kSmall, 0);
  std::mt19937_64 random(7);
  for (uint32_t i = 0; i < 2000; ++i) {
    const uint64_t first = random() % kSmall;
    const uint64_t count = random() % (kSmall - first + 1);
    const PageEntry entry = i % 3 == 0 ? PageEntry() : PageEntry::Mapped(i);
    table.Apply(first, count, PageEdit::Replace(entry));
    std::fill_n(model.begin() + static_cast<int64_t>(first), count, entry.bits());
    for (uint64_t page = 0; page < kSmall;) {
      const PageSpan run = table.Find(page);
      ASSERT_GT(run.end, page);
      for (; page < std::min(run.end, kSmall); ++page) {
        ASSERT_EQ(model[page], run.entry.bits()) << i << " " << page;
      }
    }
  }
}

// Nodes that were prepared count only when they are used.
TEST(PageTableTest, PreparesNodesAhead) {
  PageTable table(uint64_t{1} << 27);
  table.Prepare(uint64_t{1} << 12);
  EXPECT_EQ(table.nodes(), 1u);
  table.Apply(5, 1, PageEdit::Replace(PageEntry::Reserved(1)));
  EXPECT_EQ(table.nodes(), 3u);
}

}  // namespace
}  // namespace twinmmu

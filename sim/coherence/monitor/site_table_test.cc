#include "sim/coherence/monitor/site_table.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

class Numbered : public SiteSource {
 public:
  std::string SiteInWords(uint32_t part, uint32_t index) const override {
    return absl::StrCat("place ", index, " of part ", part);
  }
};

// Each id leads back to its source, part and index.
TEST(SiteTableTest, FindsWhatANumberStandsFor) {
  SiteTable table;
  const auto source = std::make_shared<Numbered>();
  const coherence::Site a = table.Add(source, 3, 10, "a");
  const coherence::Site b = table.Add(source, 4, 10, "b");
  EXPECT_EQ(table.InWords(a), "place 0 of part 3");
  EXPECT_EQ(table.InWords(a + 9), "place 9 of part 3");
  EXPECT_EQ(table.InWords(b + 2), "place 2 of part 4");
}

// The places of one part have the same ids whenever they are asked for.
TEST(SiteTableTest, GivesOneRangeToEachPart) {
  SiteTable table;
  const auto source = std::make_shared<Numbered>();
  const auto other = std::make_shared<Numbered>();
  const coherence::Site first = table.Add(source, 0, 10, "a");
  EXPECT_NE(table.Add(source, 1, 10, "b"), first);
  EXPECT_NE(table.Add(other, 0, 10, "c"), first);
  EXPECT_EQ(table.Add(source, 0, 10, "a"), first);
}

// So many more sources that none from before is kept.
void AddOthers(SiteTable* table) {
  for (size_t i = 0; i < SiteTable::kKept; ++i) {
    table->Add(std::make_shared<Numbered>(), 0, 1, "other");
  }
}

// Of a source that nobody else has any more, the places are known for a while, and then the name of
// the part is left.
TEST(SiteTableTest, NamesPartsOfSourcesThatAreGone) {
  SiteTable table;
  auto source = std::make_shared<Numbered>();
  const coherence::Site site = table.Add(source, 0, 10, "kernel copy");
  source.reset();
  EXPECT_EQ(table.InWords(site + 1), "place 1 of part 0");
  AddOthers(&table);
  EXPECT_EQ(table.InWords(site + 1), "kernel copy, which is not loaded any more");
}

// A source gets ids of its own even where another one lay before it.
TEST(SiteTableTest, TellsSourcesAtOneAddressApart) {
  SiteTable table;
  Numbered object;
  const auto lent = [&] {
    return std::shared_ptr<const Numbered>(&object, [](const Numbered*) {});
  };
  auto source = lent();
  const coherence::Site first = table.Add(source, 0, 10, "a");
  source.reset();
  AddOthers(&table);
  source = lent();
  EXPECT_NE(table.Add(source, 0, 10, "b"), first);
}

TEST(SiteTableTest, SourcesThatAreGoneTakeNoMemory) {
  SiteTable table;
  const auto source = std::make_shared<Numbered>();
  const coherence::Site site = table.Add(source, 7, 10, "a");
  for (uint32_t i = 0; i < 100'000; ++i) table.Add(std::make_shared<Numbered>(), i, 10, "other");
  EXPECT_LT(table.size(), 10'000u);
  EXPECT_EQ(table.Add(source, 7, 10, "a"), site);
  EXPECT_EQ(table.InWords(site + 1), "place 1 of part 7");
}

// Ids that nobody was given are of unknown places, and so are all once ids run out.
TEST(SiteTableTest, KnowsNothingOfOtherNumbers) {
  SiteTable table;
  EXPECT_EQ(table.InWords(SiteTable::kUnknown), "a place that is not known");
  const auto source = std::make_shared<Numbered>();
  const coherence::Site site = table.Add(source, 0, 10, "a");
  EXPECT_EQ(table.InWords(site + 10), "a place that is not known");
  EXPECT_EQ(table.Add(source, 1, ~uint32_t{0}, "b"), SiteTable::kUnknown);
}

}  // namespace
}  // namespace twinmmu

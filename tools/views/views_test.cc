// The views that are small: flame graph, totals by place, findings.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/views/event_findings.h"
#include "tools/views/flame_graph.h"
#include "tools/views/site_totals.h"
#include "tools/views/told_events.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kBase = 0x7000'0000'0000;
const record::Stack kGrow = {{"Grow", "/src/pool.cc", 42}, {"main", "/src/main.cc", 7}};
const record::Stack kLoad = {{"Load;all", "", 0}, {"main", "/src/main.cc", 9}};

TEST(FlameGraphTest, HasWhatIsLeftAndWhatWasThereAtThePeak) {
  FlameGraph graph;
  ToldEvents told(&graph);
  told.SetStack(&kGrow);
  told.Create(1, 100);
  told.Create(2, 100);
  told.SetStack(&kLoad);
  told.Allocate(kBase, 50);
  told.Free(kBase);
  told.Release(1);
  EXPECT_EQ(graph.Finish(),
            "left;main (main.cc:7);Grow (pool.cc:42) 100\n"
            "peak;main (main.cc:7);Grow (pool.cc:42) 200\n"
            "peak;main (main.cc:9);Load:all 50\n");
}

TEST(FlameGraphTest, MemoryLivesAsLongAsItIsMapped) {
  FlameGraph graph;
  ToldEvents told(&graph);
  told.SetStack(&kGrow);
  told.Create(1, 100);
  told.Map(kBase, 100, 1);
  told.Release(1);
  EXPECT_THAT(graph.Finish(), HasSubstr("left;main (main.cc:7);Grow (pool.cc:42) 100\n"));
}

TEST(FlameGraphTest, NothingLeftLeavesThePeakOnly) {
  FlameGraph graph;
  ToldEvents told(&graph);
  told.Create(1, 100);
  told.Release(1);
  EXPECT_EQ(graph.Finish(), "peak;? 100\n");
}

TEST(FlameGraphTest, WhatIsImportedIsCountedOnce) {
  FlameGraph graph;
  ToldEvents told(&graph);
  told.Create(1, 100);
  ToldEvents other(&graph, 200);
  record::Event imported = other.Of(record::EventKind::kImport);
  imported.allocation = 1;
  imported.bytes = 100;
  other.Add(imported);
  EXPECT_EQ(graph.Finish(), "left;? 100\npeak;? 100\n");
}

TEST(SiteTotalsTest, APlaceHasItsPeakAndWhatIsLeft) {
  SiteTotals totals;
  ToldEvents told(&totals);
  told.SetStack(&kGrow);
  told.Create(1, 100);
  told.Create(2, 100);
  told.Release(1);
  const auto found = totals.Finish();
  ASSERT_THAT(found, SizeIs(2));
  for (const char* const place : {"", "Grow (pool.cc:42)"}) {
    const SiteTotal& total = found.at({"allocation", place});
    EXPECT_EQ(total.count, 2u);
    EXPECT_EQ(total.peak, 200u);
    EXPECT_EQ(total.left, 100u);
  }
}

TEST(SiteTotalsTest, WhatGrewMostComesFirst) {
  const std::map<SiteKey, SiteTotal> before = {{{"mapping", ""}, {2, 300, 0}},
                                               {{"mapping", "a"}, {1, 200, 0}},
                                               {{"mapping", "b"}, {1, 100, 0}}};
  const std::map<SiteKey, SiteTotal> after = {{{"mapping", ""}, {2, 650, 0}},
                                              {{"mapping", "b"}, {1, 150, 0}},
                                              {{"mapping", "c"}, {1, 500, 0}}};
  std::vector<std::string> places;
  std::vector<int64_t> grown;
  for (const GrowthRow& row : CompareSites(before, after)) {
    places.push_back(row.site.second);
    grown.push_back(row.grown());
  }
  EXPECT_THAT(places, ElementsAre("", "c", "b", "a"));
  EXPECT_THAT(grown, ElementsAre(350, 500, 50, -200));
}

TEST(EventFindingsTest, ADiagnosticStandsAtItsCall) {
  EventFindings findings("/src");
  ToldEvents told(&findings);
  const record::Stack stack = {{"Grow", "/src/pool.cc", 42}, {"main", "/src/main.cc", 7}};
  told.SetStack(&stack);
  record::Event wrong = told.Of(record::EventKind::kDiagnostic);
  wrong.severity = record::Severity::kWarning;
  wrong.code = "kDoubleUnmap";
  wrong.text = "nothing is mapped";
  told.Add(wrong);
  told.Add(wrong);
  const std::vector<Annotation> all = findings.Finish();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_FALSE(all[0].is_error);
  EXPECT_EQ(all[0].kind, "kDoubleUnmap");
  EXPECT_EQ(all[0].file, "pool.cc");
  EXPECT_EQ(all[0].line, 42);
  EXPECT_EQ(all[0].message, "nothing is mapped\nIn Grow (pool.cc:42).");
}

TEST(EventFindingsTest, WhatIsLeftIsALeakOfItsPlace) {
  EventFindings findings("/elsewhere");
  ToldEvents told(&findings);
  told.SetStack(&kGrow);
  told.Create(1, 2 << 20);
  told.Create(2, 2 << 20);
  const std::vector<Annotation> all = findings.Finish();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_TRUE(all[0].is_error);
  EXPECT_EQ(all[0].kind, "kLeakedAllocation");
  EXPECT_EQ(all[0].file, "/src/pool.cc");
  EXPECT_THAT(all[0].message, HasSubstr("2 left, 4 MiB."));
}

TEST(EventFindingsTest, ARunThatLeavesNothingHasNone) {
  EventFindings findings("/src");
  ToldEvents told(&findings);
  told.Reserve(kBase, 100);
  told.Create(1, 100);
  told.Map(kBase, 100, 1);
  told.Unmap(kBase, 100);
  told.Release(1);
  told.AddressFree(kBase, 100);
  EXPECT_THAT(findings.Finish(), IsEmpty());
}

// Whatever a program calls its diagnostics.
TEST(EventFindingsTest, CountsWhatIsBeyondTheMost) {
  EventFindings findings("/src");
  ToldEvents told(&findings);
  for (size_t i = 0; i < EventFindings::kMostFindings + 2; ++i) {
    const std::string code = "k" + std::to_string(i);
    record::Event event = told.Of(record::EventKind::kDiagnostic);
    event.code = code;
    told.Add(event);
  }
  EXPECT_THAT(findings.Finish(), SizeIs(EventFindings::kMostFindings));
  EXPECT_EQ(findings.LeftOut(), "2 findings: the first 1000 are shown");
}

// A peak that rises by turns with something going: only what changed in between is noted anew.
TEST(FlameGraphTest, ALaterPeakTakesThePlaceOfAnEarlierOne) {
  FlameGraph graph;
  ToldEvents told(&graph);
  told.SetStack(&kGrow);
  told.Create(1, 100);
  told.Release(1);
  told.SetStack(&kLoad);
  told.Create(2, 200);
  told.Release(2);
  told.Create(3, 50);
  EXPECT_EQ(graph.Finish(),
            "left;main (main.cc:9);Load:all 50\n"
            "peak;main (main.cc:9);Load:all 200\n");
}

}  // namespace
}  // namespace twinmmu

#include "tools/views/timeline/timeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "api/record/event.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/views/testing/made_runs.h"
#include "tools/views/timeline/bands.h"

namespace twinmmu {
namespace {

using record::Event;
using record::EventKind;
using ::testing::ElementsAre;

constexpr uint64_t kBase = 0x7f0000000000;
constexpr uint64_t kMiB = 1 << 20;

Event At(EventKind kind, uint64_t address, uint64_t bytes, uint32_t process = 1) {
  Event event;
  event.kind = kind;
  event.address = address;
  event.bytes = bytes;
  event.process = process;
  return event;
}
Event Of(EventKind kind, uint64_t allocation, uint32_t process = 1) {
  Event event = At(kind, 0, 0, process);
  event.allocation = allocation;
  return event;
}
Event Create(uint64_t allocation, uint64_t bytes, int32_t device) {
  Event event = Of(EventKind::kCreate, allocation);
  event.bytes = bytes;
  event.device = device;
  return event;
}
Event Map(uint64_t address, uint64_t bytes, uint64_t allocation, uint64_t offset = 0,
          uint32_t process = 1) {
  Event event = At(EventKind::kMap, address, bytes, process);
  event.allocation = allocation;
  event.offset = offset;
  return event;
}
Event Share(EventKind kind, uint64_t allocation, uint64_t shared, uint32_t process) {
  Event event = Of(kind, allocation, process);
  event.shared = shared;
  return event;
}

Timeline After(const std::vector<Event>& events) {
  Timeline timeline;
  for (const Event& event : events) timeline.Add(event);
  return timeline;
}

std::vector<Span> SpansOf(const Timeline& timeline, SpanKind kind) {
  std::vector<Span> found;
  for (const Span& span : timeline.spans())
    if (span.kind == kind) found.push_back(span);
  return found;
}

TEST(TimelineTest, MappingLastsFromMapToUnmap) {
  const Timeline timeline = After({At(EventKind::kReserve, kBase, 8 * kMiB), Create(1, 2 * kMiB, 3),
                                   Map(kBase + 2 * kMiB, 2 * kMiB, 1),
                                   At(EventKind::kUnmap, kBase + 2 * kMiB, 2 * kMiB)});
  const std::vector<Span> mappings = SpansOf(timeline, SpanKind::kMapping);
  ASSERT_EQ(mappings.size(), 1u);
  EXPECT_EQ(mappings[0].begin, 2u);
  EXPECT_EQ(mappings[0].end, 3u);
  EXPECT_EQ(mappings[0].device, 3);
  EXPECT_EQ(SpansOf(timeline, SpanKind::kReservation)[0].end, kStillThere);
}

TEST(TimelineTest, CallThatFailedChangesNothing) {
  Event failed = At(EventKind::kUnmap, kBase, 2 * kMiB);
  failed.severity = record::Severity::kError;
  const Timeline timeline = After({Map(kBase, 2 * kMiB, 1), failed});
  EXPECT_EQ(SpansOf(timeline, SpanKind::kMapping)[0].end, kStillThere);
  EXPECT_EQ(timeline.events(), 2u);
}

TEST(TimelineTest, UnmapEndsAllMappingsInItsRangeOfItsProcess) {
  const Timeline timeline =
      After({Map(kBase, kMiB, 1), Map(kBase + kMiB, kMiB, 2), Map(kBase + 2 * kMiB, kMiB, 3),
             Map(kBase, kMiB, 1, 0, /*process=*/2), At(EventKind::kUnmap, kBase, 2 * kMiB)});
  std::vector<uint32_t> ends;
  for (const Span& span : SpansOf(timeline, SpanKind::kMapping)) ends.push_back(span.end);
  EXPECT_THAT(ends, ElementsAre(4, 4, kStillThere, kStillThere));
}

TEST(TimelineTest, MemoryLastsUntilItIsNeitherHeldNorMapped) {
  const Timeline timeline =
      After({Create(1, kMiB, 0), Map(kBase, kMiB, 1), Of(EventKind::kRelease, 1),
             At(EventKind::kUnmap, kBase, kMiB), At(EventKind::kReserve, kBase, kMiB)});
  EXPECT_EQ(SpansOf(timeline, SpanKind::kMemory)[0].end, 3u);
}

TEST(TimelineTest, ImporterHoldsTheMemoryOfTheExporter) {
  const Timeline timeline = After({Create(1, kMiB, 2), Share(EventKind::kExport, 1, 77, 1),
                                   Share(EventKind::kImport, 5, 77, 9), Of(EventKind::kRelease, 1),
                                   Map(kBase, kMiB, 5, 0, 9), Of(EventKind::kRelease, 5, 9),
                                   At(EventKind::kUnmap, kBase, kMiB, 9)});
  EXPECT_EQ(SpansOf(timeline, SpanKind::kMapping)[0].device, 2);
  EXPECT_EQ(SpansOf(timeline, SpanKind::kMemory)[0].end, 6u);
}

TEST(TimelineTest, MemoryLastsUntilItIsImportedThoughItsExporterReleasedIt) {
  const Timeline timeline =
      After({Create(1, kMiB, 2), Share(EventKind::kExport, 1, 77, 1), Of(EventKind::kRelease, 1),
             Share(EventKind::kImport, 5, 77, 9), Of(EventKind::kRelease, 5, 9)});
  EXPECT_EQ(SpansOf(timeline, SpanKind::kMemory)[0].end, 4u);
}

TEST(TimelineTest, OnlyOverlappingMappingsThatWereThereTogetherAreAliases) {
  const Timeline timeline = After(
      {Create(1, 4 * kMiB, 0), Map(kBase, 2 * kMiB, 1, 0), Map(kBase + 4 * kMiB, kMiB, 1, kMiB),
       Map(kBase + 8 * kMiB, kMiB, 1, 2 * kMiB), At(EventKind::kUnmap, kBase + 8 * kMiB, kMiB),
       Map(kBase + 16 * kMiB, kMiB, 1, 2 * kMiB)});
  std::vector<bool> aliased;
  for (const Span& span : SpansOf(timeline, SpanKind::kMapping)) aliased.push_back(span.aliased);
  EXPECT_THAT(aliased, ElementsAre(true, true, false, false));
}

TEST(TimelineTest, AccessIsToldOfEveryMappingThatItsRangeMeets) {
  const Timeline timeline = After({Map(kBase, 2 * kMiB, 1), Map(kBase + 2 * kMiB, 2 * kMiB, 2),
                                   Map(kBase + 4 * kMiB, 2 * kMiB, 3),
                                   At(EventKind::kSetAccess, kBase + kMiB, 2 * kMiB)});
  ASSERT_EQ(timeline.access_changes().size(), 2u);
  EXPECT_EQ(timeline.access_changes()[0].span, 0u);
  EXPECT_EQ(timeline.access_changes()[1].span, 1u);
  EXPECT_EQ(timeline.access_changes()[1].event, 3u);
}

TEST(TimelineTest, MemoryOfAPoolIsFreedByEitherCall) {
  const Timeline timeline =
      After({At(EventKind::kPoolAllocate, kBase, kMiB), At(EventKind::kFree, kBase, 0),
             At(EventKind::kAllocate, kBase, kMiB), At(EventKind::kFree, kBase, 0)});
  EXPECT_EQ(SpansOf(timeline, SpanKind::kPool)[0].end, 1u);
  EXPECT_EQ(SpansOf(timeline, SpanKind::kLinear)[0].end, 3u);
}

TEST(TimelineTest, WhatLiesUnderANewMappingLostItsEnd) {
  const Timeline timeline = After({Map(kBase, 2 * kMiB, 1), Map(kBase, 4 * kMiB, 2)});
  EXPECT_EQ(SpansOf(timeline, SpanKind::kMapping)[0].end, 1u);
  EXPECT_EQ(SpansOf(timeline, SpanKind::kMapping)[1].end, kStillThere);
}

TEST(BandsTest, ReservationsAtOnePlaceShareABand) {
  const Bands bands = BandsOf(
      After({At(EventKind::kReserve, kBase, 8 * kMiB), At(EventKind::kAddressFree, kBase, 8 * kMiB),
             At(EventKind::kReserve, kBase + 4 * kMiB, 8 * kMiB),
             At(EventKind::kReserve, kBase + 12 * kMiB, kMiB),
             At(EventKind::kReserve, kBase, kMiB, /*process=*/2)}));
  EXPECT_THAT(bands.of_span, ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(bands.bands[0].bytes, 12 * kMiB);
}

TEST(BandsTest, FarAddressesThatNothingWasInAreSkipped) {
  const Bands bands =
      BandsOf(After({At(EventKind::kReserve, kBase, 1024 * kMiB), Map(kBase + kMiB, 2 * kMiB, 1),
                     Map(kBase + 4 * kMiB, 2 * kMiB, 2)}));
  ASSERT_EQ(bands.bands.size(), 1u);
  const std::vector<Stretch>& stretches = bands.bands[0].stretches;
  ASSERT_EQ(stretches.size(), 2u);
  EXPECT_EQ(stretches[0].bytes, 6 * kMiB);
  EXPECT_FALSE(stretches[0].skipped);
  EXPECT_EQ(stretches[1].bytes, 1018 * kMiB);
  EXPECT_TRUE(stretches[1].skipped);
}

TEST(BandsTest, NeighbouringLinearMemoryIsOneBand) {
  const Bands bands = BandsOf(After({At(EventKind::kAllocate, kBase, kMiB),
                                     At(EventKind::kAllocate, kBase + 4 * kMiB, kMiB),
                                     At(EventKind::kAllocate, kBase + 4096 * kMiB, kMiB)}));
  EXPECT_THAT(bands.of_span, ElementsAre(0, 0, 1));
}

TEST(BandsTest, MappingWithoutItsReservationHasABand) {
  const Bands bands = BandsOf(After({Map(kBase, kMiB, 1), Create(1, kMiB, 0)}));
  EXPECT_THAT(bands.of_span, ElementsAre(0, -1));
  EXPECT_FALSE(bands.bands[0].reserved);
}

TEST(BandsTest, RangesBeyondTheLastAddressEndThere) {
  const Bands bands = BandsOf(
      After({At(EventKind::kReserve, UINT64_MAX - 1, UINT64_MAX), Map(UINT64_MAX, UINT64_MAX, 1)}));
  EXPECT_EQ(bands.bands[0].bytes, 1u);
}

// A sink that keeps a timeline.
class Kept : public record::EventSink {
 public:
  void Add(const Event& event, const record::Stack&) override { timeline.Add(event); }
  Timeline timeline;
};

TEST(BandsTest, WhateverARecordSaysEverySpanIsInItsBand) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Kept kept;
    MakeRandom(kept, seed, 80);
    const Bands bands = BandsOf(kept.timeline);
    for (size_t i = 0; i < kept.timeline.spans().size(); ++i) {
      const Span& span = kept.timeline.spans()[i];
      ASSERT_LE(span.begin, span.end);
      if (span.kind == SpanKind::kMemory) continue;
      const Band& band = bands.bands.at(bands.of_span[i]);
      ASSERT_EQ(band.process, span.process);
      ASSERT_GE(span.address, band.address);
      ASSERT_LE(std::min(span.bytes, UINT64_MAX - span.address),
                band.bytes - (span.address - band.address));
    }
    for (const Band& band : bands.bands) {
      uint64_t at = band.address;
      for (const Stretch& stretch : band.stretches) {
        ASSERT_EQ(stretch.address, at);
        at += stretch.bytes;
      }
      ASSERT_EQ(at, band.address + band.bytes);
    }
  }
}

}  // namespace
}  // namespace twinmmu

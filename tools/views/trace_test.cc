#include "tools/views/trace.h"

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/views/told_events.h"

namespace twinmmu {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kBase = 0x7000'0000'0000;

// What a trace has, read as its readers do.
class TraceTest : public testing::Test {
 protected:
  const Json& Document() {
    if (document_.is_null()) {
      trace_.Finish();
      document_ = Json::parse(out_.str());
    }
    return document_;
  }
  std::vector<Json> Events(const std::string& phase) {
    std::vector<Json> found;
    for (const Json& event : Document()["traceEvents"]) {
      if (event["ph"] == phase) found.push_back(event);
    }
    return found;
  }
  std::vector<std::string> Names(const std::string& phase) {
    std::vector<std::string> names;
    for (const Json& event : Events(phase)) names.push_back(event["name"]);
    return names;
  }

  std::ostringstream out_;
  Trace trace_{&out_};
  ToldEvents told_{&trace_};
  Json document_;
};

TEST_F(TraceTest, AnEmptyRunIsAValidTrace) {
  EXPECT_TRUE(Document().is_object());
  EXPECT_THAT(Document()["traceEvents"], IsEmpty());
}

TEST_F(TraceTest, AMappingIsAnAsynchronousSlice) {
  told_.Create(1, 2 * kMiB);
  told_.Reserve(kBase, 2 * kMiB);
  told_.Map(kBase, 2 * kMiB, 1);
  told_.Unmap(kBase, 2 * kMiB);
  std::vector<Json> begins;
  for (const Json& event : Events("b")) {
    if (event["cat"] == "mapping") begins.push_back(event);
  }
  ASSERT_THAT(begins, SizeIs(1));
  EXPECT_EQ(begins[0]["name"], "mapping 0x700000000000");
  EXPECT_EQ(begins[0]["ts"], 3.0);
  EXPECT_EQ(begins[0]["args"]["bytes"], 2 * kMiB);
  EXPECT_EQ(begins[0]["args"]["allocation"], "0x1");
  EXPECT_EQ(begins[0]["args"]["device"], "device 0");
  for (const Json& event : Events("e")) {
    if (event["cat"] == "mapping") {
      EXPECT_EQ(event["ts"], 4.0);
    }
  }
}

// By the rules of the format: same category, id and name, in this order.
TEST_F(TraceTest, EachAsynchronousSliceBeginsAndEndsOnce) {
  told_.Create(1, 4 * kMiB);
  told_.Reserve(kBase, 8 * kMiB);
  told_.Map(kBase, 2 * kMiB, 1);
  told_.Map(kBase + 2 * kMiB, 2 * kMiB, 1, 2 * kMiB);
  told_.Unmap(kBase, 4 * kMiB);
  told_.Map(kBase, 2 * kMiB, 1);  // left
  told_.Allocate(kBase + 64 * kMiB, 512);
  told_.Free(kBase + 64 * kMiB);
  std::map<std::string, std::pair<std::string, double>> open;
  std::set<std::string> known;
  for (const Json& event : Document()["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase != "b" && phase != "e") continue;
    const std::string id = event["id"];
    if (phase == "b") {
      EXPECT_TRUE(known.insert(id).second) << id;
      open[id] = {event["name"], event["ts"]};
      continue;
    }
    ASSERT_EQ(open.count(id), 1u) << id;
    EXPECT_EQ(open[id].first, event["name"]);
    EXPECT_LE(open[id].second, event["ts"]);
    open.erase(id);
  }
  EXPECT_THAT(open, IsEmpty());
  EXPECT_THAT(known, SizeIs(5));
}

TEST_F(TraceTest, EveryEventHasWhatTheFormatWants) {
  const record::Stack stack = {{"Grow", "/src/pool.cc", 42}};
  told_.SetStack(&stack);
  trace_.AddProcess({100, 1, "/usr/bin/program"});
  told_.Create(1, 2 * kMiB);
  told_.Reserve(kBase, 2 * kMiB);
  told_.Map(kBase, 2 * kMiB, 1);
  record::Event launch = told_.Of(record::EventKind::kLaunch);
  launch.text = "fill\"\n<kernel>\xff";
  launch.device = 1;
  launch.duration_ns = 500;
  told_.Add(launch);
  record::Event wrong = told_.Of(record::EventKind::kDiagnostic);
  wrong.code = "kDoubleUnmap";
  told_.Add(wrong);
  told_.AddressFree(kBase, 2 * kMiB);
  for (const Json& event : Document()["traceEvents"]) {
    ASSERT_TRUE(event["ph"].is_string());
    const std::string phase = event["ph"];
    EXPECT_NE(std::string("XbeiCMsf").find(phase), std::string::npos) << phase;
    EXPECT_TRUE(event["pid"].is_number_unsigned()) << event;
    EXPECT_TRUE(event["tid"].is_number_unsigned()) << event;
    EXPECT_TRUE(event["name"].is_string()) << event;
    if (phase != "M") {
      EXPECT_TRUE(event["ts"].is_number()) << event;
    }
    if (phase == "X") {
      EXPECT_TRUE(event["dur"].is_number()) << event;
    }
    if (phase == "b" || phase == "e") {
      EXPECT_TRUE(event["id"].is_string()) << event;
    }
    if (phase == "i") {
      EXPECT_EQ(event["s"], "t") << event;
    }
  }
}

TEST_F(TraceTest, CountersFollowTheBytes) {
  told_.Reserve(kBase, 4 * kMiB);
  told_.Create(1, 2 * kMiB);
  told_.Map(kBase, 2 * kMiB, 1);
  told_.Unmap(kBase, 2 * kMiB);
  told_.Release(1);
  const std::vector<Json> counters = Events("C");
  ASSERT_THAT(counters, SizeIs(5));
  EXPECT_EQ(counters[2]["args"]["reserved"], 4 * kMiB);
  EXPECT_EQ(counters[2]["args"]["mapped"], 2 * kMiB);
  EXPECT_EQ(counters[2]["args"]["created"], 2 * kMiB);
  EXPECT_EQ(counters[3]["args"]["mapped"], 0);
  EXPECT_EQ(counters[4]["args"]["created"], 0);
}

TEST_F(TraceTest, AReservationHasATrackOfItsOwn) {
  told_.Reserve(kBase, 4 * kMiB);
  told_.Reserve(kBase + 64 * kMiB, 2 * kMiB);
  told_.AddressFree(kBase, 4 * kMiB);
  EXPECT_THAT(Names("X"), ElementsAre("reserved 4 MiB", "reserved 2 MiB"));
  const std::vector<Json> slices = Events("X");
  EXPECT_NE(slices[0]["tid"], slices[1]["tid"]);
  EXPECT_EQ(slices[0]["ts"], 1.0);
  EXPECT_EQ(slices[0]["dur"], 2.0);
  EXPECT_THAT(Events("M"), SizeIs(2));
}

TEST_F(TraceTest, WorkIsASliceOnTheTrackOfItsStream) {
  record::Event copy = told_.Of(record::EventKind::kCopy);
  copy.stream = 7;
  copy.device = 0;
  copy.address = kBase;
  copy.from = 0x1000;
  copy.bytes = 64;
  copy.duration_ns = 250;
  told_.Add(copy);
  copy.stream = 8;
  told_.Add(copy);
  const std::vector<Json> slices = Events("X");
  ASSERT_THAT(slices, SizeIs(2));
  EXPECT_EQ(slices[0]["name"], "copy");
  EXPECT_EQ(slices[0]["dur"], 0.25);
  EXPECT_EQ(slices[0]["args"]["read"], "0x1000");
  EXPECT_NE(slices[0]["tid"], slices[1]["tid"]);
  EXPECT_EQ(Events("M")[0]["args"]["name"], "device 0, stream 7");
}

TEST_F(TraceTest, ADiagnosticIsAnInstant) {
  record::Event wrong = told_.Of(record::EventKind::kDiagnostic);
  wrong.code = "kDoubleUnmap";
  wrong.text = "cuMemUnmap found nothing";
  wrong.address = kBase;
  told_.Add(wrong);
  const std::vector<Json> instants = Events("i");
  ASSERT_THAT(instants, SizeIs(1));
  EXPECT_EQ(instants[0]["name"], "kDoubleUnmap");
  EXPECT_EQ(instants[0]["args"]["text"], "cuMemUnmap found nothing");
  EXPECT_EQ(instants[0]["args"]["address"], "0x700000000000");
}

TEST_F(TraceTest, ACallThatFailedIsAnInstantAndChangesNothing) {
  record::Event map = told_.Of(record::EventKind::kMap);
  map.severity = record::Severity::kError;
  map.address = kBase;
  map.bytes = kMiB;
  told_.Add(map);
  EXPECT_THAT(Names("i"), ElementsAre("map failed"));
  EXPECT_THAT(Events("b"), IsEmpty());
  EXPECT_THAT(Events("C"), IsEmpty());
}

TEST_F(TraceTest, AnArrowLeadsFromAnExportToEachImport) {
  told_.Create(1, 2 * kMiB);
  record::Event exported = told_.Of(record::EventKind::kExport);
  exported.allocation = 1;
  exported.shared = 99;
  told_.Add(exported);
  for (const uint32_t process : {200u, 300u}) {
    ToldEvents other(&trace_, process);
    record::Event imported = other.Of(record::EventKind::kImport);
    imported.allocation = 1;
    imported.shared = 99;
    other.Add(imported);
  }
  const std::vector<Json> from = Events("s");
  const std::vector<Json> to = Events("f");
  ASSERT_THAT(from, SizeIs(2));
  ASSERT_THAT(to, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(from[i]["id"], to[i]["id"]);
    EXPECT_EQ(from[i]["pid"], 100);
    EXPECT_EQ(to[i]["pid"], i == 0 ? 200 : 300);
    EXPECT_EQ(to[i]["bp"], "e");
  }
  EXPECT_NE(from[0]["id"], from[1]["id"]);
}

// A run may reserve at new addresses for ever.
TEST(TraceTracksTest, WhatHasNoTrackOfItsOwnIsOnOneOfAllOthers) {
  std::ostringstream out;
  Trace trace(&out, 2);
  ToldEvents told(&trace);
  for (uint64_t i = 0; i < 5; ++i) {
    told.Reserve(kBase + i * kMiB, kMiB);
    told.AddressFree(kBase + i * kMiB, kMiB);
  }
  trace.Finish();
  const Json document = Json::parse(out.str());
  std::map<uint64_t, std::string> names;
  std::map<std::string, int> slices;
  for (const Json& event : document["traceEvents"]) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "X") ++slices[names[event["tid"]]];
  }
  EXPECT_THAT(slices, ElementsAre(Pair("all others", 3), Pair("reservation 0x700000000000", 1),
                                  Pair("reservation 0x700000100000", 1)));
  EXPECT_EQ(trace.LeftOut(), "the tracks of 3 slices: it has 2");
}

}  // namespace
}  // namespace twinmmu

#include "tools/views/page/page.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api/record/event.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/views/page/script_text.h"

namespace twinmmu {
namespace {

using Json = nlohmann::json;
using record::Event;
using record::EventKind;

// What the scripts of a page read.
Json DataOf(const std::string& page) {
  const std::string mark = "id=\"data\">";
  const size_t begin = page.find(mark) + mark.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(ScriptTextTest, EscapesWhatCouldEndTheScript) {
  EXPECT_EQ(ScriptText("</script><!--&\"\\\n"),
            "\"\\u003c/script\\u003e\\u003c!--\\u0026\\u0022\\u005c\\u000a\"");
}

TEST(ScriptTextTest, KeepsTextOfAllLanguages) {
  EXPECT_EQ(ScriptText("ß 内存 🧠"), "\"ß 内存 🧠\"");
}

TEST(ScriptTextTest, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(ScriptText("a\xff"
                       "b\xc0\xaf\xed\xa0\x80\xf0\x9f"),
            "\"a\\ufffdb\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

TEST(PageTest, IsOneFileThatAsksForNothing) {
  const std::string page = Page("run").Finish();
  EXPECT_EQ(page.find("<!DOCTYPE html>"), 0u);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  EXPECT_EQ(page.find("@style@"), std::string::npos);
  EXPECT_EQ(page.find("@script@"), std::string::npos);
}

TEST(PageTest, HasEveryFieldOfAnEvent) {
  Page page("run");
  Event event;
  event.kind = EventKind::kLaunch;
  event.severity = record::Severity::kNote;
  event.access = 3;
  event.device = 4;
  event.process = 5;
  event.thread = 6;
  event.time_ns = 7;
  event.duration_ns = 8;
  event.stream = 9;
  event.address = 10;
  event.bytes = 11;
  event.from = 12;
  event.allocation = 13;
  event.offset = 14;
  event.shared = 15;
  event.stack = 16;
  event.text = "kernel";
  event.code = "code";
  page.Add(event, {{"f()", "f.cc", 17}});
  const Json data = DataOf(page.Finish());
  EXPECT_EQ(data["events"],
            Json::parse(R"({"count": 1, "kind": [13], "severity": [1], "access": [3], "device": [4],
                            "process": [5], "thread": [6], "time": [7], "duration": [8],
                            "stream": [9], "address": [10], "bytes": [11], "from": [12],
                            "allocation": [13], "offset": [14], "shared": [15], "text": [1],
                            "code": [2], "stack": [1]})"));
  EXPECT_EQ(data["texts"], Json({"", "kernel", "code", "f()", "f.cc"}));
  EXPECT_EQ(data["stacks"], Json::parse("[[], [[3, 4, 17]]]"));
  EXPECT_EQ(data["kinds"][13], "launch");
}

TEST(PageTest, NamesTheProgramsOfProcesses) {
  Page page("run");
  page.AddProcess(5, "/bin/<serve>");
  page.AddProcess(6, "");
  EXPECT_EQ(DataOf(page.Finish())["programs"], Json::parse(R"([[5, "/bin/<serve>"], [6, ""]])"));
}

TEST(PageTest, NumbersThatJavaScriptWouldRoundAreTexts) {
  Page page("run");
  Event event;
  event.address = UINT64_MAX;
  event.bytes = uint64_t{1} << 53;
  page.Add(event, {});
  event.bytes = (uint64_t{1} << 53) - 1;
  page.Add(event, {});
  const Json data = DataOf(page.Finish());
  EXPECT_EQ(data["events"]["address"][0], "0xffffffffffffffff");
  EXPECT_EQ(data["events"]["bytes"], Json::parse(R"(["0x20000000000000", 9007199254740991])"));
}

TEST(PageTest, CountsWhatItHasNoRoomFor) {
  Page page("run", /*most_events=*/3);
  for (int i = 0; i < 5; ++i) page.Add(Event(), {});
  const Json data = DataOf(page.Finish());
  EXPECT_EQ(data["events"]["count"], 3);
  EXPECT_EQ(data["leftOut"], 2);
}

TEST(PageTest, KernelsLeaveRoomForMappingsAndAllForErrors) {
  Page page("run", /*most_events=*/10);
  Event event;
  event.kind = EventKind::kLaunch;
  for (int i = 0; i < 8; ++i) page.Add(event, {});
  event.kind = EventKind::kMap;
  for (int i = 0; i < 8; ++i) page.Add(event, {});
  event.kind = EventKind::kFault;
  event.severity = record::Severity::kError;
  page.Add(event, {});
  const Json data = DataOf(page.Finish());
  EXPECT_EQ(data["events"]["kind"], Json({13, 13, 13, 13, 13, 4, 4, 4, 4, 4, 16}));
  EXPECT_EQ(data["leftOut"], 6);
}

// A program's words may be any number, and of any length.
TEST(PageTest, SaysWhereATextFindsNoRoom) {
  Page page("run", 100, 1000);
  Event event;
  event.kind = EventKind::kLaunch;
  for (const char letter : {'a', 'b', 'c', 'a'}) {
    const std::string text(600, letter);
    event.text = text;
    page.Add(event, {});
  }
  const Json data = DataOf(page.Finish());
  const Json& texts = data["texts"];
  std::vector<std::string> shown;
  for (const Json& number : data["events"]["text"]) shown.push_back(texts[number.get<size_t>()]);
  const std::string none = "(the page has no room for this text)";
  EXPECT_EQ(shown,
            std::vector<std::string>({std::string(600, 'a'), none, none, std::string(600, 'a')}));
  EXPECT_EQ(page.LeftOut(), "2 texts: it has room for 1000 B");
}

}  // namespace
}  // namespace twinmmu

#include "tools/views/drawing/drawing.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/record/event.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/views/testing/made_runs.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string DrawingOf(std::string_view run) {
  Drawing drawing("A <run>");
  EXPECT_TRUE(MakeRun(run, drawing));
  return drawing.Finish();
}

// Whether each element that is opened is closed, in order.
bool IsWellFormed(const std::string& text) {
  std::vector<std::string> open;
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const size_t end = text.find('>', at);
    if (end == std::string::npos) return false;
    std::string tag = text.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) return false;
    if (tag.back() == '/') continue;
    const bool closes = tag[0] == '/';
    tag = tag.substr(closes, tag.find(' ') - closes);
    if (!closes) {
      open.push_back(tag);
    } else if (open.empty() || open.back() != tag) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

TEST(DrawingTest, EveryRunIsWellFormed) {
  for (const char* run :
       {"growth", "fragmentation", "sleep", "crash", "hostile", "random", "empty"})
    EXPECT_TRUE(IsWellFormed(DrawingOf(run))) << run;
}

TEST(DrawingTest, TextsOfTheProgramAreEscaped) {
  const std::string text = DrawingOf("hostile");
  EXPECT_THAT(text, HasSubstr("A &lt;run&gt;"));
  EXPECT_THAT(text, HasSubstr("&lt;img src=x"));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
}

TEST(DrawingTest, NamesBandsMarksAndWhatIsMappedTwice) {
  const std::string text = DrawingOf("growth");
  EXPECT_THAT(text, HasSubstr("64 GiB reserved"));
  EXPECT_THAT(text, HasSubstr("0x7f4000000000"));
  EXPECT_THAT(text, HasSubstr("mapped twice"));
  EXPECT_THAT(text, HasSubstr("no errors"));
  EXPECT_THAT(DrawingOf("crash"), HasSubstr("<title>CUDA_ERROR_ILLEGAL_ADDRESS: Kernel"));
}

TEST(DrawingTest, MappingIsDrawnFromItsMapToItsUnmap) {
  Drawing drawing("run");
  record::Event event;
  event.address = 0x10000;
  event.bytes = 0x1000;
  event.kind = record::EventKind::kReserve;
  drawing.Add(event, {});
  event.kind = record::EventKind::kMap;
  event.time_ns = 250;
  drawing.Add(event, {});
  event.kind = record::EventKind::kUnmap;
  event.time_ns = 750;
  drawing.Add(event, {});
  event.kind = record::EventKind::kAddressFree;
  event.time_ns = 1000;
  drawing.Add(event, {});
  // 176 and 944 are the ends; the picture has 2 % of time more than the run.
  EXPECT_THAT(drawing.Finish(), HasSubstr("class=\"host\" d=\"M364.2 84.7H740.7V"));
}

TEST(DrawingTest, MarksWhatIsLeftAtTheEnd) {
  Drawing drawing("run");
  record::Event event;
  event.kind = record::EventKind::kAllocate;
  event.address = 0x10000;
  event.bytes = 0x1000;
  drawing.Add(event, {});
  EXPECT_THAT(drawing.Finish(), HasSubstr("left at the end"));
  event.kind = record::EventKind::kFree;
  drawing.Add(event, {});
  EXPECT_THAT(drawing.Finish(), Not(HasSubstr("left at the end")));
}

TEST(DrawingTest, HundredThousandEventsMakeAFileThatOneOpens) {
  EXPECT_LT(DrawingOf("many").size(), size_t{8} << 20);
}

}  // namespace
}  // namespace twinmmu

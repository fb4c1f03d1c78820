// JSON that is made to harm its reader.

#include "api/files/json_text.h"

#include <cstddef>
#include <string>

#include "api/files/limits.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string ErrorOf(const std::string& text) {
  return std::string(ParseJson<nlohmann::json>(text).status().message());
}

std::string Nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

// What is within the bounds is parsed.
TEST(JsonTextTest, ParsesWhatIsWithinTheBounds) {
  EXPECT_THAT(ParseJson<nlohmann::json>(Nested(kMaxJsonDepth)), IsOk());
  EXPECT_EQ(ParseJson<nlohmann::json>(R"({"a": ["[[[{{{,,,\"[", 1]})").value()["a"][1], 1);
}

// A quotation mark behind a backslash does not end a string.
TEST(JsonTextTest, CountsNothingInAString) {
  const std::string text = "\\\"" + std::string(kMaxJsonDepth + 1, '[');
  EXPECT_THAT(ParseJson<nlohmann::json>("[\"" + text + "\"]"), IsOk());
}

// Nesting would overflow the stack where a value is copied or written.
TEST(JsonTextTest, RefusesDeepNesting) {
  EXPECT_EQ(ErrorOf(Nested(kMaxJsonDepth + 1)), "it is nested more than 64 deep");
  EXPECT_EQ(ErrorOf(std::string(100'000, '[')), "it is nested more than 64 deep");
}

// A number that no double holds is no exception.
TEST(JsonTextTest, RefusesNumbersThatNothingHolds) {
  EXPECT_THAT(ErrorOf("[1e400]"), HasSubstr("number overflow parsing '1e400'"));
}

// Each value takes many times the bytes of its text.
TEST(JsonTextTest, RefusesManyValues) {
  std::string text = "[0";
  for (int i = 0; i < kMaxJsonValues; ++i) text += ",0";
  EXPECT_EQ(ErrorOf(text + "]"), "it has more than 1000000 values");
}

// Only values count, however long they are written.
TEST(JsonTextTest, ParsesLongTextOfFewValues) {
  const std::string space(2 * size_t{kMaxJsonValues}, ' ');
  EXPECT_EQ(ParseJson<nlohmann::json>("[1," + space + "2]").value()[1], 2);
}

// The message quotes what is wrong, but not a megabyte of it.
TEST(JsonTextTest, QuotesLittle) {
  EXPECT_THAT(ErrorOf("[\"" + std::string(1'000'000, 'x')), SizeIs(303));
}

// Nothing is left out of one that is just as long as may be.
TEST(JsonTextTest, QuotesAllThatItMay) {
  std::string longest;
  for (size_t quoted = 0; quoted < 400; ++quoted) {
    const std::string error = ErrorOf("[\"" + std::string(quoted, 'x'));
    if (error.size() == 300) longest = error;
  }
  EXPECT_THAT(longest, HasSubstr("missing closing quote"));
}

}  // namespace
}  // namespace twinmmu

#include "conformance/abi/values/answer_lines.h"

#include "gtest/gtest.h"

namespace twinmmu::abi {
namespace {

TEST(AnswerLinesTest, ValuesWithOneAnswerAreOneRange) {
  EXPECT_EQ(LineOf("cuX size", {{0, "BAD"}, {1, "SUCCESS"}, {2, "SUCCESS"}, {0x10000, "SUCCESS"}}),
            "cuX size: 0 BAD; 1..0x10000 SUCCESS");
}

TEST(AnswerLinesTest, OnlyNeighboursAreJoined) {
  EXPECT_EQ(LineOf("cuX", {{1, "A 1"}, {2, "A 2"}, {3, "A 1"}}), "cuX: 1 A 1; 2 A 2; 3 A 1");
}

TEST(AnswerLinesTest, LargeNumbersAreHexadecimal) {
  EXPECT_EQ(LineOf("cuX", {{9999, "A"}, {10000, "B"}, {~uint64_t{0}, "C"}}),
            "cuX: 9999 A; 0x2710 B; 0xffffffffffffffff C");
}

TEST(AnswerLinesTest, NoValuesAreNoRange) { EXPECT_EQ(LineOf("cuX", {}), "cuX:"); }

TEST(AnswerLinesTest, SubjectEndsAtTheColon) {
  EXPECT_EQ(SubjectOf("cuX/row copy.Height: 0..1 SUCCESS"), "cuX/row copy.Height");
}

TEST(AnswerLinesTest, DifferenceIsTheFirstOne) {
  EXPECT_EQ(DifferenceOf("cuX size: 0 BAD; 1..2 SUCCESS; 3 BAD", "cuX size: 0 BAD; 1..3 SUCCESS"),
            "cuX size: recorded 1..2 SUCCESS, here 1..3 SUCCESS");
  EXPECT_EQ(DifferenceOf("cuX: BAD", "cuX: SUCCESS"), "cuX: recorded BAD, here SUCCESS");
}

TEST(AnswerLinesTest, DifferenceIsWhereALineEnds) {
  EXPECT_EQ(DifferenceOf("cuX size: 0 BAD; 1 SUCCESS", "cuX size: 0 BAD"),
            "cuX size: recorded 1 SUCCESS, here nothing");
  EXPECT_EQ(DifferenceOf("cuX size: 0 BAD", "cuX size: 0 BAD; 1 SUCCESS"),
            "cuX size: recorded nothing, here 1 SUCCESS");
  EXPECT_EQ(DifferenceOf("cuX size: 0 BAD", ""), "cuX size: recorded 0 BAD, here nothing");
  EXPECT_EQ(DifferenceOf("", "cuX size: 0 BAD"), "cuX size: recorded nothing, here 0 BAD");
}

}  // namespace
}  // namespace twinmmu::abi

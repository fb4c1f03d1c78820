// What is said of races: by what their two sides are.

#include "sim/diagnostics/race_words.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using coherence::AliasHazard;
using ::testing::HasSubstr;

// Of a kernel of that call.
AliasHazard::Side OfKernel(uint64_t call) {
  AliasHazard::Side side;
  side.origin.call = call;
  side.origin.threads = {32, 1};
  return side;
}

AliasHazard::Side OfCopy(uint64_t call) {
  AliasHazard::Side side;
  side.origin.call = call;
  return side;
}

std::string WordsOf(const AliasHazard::Side& first, const AliasHazard::Side& second) {
  AliasHazard hazard;
  hazard.first = first;
  hazard.second = second;
  return WhatWouldOrder(hazard);
}

TEST(RaceWordsTest, BlocksOfOneLaunchNeedAFlagOrABarrierOfTheGrid) {
  EXPECT_THAT(WordsOf(OfKernel(7), OfKernel(7)), HasSubstr("blocks of a grid come in any order"));
  EXPECT_THAT(WordsOf(OfKernel(7), OfKernel(8)), HasSubstr("cuStreamWaitEvent"));
}

// The nodes of a graph are all of the call that launches it.
TEST(RaceWordsTest, AKernelAndACopyOfOneGraphAreInTwoStreams) {
  EXPECT_THAT(WordsOf(OfKernel(7), OfCopy(7)), HasSubstr("cuStreamWaitEvent"));
  EXPECT_THAT(WordsOf(OfCopy(7), OfKernel(7)), HasSubstr("cuStreamWaitEvent"));
}

}  // namespace
}  // namespace twinmmu

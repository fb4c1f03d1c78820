// What integers, bits and the carry flag do where it is not plain.

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/ptx/operations/operation_testing.h"

namespace twinmmu::ptx {
namespace {

using testing::ElementsAre;

constexpr uint64_t kMin32 = 0x80000000;
constexpr uint64_t kMax32 = 0x7fffffff;
constexpr uint64_t kOnes32 = 0xffffffff;

TEST(IntegerTest, SumsWrap) {
  EXPECT_EQ(ResultOf("add.s32", {kMax32, 1}), kMin32);
  EXPECT_EQ(ResultOf("sub.u16", {0, 1}), 0xffffu);
  EXPECT_EQ(ResultOf("add.u16x2", {0xffff0001, 0x00010001}), 0x00000002u);
}

TEST(IntegerTest, SaturatedSumsStopAtTheBounds) {
  EXPECT_EQ(ResultOf("add.sat.s32", {kMax32, 1}), kMax32);
  EXPECT_EQ(ResultOf("sub.sat.s32", {kMin32, 1}), kMin32);
}

TEST(IntegerTest, ProductsGiveTheirLowerAndUpperHalf) {
  EXPECT_EQ(ResultOf("mul.lo.u32", {0x10001, 0x10001}), 0x20001u);
  EXPECT_EQ(ResultOf("mul.hi.u32", {kOnes32, kOnes32}), 0xfffffffeu);
  EXPECT_EQ(ResultOf("mul.hi.s32", {kOnes32, kOnes32}), 0u);
  EXPECT_EQ(ResultOf("mul.hi.s64", {~uint64_t{0}, 2}), ~uint64_t{0});
  EXPECT_EQ(ResultOf("mul.wide.s16", {0x8000, 0x8000}), 0x40000000u);
}

TEST(IntegerTest, SumsWithTheUpperHalfOfAProductWrap) {
  EXPECT_EQ(ResultOf("mad.hi.u16", {0xffff, 0xffff, 3}), 1u);
  EXPECT_EQ(ResultOf("mad.hi.s16", {0x8000, 0x8000, 1}), 0x4001u);
  EXPECT_EQ(ResultOf("mad.hi.u32", {kOnes32, kOnes32, 3}), 1u);
  EXPECT_EQ(ResultOf("mad.hi.s32", {kOnes32, 2, 1}), 0u);
  EXPECT_EQ(ResultOf("mad.hi.u64", {~uint64_t{0}, ~uint64_t{0}, 3}), 1u);
  EXPECT_EQ(ResultOf("mad.hi.s64", {~uint64_t{0}, 2, 1}), 0u);
}

TEST(IntegerTest, ExtremesOfPairsHaveTheSignOfTheirType) {
  EXPECT_EQ(ResultOf("max.u16x2", {0xffff0001, 0x00010002}), 0xffff0002u);
  EXPECT_EQ(ResultOf("max.s16x2", {0xffff0001, 0x00010002}), 0x00010002u);
  EXPECT_EQ(ResultOf("min.u16x2", {0xffff0001, 0x00010002}), 0x00010001u);
  EXPECT_EQ(ResultOf("min.s16x2", {0xffff0001, 0x00010002}), 0xffff0001u);
}

// The upper 8 bits of the factors count for nothing.
TEST(IntegerTest, Mul24UsesTheLower24Bits) {
  EXPECT_EQ(ResultOf("mul24.lo.u32", {0xff000002, 3}), 6u);
  EXPECT_EQ(ResultOf("mul24.lo.s32", {0x00ffffff, 3}), 0xfffffffdu);
  EXPECT_EQ(ResultOf("mul24.hi.u32", {0x00ffffff, 0x00ffffff}), 0xfffffe00u);
}

// PTX leaves it open; this is what hardware gives.
TEST(IntegerTest, DivisionByZeroGivesAllOnes) {
  EXPECT_EQ(ResultOf("rem.u32", {7, 0}), kOnes32);
  EXPECT_EQ(ResultOf("div.u32", {7, 0}), kOnes32);
  EXPECT_EQ(ResultOf("div.s64", {7, 0}), ~uint64_t{0});
}

// The one quotient that does not fit wraps, where a host would trap.
TEST(IntegerTest, TheSmallestByMinusOneWraps) {
  EXPECT_EQ(ResultOf("div.s32", {kMin32, kOnes32}), kMin32);
  EXPECT_EQ(ResultOf("rem.s32", {kMin32, kOnes32}), 0u);
}

TEST(IntegerTest, AbsOfTheSmallestWraps) { EXPECT_EQ(ResultOf("abs.s32", {kMin32}), kMin32); }

TEST(IntegerTest, ReluMakesNegativesZero) {
  EXPECT_EQ(ResultOf("max.relu.s32", {0xfffffff0, 0xfffffffe}), 0u);
  EXPECT_EQ(ResultOf("min.relu.s16x2", {0x00050003, 0x0002ffff}), 0x00020000u);
}

TEST(IntegerTest, DotProductsTakeEachElementsSign) {
  EXPECT_EQ(ResultOf("dp4a.s32.s32", {0xffffffff, 0x01020304, 0}), 0xfffffff6u);
  EXPECT_EQ(ResultOf("dp4a.u32.u32", {0xff000001, 0x02000003, 1}), 514u);
  EXPECT_EQ(ResultOf("dp2a.hi.s32.s32", {0x0001ffff, 0x03020000, 0}), 1u);
}

TEST(CarryTest, GoesFromTheLowerWordIntoTheUpper) {
  EXPECT_THAT(ResultsOf("add.cc.u32", {kOnes32, 1}, 2), ElementsAre(0, 1));
  EXPECT_THAT(ResultsOf("addc.cc.u32", {kOnes32, 0, 1}, 2), ElementsAre(0, 1));
  EXPECT_THAT(ResultsOf("addc.u32", {1, 2, 1}), ElementsAre(4));
  EXPECT_THAT(ResultsOf("mad.lo.cc.u32", {kOnes32, 1, 1}, 2), ElementsAre(0, 1));
}

TEST(CarryTest, GoesThroughSumsWithTheUpperHalfOfAProduct) {
  EXPECT_THAT(ResultsOf("mad.hi.cc.u32", {kOnes32, kOnes32, 3}, 2), ElementsAre(1, 1));
  EXPECT_THAT(ResultsOf("madc.hi.cc.u64", {~uint64_t{0}, 2, ~uint64_t{0}, 1}, 2),
              ElementsAre(1, 1));
  EXPECT_THAT(ResultsOf("madc.hi.s32", {kOnes32, 2, 5, 1}), ElementsAre(5));
}

// A difference sets it where nothing is borrowed.
TEST(CarryTest, IsSetByADifferenceThatBorrowsNothing) {
  EXPECT_THAT(ResultsOf("sub.cc.u32", {0, 1}, 2), ElementsAre(kOnes32, 0));
  EXPECT_THAT(ResultsOf("sub.cc.s32", {7, 7}, 2), ElementsAre(0, 1));
  EXPECT_THAT(ResultsOf("subc.cc.u64", {0, ~uint64_t{0}, 0}, 2), ElementsAre(0, 0));
  EXPECT_THAT(ResultsOf("subc.cc.u64", {9, 4, 1}, 2), ElementsAre(5, 1));
  EXPECT_THAT(ResultsOf("subc.u32", {5, 2, 0}), ElementsAre(2));
}

TEST(ShiftTest, BeyondTheWidthGivesZeroOrTheSign) {
  EXPECT_EQ(ResultOf("shl.b32", {1, 32}), 0u);
  EXPECT_EQ(ResultOf("shl.b16", {1, 16}), 0u);
  EXPECT_EQ(ResultOf("shr.u64", {~uint64_t{0}, 64}), 0u);
  EXPECT_EQ(ResultOf("shr.s32", {kMin32, 100}), kOnes32);
}

TEST(ShiftTest, FunnelsClampOrWrapTheirCount) {
  EXPECT_EQ(ResultOf("shf.l.clamp.b32", {0x11111111, 0x22222222, 40}), 0x11111111u);
  EXPECT_EQ(ResultOf("shf.l.wrap.b32", {0x80000000, 0, 33}), 1u);
  EXPECT_EQ(ResultOf("shf.r.clamp.b32", {0x11111111, 0x22222222, 32}), 0x22222222u);
  EXPECT_EQ(ResultOf("shf.r.wrap.b32", {0x11111111, 0x22222222, 32}), 0x11111111u);
}

TEST(BitTest, Lop3LooksUpEachBit) {
  EXPECT_EQ(ResultOf("lop3.b32", {0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0xca}), 0xcacacacau);
  EXPECT_THAT(ResultsOf("lop3.or.b32", {0, 0, 0, 0x80, 1}, 2), ElementsAre(0, 1));
  EXPECT_THAT(ResultsOf("lop3.and.b32", {1, 1, 1, 0x80, 0}, 2), ElementsAre(1, 0));
}

TEST(BitTest, PrmtPicksBytesAndSigns) {
  EXPECT_EQ(ResultOf("prmt.b32", {0x33221100, 0x77665544, 0x7531}), 0x77553311u);
  EXPECT_EQ(ResultOf("prmt.b32", {0x00008000, 0, 0x0009}), 0x000000ffu);
  EXPECT_EQ(ResultOf("prmt.b32.f4e", {0x33221100, 0x77665544, 1}), 0x44332211u);
  EXPECT_EQ(ResultOf("prmt.b32.b4e", {0x33221100, 0x77665544, 1}), 0x66770011u);
  EXPECT_EQ(ResultOf("prmt.b32.rc8", {0x33221100, 0, 2}), 0x22222222u);
  EXPECT_EQ(ResultOf("prmt.b32.ecl", {0x33221100, 0, 1}), 0x33221111u);
  EXPECT_EQ(ResultOf("prmt.b32.ecr", {0x33221100, 0, 1}), 0x11111100u);
  EXPECT_EQ(ResultOf("prmt.b32.rc16", {0x33221100, 0, 3}), 0x33223322u);
}

TEST(BitTest, BfeFillsWithTheSignOfTheField) {
  EXPECT_EQ(ResultOf("bfe.u32", {0x12345678, 8, 8}), 0x56u);
  EXPECT_EQ(ResultOf("bfe.s32", {0x0000ff00, 8, 8}), kOnes32);
  EXPECT_EQ(ResultOf("bfe.s32", {kMin32, 31, 20}), kOnes32);
  EXPECT_EQ(ResultOf("bfe.s32", {kMin32, 40, 4}), kOnes32);
  EXPECT_EQ(ResultOf("bfe.s32", {kOnes32, 0, 0}), 0u);
}

TEST(BitTest, BfiInsertsWhatFits) {
  EXPECT_EQ(ResultOf("bfi.b32", {0xff, 0, 28, 8}), 0xf0000000u);
  EXPECT_EQ(ResultOf("bfi.b32", {0xff, 0x1234, 32, 8}), 0x1234u);
  EXPECT_EQ(ResultOf("bfi.b64", {0, ~uint64_t{0}, 0, 64}), 0u);
}

TEST(BitTest, BfindLooksForWhatIsNoSign) {
  EXPECT_EQ(ResultOf("bfind.u32", {0}), kOnes32);
  EXPECT_EQ(ResultOf("bfind.s32", {kOnes32}), kOnes32);
  EXPECT_EQ(ResultOf("bfind.s32", {0xfffffffe}), 0u);
  EXPECT_EQ(ResultOf("bfind.shiftamt.u32", {1}), 31u);
  EXPECT_EQ(ResultOf("bfind.u64", {uint64_t{1} << 40}), 40u);
}

TEST(BitTest, FnsFindsTheNthSetBit) {
  EXPECT_EQ(ResultOf("fns.b32", {0b10110, 0, 2}), 2u);
  EXPECT_EQ(ResultOf("fns.b32", {0b10110, 4, 0xffffffff}), 4u);
  EXPECT_EQ(ResultOf("fns.b32", {0b10110, 0, 4}), kOnes32);
  EXPECT_EQ(ResultOf("fns.b32", {0b10110, 1, 0}), 1u);
}

TEST(BitTest, MasksAndExtensionsClampOrWrap) {
  EXPECT_EQ(ResultOf("bmsk.clamp.b32", {28, 8}), 0xf0000000u);
  EXPECT_EQ(ResultOf("bmsk.wrap.b32", {33, 2}), 6u);
  EXPECT_EQ(ResultOf("szext.clamp.s32", {0x80, 8}), 0xffffff80u);
  EXPECT_EQ(ResultOf("szext.clamp.u32", {kOnes32, 40}), kOnes32);
  EXPECT_EQ(ResultOf("szext.wrap.u32", {kOnes32, 36}), 0xfu);
}

}  // namespace
}  // namespace twinmmu::ptx

// What floating-point numbers do where it is not plain.

#include <cmath>
#include <cstdint>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/ptx/operations/operation_testing.h"

namespace twinmmu::ptx {
namespace {

using testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kTiny = 0x1p-149F;
constexpr uint64_t kNan = 0x7fc12345;
constexpr uint64_t kCanonicalNan = 0x7fffffff;
constexpr uint64_t kMinusZero = 0x80000000;

// Halfway between 1 and the next number, and a little more.
TEST(FloatTest, RoundsAsTheModeSays) {
  const uint64_t one = Bits(1.0F), half_step = Bits(0x1p-24F), next = Bits(0x1.000002p0F);
  EXPECT_EQ(ResultOf("add.f32", {one, half_step}), one);
  EXPECT_EQ(ResultOf("add.rz.f32", {one, half_step}), one);
  EXPECT_EQ(ResultOf("add.rm.f32", {one, half_step}), one);
  EXPECT_EQ(ResultOf("add.rp.f32", {one, half_step}), next);
  EXPECT_EQ(ResultOf("add.rm.f32", {Bits(-1.0F), Bits(-0x1p-24F)}), Bits(-0x1.000002p0F));
  EXPECT_EQ(ResultOf("add.rp.f64", {Bits(1.0), Bits(0x1p-60)}), Bits(0x1.0000000000001p0));
}

// However far apart the operands are.
TEST(FloatTest, RoundsForTheSmallestRest) {
  EXPECT_EQ(ResultOf("add.rp.f32", {Bits(0x1p100F), Bits(kTiny)}), Bits(0x1.000002p100F));
  EXPECT_EQ(ResultOf("add.rz.f32", {Bits(0x1p100F), Bits(-kTiny)}), Bits(0x1.fffffep99F));
}

// A directed rounding does not go to infinity, nor to zero, against its direction.
TEST(FloatTest, RoundsAtTheEndsOfTheRange) {
  const uint64_t largest = Bits(std::numeric_limits<float>::max());
  EXPECT_EQ(ResultOf("mul.rz.f32", {largest, largest}), largest);
  EXPECT_EQ(ResultOf("mul.rp.f32", {largest, largest}), Bits(kInfinity));
  EXPECT_EQ(ResultOf("mul.rp.f32", {Bits(kTiny), Bits(kTiny)}), Bits(kTiny));
  EXPECT_EQ(ResultOf("mul.rm.f32", {Bits(-kTiny), Bits(kTiny)}), Bits(-kTiny));
}

TEST(FloatTest, WhatCancelsIsMinusZeroDownwards) {
  EXPECT_EQ(ResultOf("add.rm.f32", {Bits(1.0F), Bits(-1.0F)}), kMinusZero);
  EXPECT_EQ(ResultOf("add.rn.f32", {Bits(1.0F), Bits(-1.0F)}), 0u);
}

// The product is not rounded: a*b is 1 - 2^-46, and c is -1.
TEST(FloatTest, FmaRoundsOnce) {
  const uint64_t a = Bits(1 + 0x1p-23F), b = Bits(1 - 0x1p-23F), c = Bits(-1.0F);
  EXPECT_EQ(ResultOf("fma.rn.f32", {a, b, c}), Bits(-0x1p-46F));
  EXPECT_EQ(ResultOf("mad.rn.f32", {a, b, c}), Bits(-0x1p-46F));
}

// The halves of a pair know nothing of each other.
TEST(FloatTest, PairsAreTwoOfF32) {
  const auto pair = [](float low, float high) { return Bits(high) << 32 | Bits(low); };
  EXPECT_EQ(ResultOf("fma.rn.f32x2", {pair(2, 3), pair(5, 7), pair(1, -1)}), pair(11, 20));
  EXPECT_EQ(ResultOf("sub.rz.ftz.f32x2", {pair(1, kTiny), pair(0x1p-30F, 0)}),
            pair(0x1.fffffep-1F, 0));
  EXPECT_EQ(ResultOf("mul.f32x2", {pair(-1, kInfinity), pair(4, 2)}), pair(-4, kInfinity));
}

TEST(FloatTest, ExtremesOfThree) {
  EXPECT_EQ(ResultOf("max.f32", {Bits(1.0F), Bits(-7.0F), Bits(3.0F)}), Bits(3.0F));
  EXPECT_EQ(ResultOf("max.abs.f32", {Bits(1.0F), Bits(-7.0F), Bits(3.0F)}), Bits(7.0F));
  EXPECT_EQ(ResultOf("min.f32", {Bits(1.0F), kNan, Bits(3.0F)}), Bits(1.0F));
  EXPECT_EQ(ResultOf("min.NaN.f32", {Bits(1.0F), kNan, Bits(3.0F)}), kCanonicalNan);
}

// The exact result lies just above a tie, by less than f64 has bits for.
TEST(FloatTest, FmaDoesNotRoundTwice) {
  const uint64_t a = Bits(1 + 0x1p-23F), b = Bits(1 + 0x1p-1F);
  // a*b is 1.5 + 1.5 * 2^-23: a tie, which the rest decides.
  EXPECT_EQ(ResultOf("fma.rn.f32", {a, b, Bits(0x1p-100F)}), Bits(1.5F + 0x1p-22F));
  EXPECT_EQ(ResultOf("fma.rn.f32", {a, b, Bits(-0x1p-100F)}), Bits(1.5F + 0x1p-23F));
}

TEST(FloatTest, EveryNanBecomesTheCanonicalOne) {
  EXPECT_EQ(ResultOf("add.f32", {kNan, Bits(1.0F)}), kCanonicalNan);
  EXPECT_EQ(ResultOf("mul.f32", {Bits(kInfinity), 0}), kCanonicalNan);
  EXPECT_EQ(ResultOf("sqrt.rn.f32", {Bits(-1.0F)}), kCanonicalNan);
  EXPECT_EQ(ResultOf("add.f16", {0x7e01, 0}), 0x7fffu);
}

TEST(FloatTest, FtzFlushesWhatComesInAndGoesOut) {
  EXPECT_EQ(ResultOf("add.f32", {Bits(kTiny), Bits(kTiny)}), Bits(2 * kTiny));
  EXPECT_EQ(ResultOf("add.ftz.f32", {Bits(-kTiny), Bits(-kTiny)}), kMinusZero);
  EXPECT_EQ(ResultOf("mul.ftz.f32", {Bits(0x1p-100F), Bits(-0x1p-40F)}), kMinusZero);
  EXPECT_EQ(ResultOf("rcp.rn.ftz.f32", {Bits(kTiny)}), Bits(kInfinity));
}

// The product is below the smallest normal number by half of a bit of a normal one, and would
// become it as a subnormal.
TEST(FloatTest, FtzFlushesWhatRoundsUpToANormalNumber) {
  EXPECT_EQ(ResultOf("mul.f32", {Bits(0.5F), 0x00ffffff}), 0x00800000u);
  EXPECT_EQ(ResultOf("mul.ftz.f32", {Bits(0.5F), 0x00ffffff}), 0u);
  EXPECT_EQ(ResultOf("fma.rn.ftz.f32", {Bits(0.5F), 0x00ffffff, 0}), 0u);
  EXPECT_EQ(ResultOf("mul.ftz.f16", {0x3800, 0x07ff}), 0u);
}

// A NaN of f64 keeps its payload; of two, the second counts, but for division.
TEST(FloatTest, NansOfF64KeepTheirPayload) {
  const uint64_t signalling = 0x7ff0000000000001, quiet = 0xfff8123456789abc;
  EXPECT_EQ(ResultOf("add.f64", {signalling, Bits(1.0)}), 0x7ff8000000000001u);
  EXPECT_EQ(ResultOf("sub.f64", {signalling, quiet}), quiet);
  EXPECT_EQ(ResultOf("div.rn.f64", {signalling, quiet}), 0x7ff8000000000001u);
}

TEST(FloatTest, SatClampsAndMakesNanZero) {
  EXPECT_EQ(ResultOf("add.sat.f32", {Bits(1.0F), Bits(1.0F)}), Bits(1.0F));
  EXPECT_EQ(ResultOf("add.sat.f32", {Bits(-1.0F), Bits(0.5F)}), 0u);
  EXPECT_EQ(ResultOf("add.sat.f32", {kNan, 0}), 0u);
}

TEST(FloatTest, DivisionByZeroIsInfinite) {
  EXPECT_EQ(ResultOf("div.rn.f32", {Bits(-1.0F), 0}), Bits(-kInfinity));
  EXPECT_EQ(ResultOf("div.rn.f32", {0, 0}), kCanonicalNan);
}

TEST(FloatTest, QuotientsAndRootsRoundAsTheModeSays) {
  const uint64_t third = Bits(1.0F / 3);
  EXPECT_EQ(ResultOf("div.rn.f32", {Bits(1.0F), Bits(3.0F)}), third);
  EXPECT_EQ(ResultOf("div.rz.f32", {Bits(1.0F), Bits(3.0F)}), third - 1);
  EXPECT_EQ(ResultOf("div.rm.f32", {Bits(-1.0F), Bits(3.0F)}), third | kMinusZero);
  EXPECT_EQ(ResultOf("sqrt.rp.f64", {Bits(3.0)}), Bits(std::nextafter(std::sqrt(3.0), 2)));
  EXPECT_EQ(ResultOf("sqrt.rn.f32", {kMinusZero}), kMinusZero);
}

TEST(ApproximateTest, PowersAndTangentsAreOfHalvesToo) {
  EXPECT_EQ(ResultOf("ex2.approx.f16", {0x4000}), 0x4400u);       // of 2
  EXPECT_EQ(ResultOf("ex2.approx.ftz.bf16", {0x4000}), 0x4080u);  // of 2
  EXPECT_EQ(ResultOf("ex2.approx.ftz.bf16", {0xc302}), 0u);       // of -130
  EXPECT_EQ(ResultOf("tanh.approx.f16", {0x5640}), 0x3c00u);      // of 100
  EXPECT_EQ(ResultOf("tanh.approx.bf16", {0xc2c8}), 0xbf80u);     // of -100
  EXPECT_EQ(ResultOf("tanh.approx.bf16x2", {0xc2c80000}), 0xbf800000u);
}

// What they flush is a zero with its sign, before and after.
TEST(ApproximateTest, SubnormalsOfF32AreKeptOrFlushed) {
  const uint64_t tiny = Bits(-kTiny), minus_infinity = Bits(-kInfinity);
  EXPECT_EQ(ResultOf("sin.approx.f32", {tiny}), tiny);
  EXPECT_EQ(ResultOf("sin.approx.ftz.f32", {tiny}), kMinusZero);
  EXPECT_EQ(ResultOf("sqrt.approx.ftz.f32", {tiny}), kMinusZero);
  EXPECT_EQ(ResultOf("rcp.approx.ftz.f32", {tiny}), minus_infinity);
  EXPECT_EQ(ResultOf("rsqrt.approx.ftz.f32", {tiny}), minus_infinity);
  EXPECT_EQ(ResultOf("lg2.approx.ftz.f32", {tiny}), minus_infinity);
  EXPECT_EQ(ResultOf("cos.approx.ftz.f32", {tiny}), Bits(1.0F));
  EXPECT_EQ(ResultOf("ex2.approx.f32", {Bits(-127.0F)}), Bits(0x1p-127F));
  EXPECT_EQ(ResultOf("ex2.approx.ftz.f32", {Bits(-127.0F)}), 0u);
}

// Of f64, they tell only the upper half.
TEST(ApproximateTest, ReciprocalsOfF64HaveHalfOfTheBits) {
  const auto upper = [](uint64_t bits) { return bits & 0xffffffff00000000; };
  EXPECT_EQ(ResultOf("rcp.approx.ftz.f64", {Bits(3.0)}), upper(Bits(1 / 3.0)));
  EXPECT_EQ(ResultOf("rsqrt.approx.ftz.f64", {Bits(3.0)}), upper(Bits(1 / std::sqrt(3.0))));
}

TEST(MinMaxTest, ANanLosesOrWins) {
  EXPECT_EQ(ResultOf("min.f32", {kNan, Bits(1.0F)}), Bits(1.0F));
  EXPECT_EQ(ResultOf("max.f32", {Bits(1.0F), kNan}), Bits(1.0F));
  EXPECT_EQ(ResultOf("min.f32", {kNan, kNan}), kCanonicalNan);
  EXPECT_EQ(ResultOf("min.NaN.f32", {Bits(1.0F), kNan}), kCanonicalNan);
}

TEST(MinMaxTest, MinusZeroIsTheLesser) {
  EXPECT_EQ(ResultOf("min.f32", {0, kMinusZero}), kMinusZero);
  EXPECT_EQ(ResultOf("max.f32", {kMinusZero, 0}), 0u);
  EXPECT_EQ(ResultOf("min.f16x2", {0x00008000, 0x80000000}), 0x80008000u);
}

TEST(MinMaxTest, XorsignTakesTheSignOfTheProduct) {
  EXPECT_EQ(ResultOf("max.xorsign.abs.f32", {Bits(-3.0F), Bits(2.0F)}), Bits(-3.0F));
  EXPECT_EQ(ResultOf("min.xorsign.abs.f32", {Bits(-3.0F), Bits(-2.0F)}), Bits(2.0F));
}

TEST(FloatTest, CopysignTakesTheSignOfTheFirst) {
  EXPECT_EQ(ResultOf("copysign.f32", {Bits(-1.0F), Bits(5.0F)}), Bits(-5.0F));
}

TEST(FloatTest, TestpTellsTheClasses) {
  EXPECT_EQ(ResultOf("testp.subnormal.f32", {Bits(kTiny)}), 1u);
  EXPECT_EQ(ResultOf("testp.normal.f32", {0}), 1u);  // as PTX says
  EXPECT_EQ(ResultOf("testp.notanumber.f32", {kNan}), 1u);
}

TEST(HalfTest, TiesGoToEven) {
  EXPECT_EQ(ResultOf("add.f16", {0x3c00, 0x1000}), 0x3c00u);  // 1 + 2^-11
  EXPECT_EQ(ResultOf("add.f16", {0x3c01, 0x1000}), 0x3c02u);
  EXPECT_EQ(ResultOf("add.bf16", {0x3f80, 0x3b80}), 0x3f80u);  // 1 + 2^-8
  EXPECT_EQ(ResultOf("add.bf16", {0x3f81, 0x3b80}), 0x3f82u);
  EXPECT_EQ(ResultOf("add.f16", {0x7bff, 0x4c00}), 0x7c00u);  // 65504 + 16
}

TEST(HalfTest, FmaRoundsOnce) {
  // (1 + 2^-10)^2 is 1 + 2^-9 + 2^-20.
  EXPECT_EQ(ResultOf("fma.rn.f16", {0x3c01, 0x3c01, 0xbc02}), 0x0010u);
}

// The NaN of what lies outside of a tensor, of either sign; as a summand it is any NaN.
TEST(HalfTest, FmaOfWhatIsOutOfBoundsIsZero) {
  for (const uint64_t outside : {0x7ff7, 0xfff7}) {
    EXPECT_EQ(ResultOf("fma.rn.oob.f16", {outside, 0x3c00, 0x4000}), 0u);
    EXPECT_EQ(ResultOf("fma.rn.oob.relu.bf16", {0x3f80, outside, 0x4000}), 0u);
    EXPECT_EQ(ResultOf("fma.rn.oob.f16", {0x3c00, 0x3c00, outside}), 0x7fffu);
    EXPECT_EQ(ResultOf("fma.rn.oob.f16x2", {0x3c000000 | outside, 0x3c003c00, 0x3c003c00}),
              0x40000000u);
  }
  EXPECT_EQ(ResultOf("fma.rn.oob.f16", {0x7ff6, 0x3c00, 0x4000}), 0x7fffu);
  EXPECT_EQ(ResultOf("fma.rn.oob.f16", {0x3c00, 0x3c00, 0x3c00}), 0x4000u);
  EXPECT_EQ(ResultOf("fma.rn.oob.relu.f16", {0x3c00, 0xbc00, 0}), 0u);
}

TEST(HalfTest, ReluKeepsNan) {
  EXPECT_EQ(ResultOf("fma.rn.relu.f16", {0x3c00, 0xbc00, 0}), 0u);
  EXPECT_EQ(ResultOf("fma.rn.relu.f16", {0x7e00, 0xbc00, 0}), 0x7fffu);
}

TEST(CompareTest, UnorderedFormsAreTrueOfNan) {
  const uint64_t one = Bits(1.0F);
  EXPECT_EQ(ResultOf("setp.lt.f32", {kNan, one}), 0u);
  EXPECT_EQ(ResultOf("setp.ltu.f32", {kNan, one}), 1u);
  EXPECT_EQ(ResultOf("setp.ne.f32", {kNan, one}), 0u);
  EXPECT_EQ(ResultOf("setp.neu.f32", {kNan, one}), 1u);
  EXPECT_EQ(ResultOf("setp.num.f32", {kNan, one}), 0u);
  EXPECT_EQ(ResultOf("setp.nan.f32", {one, kNan}), 1u);
}

// The second predicate combines the opposite.
TEST(CompareTest, GivesTwoPredicates) {
  EXPECT_THAT(ResultsOf("setp.lt.s32", {0xffffffff, 0}, 2), ElementsAre(1, 0));
  EXPECT_THAT(ResultsOf("setp.lt.and.u32", {0xffffffff, 0, 1}, 2), ElementsAre(0, 1));
  EXPECT_THAT(ResultsOf("setp.eq.xor.s32", {1, 1, 1}, 2), ElementsAre(0, 1));
}

// Of pairs the second one is of the upper halves.
TEST(CompareTest, GivesAPredicateForEachHalf) {
  EXPECT_THAT(ResultsOf("setp.lt.f16x2", {0x3c004000, 0x40003c00}, 2), ElementsAre(0, 1));
}

TEST(CompareTest, SetGivesOnesOrOne) {
  EXPECT_EQ(ResultOf("set.eq.u32.s32", {5, 5}), 0xffffffffu);
  EXPECT_EQ(ResultOf("set.eq.f32.s32", {5, 5}), Bits(1.0F));
  EXPECT_EQ(ResultOf("set.lt.f16x2.f16x2", {0x3c004000, 0x40003c00}), 0x3c000000u);
}

TEST(CompareTest, SetGivesSignedIntegers) {
  EXPECT_EQ(ResultOf("set.lt.s32.f32", {Bits(1.0F), Bits(2.0F)}), 0xffffffffu);
  EXPECT_EQ(ResultOf("set.lt.and.s32.u32", {1, 2, 0}), 0u);
  EXPECT_EQ(ResultOf("set.lt.s32.f16x2", {0x3c004000, 0x40003c00}), 0xffff0000u);
}

TEST(SelectTest, SelectsSignedValues) {
  EXPECT_EQ(ResultOf("selp.s32", {1, 2, 0}), 2u);
  EXPECT_EQ(ResultOf("slct.s32.s32", {1, 2, 0}), 1u);
  EXPECT_EQ(ResultOf("slct.s32.s32", {1, 2, 0xffffffff}), 2u);
  EXPECT_EQ(ResultOf("slct.s32.f32", {1, 2, Bits(-1.0F)}), 2u);
}

TEST(SelectTest, SlctTakesMinusZeroAsZero) {
  EXPECT_EQ(ResultOf("slct.u32.f32", {1, 2, kMinusZero}), 1u);
  EXPECT_EQ(ResultOf("slct.u32.f32", {1, 2, kNan}), 2u);
  EXPECT_EQ(ResultOf("slct.ftz.u32.f32", {1, 2, Bits(-kTiny)}), 1u);
}

}  // namespace
}  // namespace twinmmu::ptx

// What cvt does where it is not plain.

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"
#include "sim/ptx/operations/operation_testing.h"

namespace twinmmu::ptx {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr uint64_t kNan = 0x7fc00000;

TEST(ConvertTest, IntegersAreCutOrClamped) {
  EXPECT_EQ(ResultOf("cvt.u8.u32", {0x1234}), 0x34u);
  EXPECT_EQ(ResultOf("cvt.s8.s32", {0x80}), 0xff80u);
  EXPECT_EQ(ResultOf("cvt.sat.u8.s32", {0xffffffff}), 0u);
  EXPECT_EQ(ResultOf("cvt.sat.s8.u32", {0xffffffff}), 0x7fu);
  EXPECT_EQ(ResultOf("cvt.sat.s32.u64", {uint64_t{1} << 40}), 0x7fffffffu);
  EXPECT_EQ(ResultOf("cvt.s64.s32", {0x80000000}), 0xffffffff80000000u);
}

// Of a byte, what stands above it in the register does not count.
TEST(ConvertTest, BytesAreTheLowerHalf) {
  EXPECT_EQ(ResultOf("cvt.s32.s8", {0x12ff}), 0xffffffffu);
}

TEST(ConvertTest, FloatsAreClampedToTheInteger) {
  EXPECT_EQ(ResultOf("cvt.rzi.s32.f32", {Bits(kInfinity)}), 0x7fffffffu);
  EXPECT_EQ(ResultOf("cvt.rzi.s32.f32", {Bits(-1e20F)}), 0x80000000u);
  EXPECT_EQ(ResultOf("cvt.rzi.u32.f32", {Bits(-5.0F)}), 0u);
  EXPECT_EQ(ResultOf("cvt.rzi.u64.f64", {Bits(0x1p64)}), ~uint64_t{0});
  EXPECT_EQ(ResultOf("cvt.rni.u8.f32", {Bits(300.0F)}), 255u);
}

TEST(ConvertTest, BytesAreMadeOfBf16) {
  EXPECT_EQ(ResultOf("cvt.rzi.s8.bf16", {0xc2ff}), 0xff81u);  // -127.5
  EXPECT_EQ(ResultOf("cvt.rzi.u8.bf16", {0x4400}), 255u);     // 512
  EXPECT_EQ(ResultOf("cvt.rn.bf16.s8", {0x80}), 0xc300u);
}

TEST(ConvertTest, NanBecomesZero) {
  EXPECT_EQ(ResultOf("cvt.rzi.s32.f32", {kNan}), 0u);
  EXPECT_EQ(ResultOf("cvt.rzi.u16.f16", {0x7e00}), 0u);
}

// Where one side has 64 bits.
TEST(ConvertTest, NanBecomesTheSmallestInteger) {
  EXPECT_EQ(ResultOf("cvt.rzi.s64.f32", {kNan}), uint64_t{1} << 63);
  EXPECT_EQ(ResultOf("cvt.rzi.u32.f64", {0x7ff8000000000000}), 0x80000000u);
}

TEST(ConvertTest, NanKeepsItsPayloadWhereNothingIsDone) {
  EXPECT_EQ(ResultOf("cvt.f32.f32", {0xffc54321}), 0xffc54321u);
  EXPECT_EQ(ResultOf("cvt.ftz.f32.f32", {0xffc54321}), 0x7fffffffu);
  EXPECT_EQ(ResultOf("cvt.rn.f32.f64", {0x7ff8123456789abc}), 0x7fc091a2u);
}

TEST(ConvertTest, RoundsToIntegersAsTheModeSays) {
  EXPECT_EQ(ResultOf("cvt.rni.s32.f32", {Bits(2.5F)}), 2u);
  EXPECT_EQ(ResultOf("cvt.rzi.s32.f32", {Bits(-2.5F)}), 0xfffffffeu);
  EXPECT_EQ(ResultOf("cvt.rmi.s32.f32", {Bits(-2.5F)}), 0xfffffffdu);
  EXPECT_EQ(ResultOf("cvt.rpi.s32.f32", {Bits(2.1F)}), 3u);
  EXPECT_EQ(ResultOf("cvt.rni.f32.f32", {Bits(3.5F)}), Bits(4.0F));
}

TEST(ConvertTest, RoundsHalvesToIntegersInTheirType) {
  EXPECT_EQ(ResultOf("cvt.f16.f16", {0x3c01}), 0x3c01u);
  EXPECT_EQ(ResultOf("cvt.sat.f16.f16", {0x4000}), 0x3c00u);
  EXPECT_EQ(ResultOf("cvt.rni.f16.f16", {0x4100}), 0x4000u);  // 2.5
  EXPECT_EQ(ResultOf("cvt.rzi.f16.f16", {0xc100}), 0xc000u);
  EXPECT_EQ(ResultOf("cvt.rmi.f16.f16", {0xc100}), 0xc200u);
  EXPECT_EQ(ResultOf("cvt.rpi.f16.f16", {0x4100}), 0x4200u);
}

TEST(ConvertTest, RoundsIntegersAsTheModeSays) {
  const uint64_t odd = (1 << 24) + 1;
  EXPECT_EQ(ResultOf("cvt.rn.f32.u32", {odd}), Bits(0x1p24F));
  EXPECT_EQ(ResultOf("cvt.rp.f32.u32", {odd}), Bits(0x1.000002p24F));
  EXPECT_EQ(ResultOf("cvt.rz.f32.u64", {~uint64_t{0}}), Bits(0x1.fffffep63F));
  EXPECT_EQ(ResultOf("cvt.rm.f64.s64", {0x7fffffffffffffff}), Bits(0x1.fffffffffffffp62));
}

// A tie of f32 that lies 2^-63 beside one: f64 cannot tell them apart.
TEST(ConvertTest, RoundsIntegersOf64BitsOnce) {
  const uint64_t tie = (uint64_t{1} << 63) + (uint64_t{1} << 39);
  EXPECT_EQ(ResultOf("cvt.rn.f32.u64", {tie}), Bits(0x1p63F));
  EXPECT_EQ(ResultOf("cvt.rn.f32.u64", {tie + 1}), Bits(0x1.000002p63F));
}

TEST(ConvertTest, NarrowsWithTiesToEven) {
  EXPECT_EQ(ResultOf("cvt.rn.f16.f32", {Bits(1 + 0x1p-11F)}), 0x3c00u);
  EXPECT_EQ(ResultOf("cvt.rn.f16.f32", {Bits(1 + 0x3p-11F)}), 0x3c02u);
  EXPECT_EQ(ResultOf("cvt.rn.bf16.f32", {Bits(1 + 0x1p-8F)}), 0x3f80u);
  EXPECT_EQ(ResultOf("cvt.rn.f16.f32", {Bits(65520.0F)}), 0x7c00u);
  EXPECT_EQ(ResultOf("cvt.rz.f16.f32", {Bits(65520.0F)}), 0x7bffu);
  EXPECT_EQ(ResultOf("cvt.rn.f16.f32", {Bits(0x1p-25F)}), 0u);
  EXPECT_EQ(ResultOf("cvt.rp.f16.f32", {Bits(0x1p-40F)}), 1u);
  EXPECT_EQ(ResultOf("cvt.rm.f32.f64", {Bits(-1e300)}), Bits(-kInfinity));
}

TEST(ConvertTest, HalvesWidenExactly) {
  EXPECT_EQ(ResultOf("cvt.f32.f16", {0x0001}), Bits(0x1p-24F));
  EXPECT_EQ(ResultOf("cvt.f32.f16", {0xfc00}), Bits(-kInfinity));
  EXPECT_EQ(ResultOf("cvt.f32.f16", {0x7e00}), 0x7fffffffu);
  EXPECT_EQ(ResultOf("cvt.f32.bf16", {0x3f81}), Bits(1 + 0x1p-7F));
}

TEST(ConvertTest, FtzFlushesF32) {
  EXPECT_EQ(ResultOf("cvt.ftz.f32.f32", {0x80000001}), 0x80000000u);
  EXPECT_EQ(ResultOf("cvt.f64.f32", {1}), Bits(0x1p-149));
  EXPECT_EQ(ResultOf("cvt.ftz.f64.f32", {1}), 0u);
}

TEST(ConvertTest, Tf32KeepsTenBits) {
  EXPECT_EQ(ResultOf("cvt.rna.tf32.f32", {Bits(1 + 0x1p-11F)}), Bits(1 + 0x1p-10F));
  EXPECT_EQ(ResultOf("cvt.rn.tf32.f32", {Bits(1 + 0x1p-11F)}), Bits(1.0F));
}

// The first operand is the upper half.
TEST(ConvertTest, PacksTwoFloats) {
  EXPECT_EQ(ResultOf("cvt.rn.f16x2.f32", {Bits(2.0F), Bits(1.0F)}), 0x40003c00u);
  EXPECT_EQ(ResultOf("cvt.rn.relu.bf16x2.f32", {Bits(-2.0F), Bits(1.0F)}), 0x00003f80u);
  EXPECT_EQ(ResultOf("cvt.rn.satfinite.f16.f32", {Bits(1e9F)}), 0x7bffu);
}

TEST(ConvertTest, FormatsOf8BitsSaturate) {
  EXPECT_EQ(ResultOf("cvt.rn.satfinite.e4m3x2.f32", {Bits(1000.0F), Bits(-1.0F)}), 0x7eb8u);
  EXPECT_EQ(ResultOf("cvt.rn.satfinite.e5m2x2.f32", {Bits(kInfinity), Bits(1.5F)}), 0x7b3eu);
  EXPECT_EQ(ResultOf("cvt.rn.satfinite.e4m3x2.f32", {kNan, Bits(0x1p-10F)}), 0x7f00u);
  EXPECT_EQ(ResultOf("cvt.rn.f16x2.e4m3x2", {0x7e01}), 0x5f001800u);
  EXPECT_EQ(ResultOf("cvt.rn.f16x2.e5m2x2", {0x7cb8}), 0x7c00b800u);
}

TEST(ConvertTest, ReluMakesNegativesOf8BitsZero) {
  const uint64_t minus_two = Bits(-2.0F), one = Bits(1.0F);
  EXPECT_EQ(ResultOf("cvt.rn.satfinite.relu.e4m3x2.f32", {minus_two, one}), 0x0038u);
  EXPECT_EQ(ResultOf("cvt.rn.satfinite.relu.e5m2x2.f32", {minus_two, one}), 0x003cu);
  EXPECT_EQ(ResultOf("cvt.rn.satfinite.relu.e4m3x2.f16x2", {0xc0003c00}), 0x0038u);
  EXPECT_EQ(ResultOf("cvt.rn.satfinite.relu.e5m2x2.f16x2", {0xc0003c00}), 0x003cu);
  EXPECT_EQ(ResultOf("cvt.rn.relu.f16x2.e4m3x2", {0xc038}), 0x00003c00u);
  EXPECT_EQ(ResultOf("cvt.rn.relu.f16x2.e5m2x2", {0xc03c}), 0x00003c00u);
}

TEST(ConvertTest, PackClampsAndShiftsIn) {
  EXPECT_EQ(ResultOf("cvt.pack.sat.s16.s32", {70000, 0xffffffff}), 0x7fffffffu);
  EXPECT_EQ(ResultOf("cvt.pack.sat.u8.s32.b32", {300, 5, 0x12345678}), 0x5678ff05u);
}

TEST(ConvertTest, PackMakesPartsOf4And2Bits) {
  EXPECT_EQ(ResultOf("cvt.pack.sat.u4.s32.b32", {300, 5, 1}), 0x1f5u);
  EXPECT_EQ(ResultOf("cvt.pack.sat.s4.s32.b32", {300, 0xffffff00, 1}), 0x178u);
  EXPECT_EQ(ResultOf("cvt.pack.sat.u2.s32.b32", {300, 0xffffffff, 1}), 0b11100u);
  EXPECT_EQ(ResultOf("cvt.pack.sat.s2.s32.b32", {300, 0xffffff00, 1}), 0b10110u);
}

}  // namespace
}  // namespace twinmmu::ptx

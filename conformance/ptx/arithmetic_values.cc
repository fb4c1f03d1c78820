#include "conformance/ptx/arithmetic_values.h"

#include <cstddef>

namespace twinmmu::conformance {
namespace {

using ptx::Type;

std::vector<uint64_t> Bytes8() {
  // What stands above the byte must not matter.
  return {0, 0xff, 0x80, 1, 0x7f, 0x1280, 0x55ff, 0x81, 0x12, 0xff01, 0x40, 0xaa};
}
std::vector<uint64_t> Integers16() {
  return {0,      0xffff, 0x8000, 1,      15, 16, 0x1234, 0x7fff, 0xabcd, 0x00ff,
          0x0100, 0x0080, 0x007f, 0xfffe, 2,  17, 31,     32,     0x5555};
}
std::vector<uint64_t> Integers32() {
  return {0,          0xffffffff, 0x80000000, 1,          31,         32,         0x12345678,
          0x7fffffff, 33,         0xdeadbeef, 63,         64,         0xff,       0x100,
          0xffff,     0x00ffffff, 0xfffffffe, 7,          0x8000,     0x10000,    0x7fff,
          0x01000000, 0x01000001, 0x01000003, 0x7fffffbf, 0x7fffffc0, 0xffffff7f, 0xffffff80,
          0xffff8000, 0xffff7fff, 0xffffff80, 0x80,       0x7f,       0x55555555, 0x80000001};
}
std::vector<uint64_t> Integers64() {
  return {0,
          ~uint64_t{0},
          uint64_t{1} << 63,
          1,
          63,
          64,
          0x123456789abcdef0,
          ~uint64_t{0} >> 1,
          31,
          32,
          0xdeadbeefcafef00d,
          0xffffffff,
          0x100000000,
          0x80000000,
          0xffffffff80000000,
          0x7fffffff,
          127,
          0xffff,
          0xfffffffffffffffe,
          0x20000000000001,
          0x20000000000003,
          0x7ffffffffffffdff,
          0x7ffffffffffffe00,
          0xfffffffffffffbff,
          0xfffffffffffffc00,
          0x0100000100000001,
          0x8000008000000001,
          0xffffffff7fffffff,
          0xffffffffffff7fff,
          0x5555555555555555,
          0x0000010000000001,
          0x1000001000000000};
}
std::vector<uint64_t> F32() {
  return {0x00000000, 0x3f800000, 0xff800000, 0x7fc12345, 0x00000001, 0x80000000, 0x3f800001,
          0x7f7fffff, 0x00ffffff, 0x3f000000, 0xbf800000, 0x7f800000, 0x7f800001, 0xffc54321,
          0x00800000, 0x807fffff, 0x40400000, 0xff7fffff, 0x7fffffff, 0xffbfffff, 0x80800000,
          0x3fc00000, 0x40200000, 0xbf000000, 0xbfc00000, 0x3effffff, 0x3f7fffff, 0x40490fdb,
          0x4b000001, 0x4b800001, 0x4b7fffff, 0x4effffff, 0x4f000000, 0x4f7fffff, 0x4f800000,
          0xcf000000, 0xcf000001, 0x5effffff, 0x5f000000, 0x5f7fffff, 0x5f800000, 0xdf000000,
          0xdf000001, 0x42fe0000, 0x42ff0000, 0x43000000, 0xc3000000, 0xc3008000, 0x437f0000,
          0x437f8000, 0x46fffe00, 0x46ffff00, 0xc7000000, 0xc7000080, 0x477fff00, 0x477fff80,
          // Ties of narrower formats, and where those end.
          0x477fe000, 0x477fefff, 0x477ff000, 0xc77ff000, 0x33000000, 0x33000001, 0x33c00000,
          0x38800000, 0x387fffff, 0x387fe000, 0x3f801000, 0x3f803000, 0xbf801000, 0x3f801001,
          0x3f808000, 0x3f818000, 0x3f808001, 0xbf808000, 0x7f7f7fff, 0x7f7f8000, 0x00008000,
          0x00018000, 0x00004000, 0x3f800fff, 0x3f802fff, 0x00001000, 0x7f7ff000, 0x7f7fefff,
          0x43e00000, 0x43e80000, 0x43e80001, 0xc3e80000, 0x3a800000, 0x3a800001, 0x3b400000,
          0x3c7fffff, 0x3f880000, 0x3f980000, 0x47600000, 0x47700000, 0x476fffff, 0x37000000,
          0x37000001, 0x37c00000, 0x387c0000, 0x3fa00000, 0xc7700000};
}
std::vector<uint64_t> F64() {
  return {0, 0x3ff0000000000000, 0xfff0000000000000, 0x7ff8123456789abc, 1, uint64_t{1} << 63,
          0x3ff0000000000001, 0x7fefffffffffffff, 0x001fffffffffffff, 0x3fe0000000000000,
          0xbff0000000000000, 0x7ff0000000000000, 0x7ff0000000000001, 0xfffcba9876543210,
          0x0010000000000000, 0x800fffffffffffff, 0x4008000000000000, 0xffefffffffffffff,
          0x7fffffffffffffff, 0xfff7ffffffffffff, 0x3ff8000000000000, 0x4004000000000000,
          0xbfe0000000000000, 0xbff8000000000000, 0x3fdfffffffffffff, 0x400921fb54442d18,
          0x41dfffffffc00000, 0x41dfffffffe00000, 0x41e0000000000000, 0xc1e0000000000000,
          0xc1e0000000200000, 0x41efffffffe00000, 0x41effffffff00000, 0x41f0000000000000,
          0x43dfffffffffffff, 0x43e0000000000000, 0xc3e0000000000000, 0x43efffffffffffff,
          0x43f0000000000000, 0x405fc00000000000, 0x4060000000000000, 0xc060100000000000,
          0x406ff00000000000, 0x40dfffe000000000, 0x40efffe000000000,
          // Ties of narrower formats, and where those end.
          0x3ff0000010000000, 0x3ff0000030000000, 0x3ff0000010000001, 0xbff0000010000000,
          0x47efffffefffffff, 0x47effffff0000000, 0x47efffffe0000000, 0x47f0000000000000,
          0x36a0000000000000, 0x3690000000000000, 0x3690000000000001, 0x380fffffe0000000,
          0x380ffffff0000000, 0x3810000000000000, 0x3ff0020000000000, 0x3ff0060000000000,
          0x3ff0020000000001, 0x40effc0000000000, 0x40effe0000000000, 0x40effdffffffffff,
          0x3e60000000000000, 0x3e60000000000001, 0x3ff0100000000000, 0x3ff0300000000000,
          0x47efefffffffffff, 0x47eff00000000000, 0x37d0000000000000, 0xb810000000000001,
          0xc7effffff0000000};
}
std::vector<uint64_t> F16() {
  return {0x0000, 0x3c00, 0xfc00, 0x7e12, 0x0001, 0x8000, 0x3c01, 0x7bff, 0x07ff, 0x3800,
          0xbc00, 0x7c00, 0x7c01, 0xfe54, 0x0400, 0x83ff, 0x4200, 0xfbff, 0x7fff, 0xfdff,
          0x8400, 0x3e00, 0x4100, 0xb800, 0xbe00, 0x37ff, 0x3bff, 0x4248, 0x57f8, 0x57fc,
          0x5800, 0xd800, 0xd804, 0x5bf8, 0x5bfc, 0x77ff, 0x7800, 0xf800, 0x5f00, 0x5f40,
          0x5f3f, 0x1400, 0x1401, 0x1a00, 0x3c40, 0x3cc0, 0x7b00, 0x7b80, 0x7b7f, 0x0003};
}
std::vector<uint64_t> Bf16() {
  return {0x0000, 0x3f80, 0xff80, 0x7fc1, 0x0001, 0x8000, 0x3f81, 0x7f7f, 0x00ff, 0x3f00,
          0xbf80, 0x7f80, 0x7f81, 0xffc5, 0x0080, 0x807f, 0x4040, 0xff7f, 0x7fff, 0xffbf,
          0x8080, 0x3fc0, 0x4020, 0xbf00, 0xbfc0, 0x3eff, 0x3f7f, 0x4049, 0x42fe, 0x42ff,
          0x4300, 0xc300, 0xc301, 0x437f, 0x4380, 0x46ff, 0x4700, 0xc700, 0x477f, 0x4780,
          0x4f00, 0xcf00, 0x5f00, 0x5f80, 0xdf00, 0x3880, 0x387f, 0x3300, 0x32ff, 0x0003};
}
// Each value once below, and another above it.
std::vector<uint64_t> Pairs(const std::vector<uint64_t>& halves) {
  std::vector<uint64_t> pairs;
  for (size_t i = 0; i < halves.size(); ++i) {
    pairs.push_back(halves[(7 * i + 3) % halves.size()] << 16 | halves[i]);
  }
  return pairs;
}
// All there are of 8 bits, twice.
std::vector<uint64_t> PairsOf8() {
  std::vector<uint64_t> pairs;
  for (uint64_t i = 0; i < 256; ++i) pairs.push_back((i * 37 + 11) % 256 << 8 | i);
  return pairs;
}

// A number whose exponent is near the middle, often with few bits set.
uint64_t RandomFloat(int exponent_bits, int mantissa_bits, std::mt19937_64& random) {
  const uint64_t bits = random();
  const uint64_t all = bits >> (63 - exponent_bits - mantissa_bits);
  if (random() % 4 == 0) return all;
  const uint64_t bias = (uint64_t{1} << (exponent_bits - 1)) - 1;
  const uint64_t spread = bias < 32 ? bias / 2 : 20;
  const uint64_t exponent = bias - spread + random() % (2 * spread);
  uint64_t mantissa = bits & ((uint64_t{1} << mantissa_bits) - 1);
  if (random() % 2 == 0) mantissa &= random() & random();
  const uint64_t sign = bits >> 63;
  return (sign << exponent_bits | exponent) << mantissa_bits | mantissa;
}
uint64_t RandomInteger(int bits, std::mt19937_64& random) {
  const uint64_t value = random() >> (64 - bits);
  return random() % 4 == 0 ? value % 70 : value;
}

}  // namespace

std::vector<uint64_t> EdgeValues(Type type) {
  switch (type) {
    case Type::kPred:
      return {0, 1};
    case Type::kF16:
      return F16();
    case Type::kBf16:
      return Bf16();
    case Type::kF32:
      return F32();
    case Type::kF64:
      return F64();
    case Type::kF16x2:
      return Pairs(F16());
    case Type::kBf16x2:
      return Pairs(Bf16());
    case Type::kU16x2:
    case Type::kS16x2:
      return Pairs(Integers16());
    case Type::kE4m3x2:
    case Type::kE5m2x2:
      return PairsOf8();
    default:
      break;
  }
  switch (ptx::BytesOf(type)) {
    case 1:
      return Bytes8();
    case 2:
      return Integers16();
    case 4:
      return Integers32();
    default:
      return Integers64();
  }
}

uint64_t RandomValue(Type type, std::mt19937_64& random) {
  switch (type) {
    case Type::kPred:
      return random() & 1;
    case Type::kF16:
      return RandomFloat(5, 10, random);
    case Type::kBf16:
      return RandomFloat(8, 7, random);
    case Type::kF32:
      return RandomFloat(8, 23, random);
    case Type::kF64:
      return RandomFloat(11, 52, random);
    case Type::kF16x2:
      return RandomFloat(5, 10, random) << 16 | RandomFloat(5, 10, random);
    case Type::kBf16x2:
      return RandomFloat(8, 7, random) << 16 | RandomFloat(8, 7, random);
    default:
      return RandomInteger(ptx::BytesOf(type) == 1 ? 16 : 8 * static_cast<int>(ptx::BytesOf(type)),
                           random);
  }
}

}  // namespace twinmmu::conformance

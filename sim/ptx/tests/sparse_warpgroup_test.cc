// wgmma.mma_async.sp: products of sparse matrices, as an H100 made them of the same numbers.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kSums = 4 * kThreads;

enum class Kind { kBytes, kHalf, kBfloat, kTf32 };

struct Case {
  const char* shape;
  Kind kind;
  bool floats;
  const char* operands;  // behind the metadata
  uint64_t hash;         // of the sums, thread by thread
};

// The bits of a small whole number, of so many bits of exponent and of fraction.
uint32_t FloatBits(int value, int exponent_bits, int fraction_bits) {
  if (value == 0) return 0;
  const float number = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<uint32_t>(static_cast<int>(bits >> 23 & 0xff) - 127 + bias);
  return (bits >> 31) << (exponent_bits + fraction_bits) | exponent << fraction_bits |
         (bits & 0x7fffff) >> (23 - fraction_bits);
}

int NumberOf(uint32_t index) { return static_cast<int>((index * 7919 >> 3) % 11) - 5; }

// Some elements in a word.
uint32_t WordOf(const Case& product, uint32_t index) {
  switch (product.kind) {
    case Kind::kTf32:
      return FloatBits(NumberOf(index), 8, 23);
    case Kind::kHalf:
      return FloatBits(NumberOf(2 * index), 5, 10) | FloatBits(NumberOf(2 * index + 1), 5, 10)
                                                         << 16;
    case Kind::kBfloat:
      return FloatBits(NumberOf(2 * index), 8, 7) | FloatBits(NumberOf(2 * index + 1), 8, 7) << 16;
    case Kind::kBytes:
      break;
  }
  uint32_t word = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const int number = NumberOf(4 * index + i);
    const uint32_t byte =
        product.floats ? FloatBits(number, 4, 3) : static_cast<uint32_t>(number) & 0xff;
    word |= byte << 8 * i;
  }
  return word;
}

uint32_t MetadataOf(const Case& product, uint32_t thread) {
  constexpr uint32_t kPairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
  constexpr uint32_t kHalves[] = {0x4, 0xe};
  uint32_t metadata = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t group = product.kind == Kind::kTf32
                               ? kHalves[(thread * 5 + i * 3 + thread / 7) % 2]
                               : kPairs[(thread * 5 + i * 7 + thread / 7) % 6];
    metadata |= group << 4 * i;
  }
  return metadata;
}

// a is in registers; b in shared memory, without a swizzle.
std::string BodyOf(const Case& product) {
  const char* const type = product.floats ? "f32" : "b32";
  return absl::StrCat(
      ".reg .", type, " %s<4>; .reg .pred %q; .shared .align 1024 .b8 b[512];\n",
      "mul.wide.u32 %rd3, %r1, 16; add.u64 %rd4, %rd1, %rd3;\n"
      "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd4];\n"
      "ld.global.u32 %r14, [%rd2+2048]; ld.global.u32 %r15, [%rd2+2560];\n"
      "mov.u32 %r16, b; mad.lo.u32 %r17, %r1, 4, %r16; st.shared.u32 [%r17], %r15;\n"
      "fence.proxy.async; bar.sync 0; shr.u32 %r16, %r16, 4; cvt.u64.u32 %rd5, %r16;\n"
      "add.u64 %rd5, %rd5, 0x2000080000; setp.ne.u32 %q, %r1, %r1;\n"
      "mov.b32 %s0, 0; mov.b32 %s1, 0; mov.b32 %s2, 0; mov.b32 %s3, 0;\n"
      "wgmma.fence.sync.aligned;\nwgmma.mma_async.sp.sync.aligned.",
      product.shape, " {%s0, %s1, %s2, %s3}, {%r10, %r11, %r12, %r13}, %rd5, %r14, ",
      product.operands,
      ";\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
      "add.u64 %rd4, %rd4, 4096; st.global.v4.",
      type, " [%rd4], {%s0, %s1, %s2, %s3};");
}

class SparseWarpgroupTest : public GridTest, public testing::WithParamInterface<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Shapes, SparseWarpgroupTest,
    testing::Values(
        Case{"m64n8k32.f32.f16.f16", Kind::kHalf, true, "0, %q, 1, 1, 0", 0x764d7a70bbec1633},
        Case{"m64n8k32.f32.f16.f16", Kind::kHalf, true, "1, %q, 1, 1, 0", 0x287be2a5630cc638},
        Case{"m64n8k32.f32.bf16.bf16", Kind::kBfloat, true, "0, %q, 1, 1, 0", 0x764d7a70bbec1633},
        Case{"m64n8k16.f32.tf32.tf32", Kind::kTf32, true, "0, %q, 1, 1", 0x18506cf8c36a5010},
        Case{"m64n8k16.f32.tf32.tf32", Kind::kTf32, true, "1, %q, 1, 1", 0xfdd1d51f71e82a4c},
        Case{"m64n8k64.s32.s8.s8", Kind::kBytes, false, "0, %q", 0x981ebaccea68fb44},
        Case{"m64n8k64.f32.e4m3.e4m3", Kind::kBytes, true, "0, %q, 1, 1", 0x981ebaccea68fb44}));

TEST_P(SparseWarpgroupTest, GivesTheSumsOfADevice) {
  const Case& product = GetParam();
  for (uint32_t i = 0; i < 512; ++i) Write(i, WordOf(product, i));
  for (uint32_t i = 0; i < kThreads; ++i) {
    Write(512 + i, MetadataOf(product, i));
    Write(640 + i, WordOf(product, 1000 + i));
  }
  const auto program = Load(
      absl::StrCat(".version 8.2\n.target sm_90a\n.address_size 64\n", Kernel(BodyOf(product))));
  ASSERT_NE(program, nullptr);
  grid_ = MakeGrid(program, Dim3(), Dim3{kThreads, 1, 1}, {memory().value()});
  ASSERT_EQ(grid_->Run(kEnough), Grid::State::kDone) << grid_->fault().words;
  uint64_t hash = 0xcbf29ce484222325;
  for (uint32_t i = 0; i < kSums; ++i) {
    const int sum =
        product.floats ? static_cast<int>(Read<float>(1024 + i)) : Read<int32_t>(1024 + i);
    hash = (hash ^ static_cast<uint32_t>(sum)) * 0x100000001b3;
  }
  EXPECT_EQ(hash, product.hash);
}

}  // namespace
}  // namespace twinmmu::ptx

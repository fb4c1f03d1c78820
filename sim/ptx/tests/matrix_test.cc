// Instructions on matrices, as kernels use them. What products are is tested with
// matrix_product.h.

#include "absl/strings/str_cat.h"
#include "sim/ptx/operations/float_math.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::HasSubstr;

class MatrixTest : public GridTest {
 protected:
  // Of a body for sm_90a.
  Grid::State RunBody(absl::string_view body, uint32_t threads = 32) {
    const std::string text =
        absl::StrCat(".version 8.6\n.target sm_90a\n.address_size 64\n", Kernel(body));
    program_ = Load(text);
    if (program_ == nullptr) return Grid::State::kRunning;
    grid_ = MakeGrid(program_, Dim3(), Dim3{threads, 1, 1}, {memory().value()});
    const Grid::State state = grid_->Run(kEnough);
    if (state == Grid::State::kFaulted) fault_ = grid_->fault();
    return state;
  }
  // The refusal or the error of an instruction.
  static std::string ErrorOf(absl::string_view instruction) {
    const auto parsed = Parse(
        absl::StrCat(".version 8.6\n.target sm_90a\n.address_size 64\n", Kernel(instruction)));
    if (!parsed.ok()) return std::string(parsed.status().message());
    const auto program = MakeProgram(*parsed);
    if (!program.ok()) return std::string(program.status().message());
    return (*program)->FindKernel("k")->refusal;
  }
  std::shared_ptr<const Program> program_;
};

constexpr char kFillShared[] =
    ".shared .align 128 .b8 s[1024]; mov.u32 %r9, s; mad.lo.u32 %r10, %r1, 4, %r9;\n"
    "ld.global.u32 %r11, [%rd2]; st.shared.u32 [%r10], %r11; ld.global.u32 %r11, [%rd2+128];\n"
    "st.shared.u32 [%r10+128], %r11; bar.sync 0;\n";

// Rows 2 and 3 of the matrix, wherever they lie, are held by lanes 8 to 15.
TEST_F(MatrixTest, LoadsMatrices) {
  for (uint32_t i = 0; i < 64; ++i) Write<uint32_t>(i, (2 * i) | (2 * i + 1) << 16);
  EXPECT_EQ(RunBody(absl::StrCat(kFillShared,
                                 "sub.u32 %r12, 15, %r1; and.b32 %r12, %r12, 15;\n"
                                 "mad.lo.u32 %r12, %r12, 16, %r9;\n"
                                 "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2, %r3}, [%r12];\n"
                                 "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r4}, [%r12];\n"
                                 "st.global.u32 [%rd2+256], %r2; st.global.u32 [%rd2+384], %r3;\n"
                                 "st.global.u32 [%rd2+512], %r4;")),
            Grid::State::kDone)
      << fault_.words;
  // Row i of the first matrix is row 15 - i of the memory, of 8 halves.
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t first = (15 - lane / 4) * 8 + lane % 4 * 2;
    EXPECT_EQ(Read(64 + lane), first | (first + 1) << 16) << lane;
    const uint32_t second = (7 - lane / 4) * 8 + lane % 4 * 2;
    EXPECT_EQ(Read(96 + lane), second | (second + 1) << 16) << lane;
    const uint32_t row = lane % 4 * 2;
    const uint32_t column = lane / 4;
    EXPECT_EQ(Read(128 + lane), ((15 - row) * 8 + column) | ((14 - row) * 8 + column) << 16);
  }
}

TEST_F(MatrixTest, StoresWhatItLoadedTransposed) {
  for (uint32_t i = 0; i < 32; ++i) Write<uint32_t>(i, (2 * i) | (2 * i + 1) << 16);
  EXPECT_EQ(RunBody(absl::StrCat(kFillShared,
                                 "and.b32 %r12, %r1, 7; mad.lo.u32 %r12, %r12, 16, %r9;\n"
                                 "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r12];\n"
                                 "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r12], {%r2};\n"
                                 "bar.sync 0; ld.shared.u32 %r3, [%r10];\n"
                                 "movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r2;\n"
                                 "st.global.u32 [%rd2+256], %r3; st.global.u32 [%rd2+384], %r4;")),
            Grid::State::kDone)
      << fault_.words;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t row = lane % 4 * 2;
    const uint32_t transposed = (row * 8 + lane / 4) | ((row + 1) * 8 + lane / 4) << 16;
    EXPECT_EQ(Read(64 + lane), transposed) << lane;
    EXPECT_EQ(Read(96 + lane), transposed) << lane;
  }
}

TEST_F(MatrixTest, FaultsWhereARowIsMissingOrMisaligned) {
  constexpr char kLoad[] = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r12];";
  EXPECT_EQ(RunBody(absl::StrCat(kFillShared, "add.u32 %r12, %r9, 8;", kLoad)),
            Grid::State::kFaulted);
  EXPECT_EQ(fault_.kind, GridFault::kMisalignedAddress);
  EXPECT_EQ(RunBody(absl::StrCat(kFillShared, "add.u32 %r12, %r9, 65536;", kLoad)),
            Grid::State::kFaulted);
  EXPECT_EQ(fault_.kind, GridFault::kIllegalAddress);
  // Lanes that have no row may have any address.
  EXPECT_EQ(RunBody(absl::StrCat(kFillShared,
                                 "setp.lt.u32 %p1, %r1, 8; selp.u32 %r12, %r9, 7, %p1;", kLoad)),
            Grid::State::kDone);
}

TEST_F(MatrixTest, NeedsAllThreadsOfAWarp) {
  constexpr char kMove[] = "movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r2;";
  EXPECT_EQ(RunBody(kMove, 16), Grid::State::kFaulted);
  EXPECT_EQ(fault_.kind, GridFault::kIllegalInstruction);
  EXPECT_THAT(fault_.words, HasSubstr("lane 16"));
  // They may come one after another.
  EXPECT_EQ(
      RunBody(absl::StrCat("setp.lt.u32 %p1, %r1, 7; @%p1 bra L; mov.u32 %r2, 1; L: ", kMove)),
      Grid::State::kDone);
}

// A fragment that is loaded, multiplied by one and stored is what it was.
TEST_F(MatrixTest, LoadsMultipliesAndStoresFragments) {
  for (uint32_t i = 0; i < 256; ++i) {
    Write<uint16_t>(i, i % 17 == 0 ? 0x3c00 : 0);                 // the unit matrix
    Write<uint16_t>(256 + i, static_cast<uint16_t>(0x3c00 + i));  // 1, 1 + 2^-10, ...
    Write<float>(256 + i, static_cast<float>(i));
  }
  EXPECT_EQ(
      RunBody(".reg .b32 a<8>, b<8>; .reg .f32 c<8>;\n"
              "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a0,a1,a2,a3,a4,a5,a6,a7}, "
              "[%rd1], 16;\n"
              "wmma.load.b.sync.aligned.row.m16n16k16.global.f16 {b0,b1,b2,b3,b4,b5,b6,b7}, "
              "[%rd1+512], 16;\n"
              "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {c0,c1,c2,c3,c4,c5,c6,c7}, "
              "[%rd1+1024], 16;\n"
              "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {c0,c1,c2,c3,c4,c5,c6,c7}, "
              "{a0,a1,a2,a3,a4,a5,a6,a7}, {b0,b1,b2,b3,b4,b5,b6,b7}, {c0,c1,c2,c3,c4,c5,c6,c7};\n"
              "wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%rd1+2048], "
              "{c0,c1,c2,c3,c4,c5,c6,c7}, 16;"),
      Grid::State::kDone)
      << fault_.words;
  for (uint32_t i = 0; i < 256; ++i) {
    const float expected = static_cast<float>(i) + 1 + static_cast<float>(i) / 1024;
    EXPECT_EQ(Read<float>(512 + i % 16 * 16 + i / 16), expected) << i;
  }
}

// Where none is said, the rows of a matrix lie one behind the other.
TEST_F(MatrixTest, LoadsSumsOfBitsWithoutAStride) {
  for (uint32_t i = 0; i < 64; ++i) Write(i, i);
  EXPECT_EQ(RunBody("wmma.load.c.sync.aligned.row.m8n8k128.global.s32 {%r2, %r3}, [%rd1];\n"
                    "wmma.store.d.sync.aligned.row.m8n8k128.global.s32 [%rd1+256], {%r2, %r3}, 8;"),
            Grid::State::kDone)
      << fault_.words;
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(Read(64 + i), i);
}

// Four products, each of 8 lanes, which hold their parts of the matrices as the PTX ISA has it.
TEST_F(MatrixTest, MultipliesFourPairsOfSmallMatrices) {
  const auto a = [](uint32_t product, uint32_t row, uint32_t k) {
    return 1 + product + 2 * row + k;
  };
  const auto b = [](uint32_t product, uint32_t k, uint32_t column) {
    return product + 3 * k + column;
  };
  const auto put = [&](uint32_t index, uint32_t value) {
    Write<uint16_t>(index, RoundToHalf<F16>(value).bits);
  };
  for (const bool turned : {false, true}) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t product = lane % 16 / 4;
      const uint32_t upper = lane / 16 * 4;
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t near = lane % 4;
        put(lane * 8 + i, turned ? a(product, i + upper, near) : a(product, near + upper, i));
        put(lane * 8 + 4 + i, turned ? b(product, near, i + upper) : b(product, i, near + upper));
      }
    }
    EXPECT_EQ(RunBody(absl::StrCat(
                  ".reg .f32 d<8>; .reg .b64 own, to; mul.wide.u32 own, %r1, 16;\n"
                  "add.u64 own, own, %rd1; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [own];\n"
                  "mul.wide.u32 to, %r1, 32; add.u64 to, to, %rd1; mov.f32 d0, 0f00000000;\n",
                  "mma.sync.aligned.m8n8k4.", turned ? "col.row" : "row.col", ".f32.f16.f16.f32 ",
                  "{d0,d1,d2,d3,d4,d5,d6,d7}, {%r2,%r3}, {%r4,%r5}, {d0,d0,d0,d0,d0,d0,d0,d0};\n",
                  "st.global.v4.f32 [to+4096], {d0,d1,d2,d3};\n",
                  "st.global.v4.f32 [to+4112], {d4,d5,d6,d7};")),
              Grid::State::kDone)
        << fault_.words;
    for (uint32_t i = 0; i < 256; ++i) {
      const uint32_t lane = i / 8;
      const uint32_t row = (lane & 1) + (i & 2) + lane / 16 * 4;
      const uint32_t column = (i & 4) + (lane & 2) + (i & 1);
      uint32_t sum = 0;
      for (uint32_t k = 0; k < 4; ++k) {
        sum += a(lane % 16 / 4, row, k) * b(lane % 16 / 4, k, column);
      }
      EXPECT_EQ(Read<float>(1024 + i), static_cast<float>(sum)) << turned << i;
    }
  }
}

// wgmma reads both matrices by descriptors, each warp its rows.
TEST_F(MatrixTest, MultipliesMatricesInSharedMemory) {
  // a: 64 by 16, row i is i in column 0; b: 16 by 8, row 0 is 1, 2, ... Groups of 8 lines of 16
  // bytes, two of them for the 16 columns.
  constexpr char kBody[] =
      ".shared .align 128 .b8 s[4096]; .reg .f32 d<4>; .reg .pred q;\n"
      "mov.u32 %r9, s; mad.lo.u32 %r10, %r1, 4, %r9; mov.u32 %r11, 0;\n"
      "L: setp.ge.u32 %p1, %r11, 4096; @%p1 bra M; add.u32 %r12, %r10, %r11;\n"
      "st.shared.u32 [%r12], 0; add.u32 %r11, %r11, 512; bra L; M: bar.sync 0;\n"
      "setp.lt.u32 %p2, %r1, 64; shr.u32 %r13, %r1, 3; and.b32 %r14, %r1, 7;\n"
      "mul.lo.u32 %r13, %r13, 256; mad.lo.u32 %r13, %r14, 16, %r13; add.u32 %r13, %r13, %r9;\n"
      "cvt.rn.f16.u32 %h1, %r1; @%p2 st.shared.b16 [%r13], %h1;\n"
      "setp.lt.u32 %p3, %r1, 8; mad.lo.u32 %r14, %r1, 16, %r9; add.u32 %r15, %r1, 1;\n"
      "cvt.rn.f16.u32 %h2, %r15; @%p3 st.shared.b16 [%r14+2048], %h2; bar.sync 0;\n"
      "cvt.u64.u32 %rd5, %r9; shr.u64 %rd5, %rd5, 4; add.u64 %rd6, %rd5, 0x1000080000;\n"
      "add.u64 %rd7, %rd6, 128; setp.ne.u32 q, %r1, 1000; mov.f32 d0, 0f3F800000;\n"
      "mov.f32 d1, d0; mov.f32 d2, d0; mov.f32 d3, d0;\n"
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0,d1,d2,d3}, %rd6, %rd7, q, 1, 1, 0, "
      "0;\n"
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
      "mul.wide.u32 %rd8, %r1, 16; add.u64 %rd8, %rd1, %rd8; st.global.v4.f32 [%rd8], "
      "{d0,d1,d2,d3};";
  EXPECT_EQ(RunBody(kBody, 128), Grid::State::kDone) << fault_.words;
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t row = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8;
      const uint32_t column = thread % 4 * 2 + i % 2;
      EXPECT_EQ(Read<float>(4 * thread + i), static_cast<float>(row * (column + 1) + 1)) << thread;
    }
  }
}

// A kernel whose matrices are all ones. Behind the product d0 is 16; `before` and
// `between` are what its warps do before the product and behind its commit.
std::string ProductOfOnes(const char* before, const char* between) {
  return absl::StrCat(
      ".shared .align 128 .b8 s[4096]; .shared .b32 flag; .reg .f32 d<4>; .reg .pred q;\n"
      "mov.u32 %r9, s; mad.lo.u32 %r10, %r1, 32, %r9; mov.b32 %r11, 0x3c003c00;\n"
      "st.shared.v4.u32 [%r10], {%r11, %r11, %r11, %r11}; st.shared.u32 [flag], 0;\n"
      "st.shared.v4.u32 [%r10+16], {%r11, %r11, %r11, %r11}; fence.proxy.async; bar.sync 0;\n"
      "cvt.u64.u32 %rd5, %r9; shr.u64 %rd5, %rd5, 4; add.u64 %rd6, %rd5, 0x1000080000;\n"
      "add.u64 %rd7, %rd6, 128; setp.ne.u32 q, %r1, %r1; shr.u32 %r12, %r1, 5;\n"
      "setp.eq.u32 %p1, %r12, 0; mov.u32 %r13, 0;\n",
      before,
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0,d1,d2,d3}, %rd6, %rd7, q, 1, 1, 0, 0;"
      "\nwgmma.commit_group.sync.aligned;\n",
      between, "wgmma.wait_group.sync.aligned 0; st.global.f32 [%rd2], d0;");
}

// A warp that has waited for a product knows that no other one of its warpgroup has yet to read
// what was multiplied. Here the others come late.
TEST_F(MatrixTest, WaitsForProductsOfTheWholeWarpgroup) {
  EXPECT_EQ(RunBody(ProductOfOnes("@%p1 bra P; L: add.u32 %r13, %r13, 1;\n"
                                  "setp.lt.u32 %p2, %r13, 3000; @%p2 bra L; P:\n",
                                  "wgmma.wait_group.sync.aligned 0; @!%p1 bra E;\n"
                                  "Z: add.u32 %r14, %r9, %r13; st.shared.u32 [%r14], 0;\n"
                                  "add.u32 %r13, %r13, 4; setp.lt.u32 %p2, %r13, 4096;\n"
                                  "@%p2 bra Z; E:\n"),
                    128),
            Grid::State::kDone)
      << fault_.words;
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(Read<float>(i), 16) << i;
}

// It does not wait for those that may be pending: here the others begin theirs only behind it.
TEST_F(MatrixTest, LetsProductsBePendingInOtherWarps) {
  EXPECT_EQ(RunBody(ProductOfOnes("@%p1 bra P; L: ld.volatile.shared.u32 %r13, [flag];\n"
                                  "setp.eq.u32 %p2, %r13, 0; @%p2 bra L; P:\n",
                                  "wgmma.wait_group.sync.aligned 1;\n"
                                  "@%p1 st.volatile.shared.u32 [flag], 1;\n"),
                    128),
            Grid::State::kDone)
      << fault_.words;
  EXPECT_EQ(Read<float>(0), 16);
}

// Nor for warps that have ended.
TEST_F(MatrixTest, DoesNotWaitForProductsOfWarpsThatEnded) {
  EXPECT_EQ(RunBody(ProductOfOnes("@%p1 bra P; L: add.u32 %r13, %r13, 1;\n"
                                  "setp.lt.u32 %p2, %r13, 3000; @%p2 bra L; exit; P:\n",
                                  ""),
                    128),
            Grid::State::kDone)
      << fault_.words;
  EXPECT_EQ(Read<float>(0), 16);
}

// Who waits for others says so.
TEST_F(MatrixTest, NamesWarpsThatWaitForProducts) {
  EXPECT_EQ(RunBody(ProductOfOnes("@%p1 bra P; bar.sync 1; P:\n", ""), 128), Grid::State::kFaulted);
  EXPECT_THAT(fault_.words, testing::HasSubstr("for the products of the other warps"));
}

// Both lie across, 8 rows or columns of a line of k side by side: groups of 8 lines of k are the
// leading bytes apart, groups of 8 rows or columns the stride.
TEST_F(MatrixTest, MultipliesMatricesThatLieAcrossInSharedMemory) {
  // a: 64 by 16, row i is i in column 0, and 1 in column 9; b: 16 by 8, row 0 is 1, 2, ..., and row
  // 9 is 0, 2, 4, ...
  constexpr char kBody[] =
      ".shared .align 128 .b8 s[4096]; .reg .f32 d<4>; .reg .pred q;\n"
      "mov.u32 %r9, s; mad.lo.u32 %r10, %r1, 4, %r9; mov.u32 %r11, 0;\n"
      "L: setp.ge.u32 %p1, %r11, 4096; @%p1 bra M; add.u32 %r12, %r10, %r11;\n"
      "st.shared.u32 [%r12], 0; add.u32 %r11, %r11, 512; bra L; M: bar.sync 0;\n"
      "setp.lt.u32 %p2, %r1, 64; shr.u32 %r13, %r1, 3; and.b32 %r14, %r1, 7;\n"
      "mul.lo.u32 %r13, %r13, 128; mad.lo.u32 %r13, %r14, 2, %r13; add.u32 %r13, %r13, %r9;\n"
      "cvt.rn.f16.u32 %h1, %r1; @%p2 st.shared.b16 [%r13], %h1;\n"
      "mov.b16 %h3, 0x3c00; @%p2 st.shared.b16 [%r13+1040], %h3;\n"
      "setp.lt.u32 %p3, %r1, 8; mad.lo.u32 %r14, %r1, 2, %r9; add.u32 %r15, %r1, 1;\n"
      "cvt.rn.f16.u32 %h2, %r15; @%p3 st.shared.b16 [%r14+2048], %h2;\n"
      "add.u32 %r15, %r1, %r1; cvt.rn.f16.u32 %h2, %r15; @%p3 st.shared.b16 [%r14+2192], %h2;\n"
      "fence.proxy.async; bar.sync 0; cvt.u64.u32 %rd5, %r9; shr.u64 %rd5, %rd5, 4;\n"
      "add.u64 %rd6, %rd5, 0x800400000; add.u64 %rd7, %rd5, 0x800080080;\n"
      "setp.ne.u32 q, %r1, 1000; mov.f32 d0, 0f3F800000; mov.f32 d1, d0; mov.f32 d2, d0;\n"
      "mov.f32 d3, d0; wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0,d1,d2,d3}, %rd6, %rd7, q, 1, 1, 1, "
      "1;\n"
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
      "mul.wide.u32 %rd8, %r1, 16; add.u64 %rd8, %rd1, %rd8; st.global.v4.f32 [%rd8], "
      "{d0,d1,d2,d3};";
  EXPECT_EQ(RunBody(kBody, 128), Grid::State::kDone) << fault_.words;
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t row = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8;
      const uint32_t column = thread % 4 * 2 + i % 2;
      EXPECT_EQ(Read<float>(4 * thread + i),
                static_cast<float>(row * (column + 1) + 2 * column + 1))
          << thread;
    }
  }
}

// What sm_90a has and sm_90 has not.
TEST_F(MatrixTest, KnowsWhatOneTargetHas) {
  EXPECT_EQ(ErrorOf("wgmma.fence.sync.aligned; setmaxnreg.dec.sync.aligned.u32 24;"), "");
  EXPECT_THAT(ErrorOf("setmaxnreg.dec.sync.aligned.u32 20;"), HasSubstr("multiple of 8"));
  for (const char* body : {"wgmma.fence.sync.aligned;", "setmaxnreg.dec.sync.aligned.u32 24;"}) {
    const auto parsed = Parse(Module(Kernel(body)));
    ASSERT_THAT(parsed, IsOk());
    EXPECT_THAT(std::string(MakeProgram(*parsed).status().message()), HasSubstr("sm_90a")) << body;
  }
}

TEST_F(MatrixTest, RefusesFormsThatAreNone) {
  constexpr char kOperands[] = " {%f1,%f2,%f3,%f4}, {%r2,%r3}, {%r4}, {%f1,%f2,%f3,%f4};";
  EXPECT_THAT(
      ErrorOf(absl::StrCat("mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32", kOperands)),
      HasSubstr("line 11: `mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32`: the layouts"));
  EXPECT_THAT(ErrorOf(absl::StrCat("mma.sync.aligned.m16n8k9.row.col.f32.f16.f16.f32", kOperands)),
              HasSubstr("there is no such shape"));
  EXPECT_THAT(ErrorOf(absl::StrCat("mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32", kOperands)),
              HasSubstr("different kinds"));
  EXPECT_THAT(ErrorOf(absl::StrCat("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", kOperands)),
              HasSubstr("a matrix has 2 registers, not 4"));
  EXPECT_THAT(ErrorOf(absl::StrCat("mma.aligned.m16n8k8.row.col.f32.f16.f16.f32", kOperands)),
              HasSubstr(".sync.aligned is missing"));
  EXPECT_THAT(ErrorOf("ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r2}, [%r3];"),
              HasSubstr("the forms are"));
  EXPECT_EQ(ErrorOf(absl::StrCat("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", kOperands)),
            "");
}

// Products of bits are counted, and no others.
TEST_F(MatrixTest, CountsBitsOnly) {
  constexpr char kBits[] = " {%r1,%r2}, {%r3}, {%r4}, {%r5,%r6};";
  constexpr char kBytes[] =
      " {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, {%r9,%r10}, {%r11,%r12}, "
      "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8};";
  const auto error = [](absl::string_view operation, absl::string_view form,
                        absl::string_view operands) {
    return ErrorOf(absl::StrCat("wmma.mma", operation, ".sync.aligned.row.col.", form, operands));
  };
  EXPECT_EQ(error(".xor.popc", "m8n8k128.s32.b1.b1.s32", kBits), "");
  EXPECT_EQ(error(".and.popc", "m8n8k128.s32.b1.b1.s32", kBits), "");
  EXPECT_EQ(error("", "m16n16k16.s32.s8.s8.s32", kBytes), "");
  const char* const words = ".and.popc or .xor.popc is for .b1";
  EXPECT_THAT(error("", "m8n8k128.s32.b1.b1.s32", kBits), HasSubstr(words));
  EXPECT_THAT(error(".popc", "m8n8k128.s32.b1.b1.s32", kBits), HasSubstr(words));
  EXPECT_THAT(error(".xor.popc", "m16n16k16.s32.s8.s8.s32", kBytes), HasSubstr(words));
}

}  // namespace
}  // namespace twinmmu::ptx

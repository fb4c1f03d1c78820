// Copies by tensor maps: what they move, when they are done, and where they fault.

#include "absl/strings/str_cat.h"
#include "sim/ptx/tensors/tensor_map.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// %r9: shared memory; %r10: an mbarrier; %rd3: the map. One thread.
std::string With(const std::string& body) {
  return absl::StrCat(
      ".shared .align 1024 .b8 s[4096]; .shared .align 8 .b64 m; mov.u32 %r9, s;\n"
      "mov.u32 %r10, m; add.u64 %rd3, %rd1, 65536; mbarrier.init.shared.b64 [%r10], 1;\n",
      body);
}

// A load by `form`, of `bytes`, and a copy of `words` of shared memory to the words from 8192 on.
std::string Loading(const std::string& form, int bytes, int words) {
  return With(
      absl::StrCat("mbarrier.arrive.expect_tx.shared.b64 _, [%r10], ", bytes, ";\n", form,
                   "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r10], 0;\n@!%p1 bra W;\n"
                   "add.u64 %rd4, %rd1, 32768; mov.u32 %r3, 0;\n"
                   "D: ld.shared.u32 %r4, [%r9]; st.global.u32 [%rd4], %r4; add.u32 %r9, %r9, 4;\n"
                   "add.u64 %rd4, %rd4, 4; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, ",
                   words, ";\n@%p2 bra D;"));
}

class TensorCopiesTest : public GridTest, public testing::WithParamInterface<coherence::Policy> {
 protected:
  TensorCopiesTest() : GridTest(WithPolicy(GetParam())) {
    for (uint32_t i = 0; i < 2048; ++i) Write(i, i);
  }

  // Words of 32 bits, 16 by 8 of them.
  TensorMap Words() const {
    TensorMap map;
    map.element = TensorElement::kU32;
    map.rank = 2;
    map.address = memory().value();
    map.dims = {16, 8, 1, 1, 1};
    map.strides = {64};
    map.box = {8, 2, 1, 1, 1};
    return map;
  }
  void Put(const TensorMap& map) {
    const TensorMapBits bits = Encode(map);
    for (size_t i = 0; i < bits.size(); ++i) Write(8192 + i, bits[i]);
  }
  std::vector<uint32_t> Result(uint64_t count) {
    std::vector<uint32_t> words;
    for (uint64_t i = 0; i < count; ++i) words.push_back(Read(8192 + i));
    return words;
  }
};

INSTANTIATE_TEST_SUITE_P(Policies, TensorCopiesTest,
                         testing::Values(coherence::Policy::kCoherent, coherence::Policy::kStale,
                                         coherence::Policy::kRandom));

constexpr char kLoad2d[] =
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r9], "
    "[%rd3, {%r5, %r6}], [%r10];\n";
constexpr char kStore2d[] =
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {%r5, %r6}], [%r9];\n";
constexpr char kStored[] = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n";
// Words 100, 101, ... in shared memory.
constexpr char kNumbers[] =
    "st.shared.v4.u32 [%r9], {100, 101, 102, 103}; st.shared.v4.u32 [%r9+16], {104, 105, 106, "
    "107};\nst.shared.v4.u32 [%r9+32], {108, 109, 110, 111}; st.shared.v4.u32 [%r9+48], {112, 113, "
    "114, 115}; fence.proxy.async;\n";

std::string At(int x, int y) {
  return absl::StrCat("mov.u32 %r5, ", x, "; mov.u32 %r6, ", y, ";\n");
}

TEST_P(TensorCopiesTest, LoadsABox) {
  Put(Words());
  RunKernel(Loading(At(4, 2) + kLoad2d, 64, 16), 1);
  EXPECT_THAT(Result(16),
              ElementsAre(36, 37, 38, 39, 40, 41, 42, 43, 52, 53, 54, 55, 56, 57, 58, 59));
}

// The bytes that are not of the tensor count for the mbarrier too.
TEST_P(TensorCopiesTest, FillsWhatIsOutside) {
  Put(Words());
  RunKernel(Loading(kNumbers + At(-4, 7) + kLoad2d, 64, 16), 1);
  EXPECT_THAT(Result(16), ElementsAre(0, 0, 0, 0, 112, 113, 114, 115, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST_P(TensorCopiesTest, NeedsTheTensorThoughTheBoxHasNothingOfIt) {
  TensorMap map = Words();
  Put(map);
  RunKernel(Loading(kNumbers + At(0, 8) + kLoad2d, 64, 16), 1);
  EXPECT_THAT(Result(16), Each(0u));
  map.address = Granule(1).base.value();
  Put(map);
  EXPECT_EQ(FaultOf(Loading(At(0, 8) + kLoad2d, 64, 16), 1), GridFault::kIllegalAddress);
}

TEST_P(TensorCopiesTest, FillsWithNans) {
  TensorMap map = Words();
  map.element = TensorElement::kF32;
  map.fills_with_nan = true;
  Put(map);
  RunKernel(Loading(At(0, 8) + kLoad2d, 64, 16), 1);
  EXPECT_THAT(Result(16), Each(0x7ff77ff7u));
}

// To the nearest, ties to even; what is filled stays.
TEST_P(TensorCopiesTest, RoundsToTf32) {
  const uint32_t words[] = {0x3f801000, 0x3f801001, 0x3f803000, 0x80000001,
                            0x7f7fffff, 0xffc00000, 0xff800000, 0x12345678};
  for (uint32_t i = 0; i < 8; ++i) Write(i, words[i]);
  TensorMap map = Words();
  map.element = TensorElement::kTf32;
  map.dims = {8, 1, 1, 1, 1};
  map.fills_with_nan = true;
  Put(map);
  RunKernel(Loading(At(0, 0) + kLoad2d, 64, 9), 1);
  EXPECT_THAT(Result(9), ElementsAre(0x3f800000, 0x3f802000, 0x3f804000, 0x80000000, 0x7f800000,
                                     0x7fffe000, 0xff800000, 0x12346000, 0x7ff77ff7));
}

TEST_P(TensorCopiesTest, SkipsByElementStrides) {
  TensorMap map = Words();
  map.box = {4, 5, 1, 1, 1};
  map.steps = {1, 2, 1, 1, 1};
  Put(map);
  RunKernel(Loading(At(0, 1) + kLoad2d, 48, 12), 1);
  EXPECT_THAT(Result(12), ElementsAre(16, 17, 18, 19, 48, 49, 50, 51, 80, 81, 82, 83));
}

// Pieces of 16 bytes change places by the address.
TEST_P(TensorCopiesTest, SwizzlesRows) {
  TensorMap map = Words();
  map.dims = {32, 16, 1, 1, 1};
  map.strides = {128};
  map.box = {32, 9, 1, 1, 1};
  map.swizzle = TensorSwizzle::k128;
  Put(map);
  RunKernel(Loading(At(0, 0) + kLoad2d, 9 * 128, 9 * 32), 1);
  const std::vector<uint32_t> words = Result(9 * 32);
  for (uint32_t row = 0; row < 9; ++row) {
    for (uint32_t piece = 0; piece < 8; ++piece) {
      EXPECT_EQ(words[row * 32 + (piece ^ row % 8) * 4], row * 32 + piece * 4) << row;
    }
  }
}

// A row that is shorter than its swizzle leaves room.
TEST_P(TensorCopiesTest, PadsSwizzledRows) {
  TensorMap map = Words();
  map.box = {4, 3, 1, 1, 1};
  map.swizzle = TensorSwizzle::k64;
  Put(map);
  RunKernel(Loading(At(0, 0) + kLoad2d, 48, 40), 1);
  const std::vector<uint32_t> words = Result(40);
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[16], 16u);
  EXPECT_EQ(words[36], 32u);
}

// Of a box, what is inside the tensor.
TEST_P(TensorCopiesTest, StoresABox) {
  Put(Words());
  RunKernel(With(absl::StrCat(kNumbers, At(12, 7), kStore2d, kStored)), 1);
  EXPECT_EQ(Read(123), 123u);
  EXPECT_EQ(Read(124), 100u);
  EXPECT_EQ(Read(127), 103u);
  EXPECT_EQ(Read(128), 128u);
  EXPECT_EQ(FaultOf(With(At(12, -1) + kStore2d), 1), GridFault::kIllegalInstruction);
  EXPECT_THAT(fault_.words, HasSubstr("in front of the tensor"));
}

// Where a tensor ends within 16 bytes, a load does not read what follows, but a store writes it.
TEST_P(TensorCopiesTest, StoresWholePieces) {
  TensorMap map = Words();
  map.dims = {6, 8, 1, 1, 1};
  map.box = {8, 1, 1, 1, 1};
  Put(map);
  RunKernel(Loading(At(0, 0) + kLoad2d, 32, 8), 1);
  EXPECT_THAT(Result(8), ElementsAre(0, 1, 2, 3, 4, 5, 0, 0));
  RunKernel(With(absl::StrCat(kNumbers, At(0, 0), kStore2d, kStored)), 1);
  EXPECT_THAT(ReadAll(9), ElementsAre(100, 101, 102, 103, 104, 105, 106, 107, 8));
}

TEST_P(TensorCopiesTest, StoresSwizzledRows) {
  TensorMap map = Words();
  map.box = {8, 1, 1, 1, 1};
  map.swizzle = TensorSwizzle::k32;
  Put(map);
  RunKernel(With(absl::StrCat("add.u32 %r9, %r9, 128;\n", kNumbers, At(0, 0), kStore2d, kStored)),
            1);
  EXPECT_THAT(ReadAll(9), ElementsAre(104, 105, 106, 107, 100, 101, 102, 103, 8));
}

TEST_P(TensorCopiesTest, ReducesABox) {
  Put(Words());
  RunKernel(
      With(absl::StrCat(kNumbers, At(0, 7),
                        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "
                        "[%rd3, {%r5, %r6}], [%r9];\n",
                        kStored)),
      1);
  EXPECT_EQ(Read(112), 112u + 100u);
  EXPECT_EQ(Read(119), 119u + 107u);
  EXPECT_EQ(Read(120), 120u);
  EXPECT_EQ(Read(128), 128u);
}

// The pixels of a bounding box that begins one before the image, and ends one before its end; each
// two to the right and one below.
TEST_P(TensorCopiesTest, LoadsAColumn) {
  TensorMap map = Words();
  map.rank = 4;
  map.dims = {8, 6, 5, 3, 1};
  map.strides = {32, 256, 2048};
  map.im2col = true;
  map.lower = {-1, -1};
  map.upper = {-1, -1};
  map.box[0] = 4;
  map.pixels = 10;
  Put(map);
  const std::string load =
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r9], "
      "[%rd3, {0, %r5, %r6, 0}], [%r10], {2, 1};\n";
  RunKernel(Loading(At(-1, -1) + load, 160, 40), 1);
  std::vector<uint32_t> first;
  for (uint32_t pixel = 0; pixel < 10; ++pixel) first.push_back(Result(40)[pixel * 4]);
  EXPECT_THAT(first, ElementsAre(8, 16, 24, 32, 40, 0, 72, 80, 88, 96));
  EXPECT_EQ(FaultOf(With(At(5, -1) + load), 1), GridFault::kIllegalInstruction);
  EXPECT_THAT(fault_.words, HasSubstr("outside the box of pixels"));
}

// A store has no offsets, and no pixels in front of the image.
TEST_P(TensorCopiesTest, StoresAColumn) {
  TensorMap map = Words();
  map.rank = 3;
  map.dims = {8, 6, 3, 1, 1};
  map.strides = {32, 256};
  map.im2col = true;
  map.upper = {-4};
  map.box[0] = 4;
  map.pixels = 3;
  Put(map);
  const std::string store =
      "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%rd3, {4, 1, 0}], "
      "[%r9];\n";
  RunKernel(With(absl::StrCat(kNumbers, store, kStored)), 1);
  EXPECT_EQ(Read(12), 100u);
  EXPECT_EQ(Read(15), 103u);
  EXPECT_EQ(Read(16), 16u);
  EXPECT_EQ(Read(64 + 4), 104u);
  EXPECT_EQ(Read(64 + 12), 108u);
  map.lower = {-1};
  Put(map);
  EXPECT_EQ(FaultOf(With(store), 1), GridFault::kIllegalInstruction);
}

// Pixels of 16 bytes, whatever the element is, of one slice, whatever the box says.
TEST_P(TensorCopiesTest, LoadsPixelsOfAnInterleavedMap) {
  TensorMap map = Words();
  map.interleave = TensorInterleave::k16;
  map.rank = 3;
  map.dims = {4, 3, 2, 1, 1};
  map.strides = {64, 256};
  map.box = {2, 7, 2, 1, 1};
  Put(map);
  RunKernel(Loading("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::"
                    "bytes [%r9], [%rd3, {1, 1, 0}], [%r10];\n",
                    64, 16),
            1);
  EXPECT_THAT(Result(16),
              ElementsAre(20, 21, 22, 23, 24, 25, 26, 27, 84, 85, 86, 87, 88, 89, 90, 91));
  map.rank = 2;
  Put(map);
  EXPECT_EQ(FaultOf(With(At(0, 0) + kLoad2d), 1), GridFault::kIllegalInstruction);
  EXPECT_THAT(fault_.words, HasSubstr("less than rank 3"));
}

TEST_P(TensorCopiesTest, FaultsWhereTheTensorIsNotMapped) {
  TensorMap map = Words();
  map.address = (memory() + kGranule).value() - 64;
  Put(map);
  RunKernel(Loading(At(0, -1) + kLoad2d, 64, 8), 1);
  EXPECT_EQ(FaultOf(With(At(0, 0) + kLoad2d), 1), GridFault::kIllegalAddress);
  EXPECT_EQ(fault_.address, memory() + kGranule);
  EXPECT_THAT(fault_.place.instruction, HasSubstr("cp.async.bulk.tensor.2d"));
}

TEST_P(TensorCopiesTest, FaultsWhereTheMapIsNotMapped) {
  EXPECT_EQ(FaultOf(With("mov.u64 %rd3, 4096;\n" + At(0, 0) + kLoad2d), 1),
            GridFault::kIllegalAddress);
}

TEST_P(TensorCopiesTest, FaultsOfMapsThatDoNotFit) {
  TensorMap map = Words();
  map.rank = 3;
  Put(map);
  EXPECT_EQ(FaultOf(With(At(0, 0) + kLoad2d), 1), GridFault::kIllegalInstruction);
  EXPECT_THAT(fault_.words, HasSubstr("of rank 3"));
  map.im2col = true;
  map.dims = {16, 8, 1, 1, 1};
  Put(map);
  EXPECT_EQ(FaultOf(With("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%rd3, {0, 0, "
                         "0}], [%r9];\n"),
                    1),
            GridFault::kIllegalInstruction);
  EXPECT_THAT(fault_.words, HasSubstr("is one of im2col"));
}

TEST_P(TensorCopiesTest, FaultsWhereSomethingIsNotAligned) {
  Put(Words());
  EXPECT_EQ(FaultOf(With("add.u32 %r9, %r9, 64;\n" + At(0, 0) + kLoad2d), 1),
            GridFault::kMisalignedAddress);
  EXPECT_EQ(FaultOf(With("add.u64 %rd3, %rd3, 32;\n" + At(0, 0) + kLoad2d), 1),
            GridFault::kMisalignedAddress);
  EXPECT_EQ(FaultOf(With(At(2, 0) + kLoad2d), 1), GridFault::kIllegalInstruction);
  EXPECT_THAT(fault_.words, HasSubstr("no multiple of 16 bytes"));
}

// By way of shared memory, as kernels do that make maps for their tiles.
TEST_P(TensorCopiesTest, ReplacesFieldsOfAMap) {
  Put(Words());
  const std::string kernel = Kernel(
      ".shared .align 128 .b8 s[4096]; .shared .align 8 .b64 m; mov.u32 %r9, s; mov.u32 %r10, m;\n"
      "add.u64 %rd3, %rd1, 65536; add.u64 %rd4, %rd3, %rd2; sub.u64 %rd4, %rd4, %rd1;\n"
      "ld.global.u32 %r3, [%rd4]; mad.lo.u32 %r4, %r1, 4, %r9; st.shared.u32 [%r4], %r3;\n"
      "bar.warp.sync -1; setp.eq.u32 %p3, %r1, 0; add.u64 %rd5, %rd1, 1024;\n"
      "@%p3 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r9], 1, 1;\n"
      "@%p3 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r9], %rd5;\n"
      "bar.warp.sync -1; add.u64 %rd3, %rd3, 128;\n"
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
      "[%rd3], [%r9], 128;\n"
      "fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;\n"
      "@!%p3 bra E; mbarrier.init.shared.b64 [%r10], 1; fence.proxy.async;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r10], 32;\n" +
      At(0, 0) + kLoad2d +
      "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r10], 0;\n@!%p1 bra W;\n"
      "ld.shared.u32 %r4, [%r9+28]; st.global.u32 [%rd1], %r4; E:\n");
  const auto program =
      Load(absl::StrCat(".version 8.3\n.target sm_90a\n.address_size 64\n", kernel));
  ASSERT_NE(program, nullptr);
  grid_ = MakeGrid(program, Dim3(), Dim3{32, 1, 1}, {memory().value()});
  EXPECT_EQ(grid_->Run(kEnough), Grid::State::kDone) << grid_->fault().words;
  EXPECT_EQ(Read(0), 256u + 7u);
}

// A copy may not see what is stored without a fence; that is said once, however many rows there
// are.
TEST_P(TensorCopiesTest, FindsAMissingFence) {
  TensorMap map = Words();
  map.swizzle = TensorSwizzle::k32;
  Put(map);
  RunKernel(With(absl::StrCat("st.shared.u32 [%r9], 7; st.shared.u32 [%r9+32], 8;\n", At(0, 0),
                              kStore2d, kStored)),
            1);
  ASSERT_EQ(hazards_.size(), 1u);
  EXPECT_TRUE(hazards_[0].shared);
}

// Before a load is waited for, what it writes is not read.
TEST_P(TensorCopiesTest, FindsAMissingWait) {
  Put(Words());
  RunKernel(With("mbarrier.arrive.expect_tx.shared.b64 _, [%r10], 64;\n" + At(0, 0) + kLoad2d +
                 "ld.shared.u32 %r4, [%r9+60]; st.global.u32 [%rd1+4096], %r4;"),
            1);
  EXPECT_EQ(hazards_.size(), 1u);
}

// Each block of the cluster gets the box, and its own mbarrier the bytes.
TEST_P(TensorCopiesTest, LoadsABoxForSeveralBlocks) {
  Put(Words());
  const std::string kernel = absl::StrCat(
      ".visible .entry k(.param .u64 p) .reqnctapercluster 2\n{\n"
      ".reg .pred %p<4>; .reg .b16 %h1; .reg .b32 %r<20>; .reg .b64 %rd<8>;\n"
      ".shared .align 128 .b8 s[128]; .shared .align 8 .b64 m;\n"
      "ld.param.u64 %rd1, [p]; add.u64 %rd3, %rd1, 65536; mov.u32 %r9, s; mov.u32 %r10, m;\n"
      "mbarrier.init.shared.b64 [%r10], 1; fence.mbarrier_init.release.cluster;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r10], 64;\n"
      "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
      "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p2, %r1, 0; mov.b16 %h1, 3;\n"
      "mov.u32 %r5, 0; mov.u32 %r6, 1;\n"
      "@%p2 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
      "cluster [%r9], [%rd3, {%r5, %r6}], [%r10], %h1;\n"
      "W: mbarrier.try_wait.parity.shared.b64 %p1, [%r10], 0;\n@!%p1 bra W;\n"
      "ld.shared.u32 %r7, [%r9+28]; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd4, %rd4, %rd1;\n"
      "st.global.u32 [%rd4], %r7;\n"
      "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;\n}\n");
  EXPECT_EQ(Run(kernel, Dim3{2, 1, 1}, Dim3()), Grid::State::kDone) << fault_.words;
  EXPECT_THAT(ReadAll(2), ElementsAre(23, 23));
}

}  // namespace
}  // namespace twinmmu::ptx

// Copies by tensor maps: what they move, when they are done, and where they fault.

#include "sim/ptx/tensors/tensor_map.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Profile WithPolicy(coherence::Policy policy) {
  Profile profile = Profile::ReferenceH200(2);
  profile.alias_policy = policy;
  return profile;
}

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
    map.box = {4, 2, 1, 1, 1};
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

TEST_P(TensorCopiesTest, LoadsABox) {
  Put(Words());
  RunKernel(Loading(absl::StrCat("mov.u32 %r5, 3; mov.u32 %r6, 2;\n", kLoad2d), 32, 8), 1);
  EXPECT_THAT(Result(8), ElementsAre(35, 36, 37, 38, 51, 52, 53, 54));
}

// The bytes that are not of the tensor count for the mbarrier too.
TEST_P(TensorCopiesTest, FillsWhatIsOutside) {
  Put(Words());
  RunKernel(Loading(absl::StrCat("mov.u32 %r5, -2; mov.u32 %r6, 7;\n", kLoad2d), 32, 8), 1);
  EXPECT_THAT(Result(8), ElementsAre(0, 0, 112, 113, 0, 0, 0, 0));
}

constexpr char kStore2d[] =
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {%r5, %r6}], [%r9];\n";
// Words 100, 101, ... in shared memory.
constexpr char kNumbers[] =
    "st.shared.v4.u32 [%r9], {100, 101, 102, 103}; st.shared.v4.u32 [%r9+16], {104, 105, 106, "
    "107}; fence.proxy.async;\n";
constexpr char kStored[] = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n";

// Of a box, what is inside the tensor.
TEST_P(TensorCopiesTest, StoresABox) {
  Put(Words());
  RunKernel(With(absl::StrCat(kNumbers, "mov.u32 %r5, 14; mov.u32 %r6, -1;\n", kStore2d, kStored)),
            1);
  EXPECT_EQ(Read(13), 13u);
  EXPECT_EQ(Read(14), 104u);
  EXPECT_EQ(Read(15), 105u);
  EXPECT_EQ(Read(16), 16u);
}

TEST_P(TensorCopiesTest, ReducesABox) {
  Put(Words());
  RunKernel(With(absl::StrCat(
                kNumbers, "mov.u32 %r5, 0; mov.u32 %r6, 7;\n",
                "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd3, "
                "{%r5, %r6}], [%r9];\n",
                kStored)),
            1);
  EXPECT_EQ(Read(112), 112u + 100u);
  EXPECT_EQ(Read(115), 115u + 103u);
  EXPECT_EQ(Read(116), 116u);
  EXPECT_EQ(Read(128), 128u);
}

// Memory that no box reaches need not be there.
TEST_P(TensorCopiesTest, FaultsWhereTheTensorIsNotMapped) {
  TensorMap map = Words();
  map.address = (memory() + kGranule).value() - 64;
  Put(map);
  RunKernel(Loading(absl::StrCat("mov.u32 %r5, 0; mov.u32 %r6, -1;\n", kLoad2d), 32, 8), 1);
  EXPECT_EQ(FaultOf(With(absl::StrCat("mov.u32 %r5, 0; mov.u32 %r6, 0;\n", kLoad2d)), 1),
            GridFault::kIllegalAddress);
  EXPECT_EQ(fault_.address, memory() + kGranule);
  EXPECT_THAT(fault_.place.instruction, HasSubstr("cp.async.bulk.tensor.2d"));
}

TEST_P(TensorCopiesTest, FaultsWhereTheMapIsNotMapped) {
  EXPECT_EQ(
      FaultOf(With(absl::StrCat("mov.u64 %rd3, 4096; mov.u32 %r5, 0; mov.u32 %r6, 0;\n", kLoad2d)),
              1),
      GridFault::kIllegalAddress);
}

TEST_P(TensorCopiesTest, FaultsOfAMapOfAnotherRank) {
  TensorMap map = Words();
  map.rank = 3;
  Put(map);
  EXPECT_EQ(FaultOf(With(absl::StrCat("mov.u32 %r5, 0; mov.u32 %r6, 0;\n", kLoad2d)), 1),
            GridFault::kIllegalInstruction);
  EXPECT_THAT(fault_.words, HasSubstr("of rank 3"));
}

TEST_P(TensorCopiesTest, FaultsWhereABoxIsNotAligned) {
  Put(Words());
  EXPECT_EQ(FaultOf(With(absl::StrCat("mov.u32 %r5, 0; mov.u32 %r6, 0; add.u32 %r9, %r9, 16;\n",
                                      kLoad2d)),
                    1),
            GridFault::kMisalignedAddress);
}

}  // namespace
}  // namespace twinmmu::ptx

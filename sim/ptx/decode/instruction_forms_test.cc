// Which forms an instruction has: limits of its constants, its modifiers, and from when on it is
// there.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/ptx/decode/one_instruction.h"

namespace twinmmu::ptx {
namespace {

using ::testing::HasSubstr;

// In PTX for an older machine an instruction of a newer one is refused, with the first that has it.
void ExpectFirstTarget(absl::string_view instruction, absl::string_view before,
                       absl::string_view words) {
  EXPECT_EQ(StatusOfOne(instruction), absl::OkStatus()) << instruction;
  const absl::Status status = StatusOfOne(instruction, "8.1", before);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << instruction;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(words))) << instruction;
}

TEST(StackFormsTest, AnAlignmentIsAPowerOfTwoUpTo8MiB) {
  ExpectTaken({"alloca.u64 %rd1, 8, 1", "alloca.u64 %rd1, 8, 0x800000", "alloca.u32 %r1, 8"});
  ExpectRefused({"alloca.u64 %rd1, 8, 0", "alloca.u64 %rd1, 8, 24", "alloca.u64 %rd1, 8, 0x1000000",
                 "alloca.u64 %rd1, 8, %rd2", "alloca.u64 %rd1, 8, 0f00000008"},
                "the alignment is a constant, a power of two up to 2^23");
}

TEST(StackFormsTest, AddressesAreUnsigned) {
  ExpectTaken({"stacksave.u32 %r1", "stackrestore.u32 %r1"});
  ExpectRefused({"alloca.s64 %rd1, 8", "stacksave.b64 %rd1", "stackrestore.s32 %r1"},
                "the type is .u32 or .u64");
}

TEST(StackFormsTest, AreThereFromSm52On) {
  ExpectFirstTarget("stacksave.u64 %rd1", "sm_50", "from sm_52 on");
}

TEST(RegisterCountTest, IsAMultipleOf8From24To256) {
  ExpectTaken({"setmaxnreg.inc.sync.aligned.u32 256", "setmaxnreg.dec.sync.aligned.s32 24"});
  ExpectRefused({"setmaxnreg.inc.sync.aligned.u32 16", "setmaxnreg.inc.sync.aligned.u32 264",
                 "setmaxnreg.inc.sync.aligned.u32 28", "setmaxnreg.inc.sync.aligned.u32 %r1"},
                "a multiple of 8 from 24 to 256");
}

TEST(RegisterCountTest, HasOneForm) {
  ExpectRefused({"setmaxnreg.sync.aligned.u32 64", "setmaxnreg.inc.aligned.u32 64",
                 "setmaxnreg.inc.sync.u32 64", "setmaxnreg.inc.sync.aligned.b32 64"},
                ".inc and .dec of .sync.aligned.u32");
  ExpectFirstTarget("setmaxnreg.inc.sync.aligned.u32 64", "sm_90", "from sm_90a on");
  ExpectFirstTarget("setmaxnreg.inc.sync.aligned.u32 64", "sm_80a", "from sm_90a on");
}

TEST(CachePolicyTest, AFractionIsAbove0AndAtMost1) {
  ExpectTaken({"createpolicy.fractional.L2::evict_first.b64 %rd1, 0f3F800000",
               "createpolicy.fractional.L2::evict_first.b64 %rd1, 0d3FE0000000000000",
               "createpolicy.range.L2::evict_first.b64 %rd1, [%rd2], 64, 128"});
  ExpectRefused({"createpolicy.fractional.L2::evict_first.b64 %rd1, 0f00000000",
                 "createpolicy.fractional.L2::evict_first.b64 %rd1, 0f40000000",
                 "createpolicy.fractional.L2::evict_first.b64 %rd1, 0d3FF8000000000000",
                 "createpolicy.fractional.L2::evict_first.b64 %rd1, 0fBF000000"},
                "the fraction is in (0, 1]");
}

TEST(CachePolicyTest, NamesAKindAndAPriority) {
  ExpectRefused(
      {"createpolicy.L2::evict_first.b64 %rd1", "createpolicy.fractional.L2::evict_first.u64 %rd1"},
      "fractional, range or cvt, or .b64 is missing");
  ExpectRefused({"createpolicy.fractional.global.L2::evict_first.b64 %rd1"},
                ".fractional has no space");
  ExpectRefused({"createpolicy.fractional.b64 %rd1"}, "the priority is missing");
  ExpectFirstTarget("createpolicy.cvt.L2.b64 %rd1, %rd2", "sm_75", "from sm_80 on");
}

TEST(AsyncCopyFormsTest, MovesAtMostWhatItCopies) {
  ExpectTaken({"cp.async.ca.shared.global [%r1], [%rd1], 4, 4",
               "cp.async.ca.shared.global [%r1], [%rd1], 8, 0",
               "cp.async.ca.shared.global [%r1], [%rd1], 16, %r2",
               "cp.async.ca.shared.global [%r1], [%rd1], 4, %p1"});
  ExpectRefused({"cp.async.ca.shared.global [%r1], [%rd1], 4, 5"}, "it reads 5 of 4 bytes");
}

TEST(AsyncCopyFormsTest, CopiesLessThan16BytesToAllLevelsOnly) {
  ExpectTaken({"cp.async.cg.shared.global [%r1], [%rd1], 16"});
  ExpectRefused(
      {"cp.async.cg.shared.global [%r1], [%rd1], 8", "cp.async.cg.shared.global [%r1], [%rd1], 4",
       "cp.async.ca.shared.global [%r1], [%rd1], 2"},
      "cp.async.ca copies 4, 8 or 16 bytes, cp.async.cg 16");
}

TEST(BulkCopyFormsTest, GoesBetweenGlobalAndSharedMemory) {
  ExpectRefused(
      {"cp.async.bulk.global.global.bulk_group [%rd1], [%rd2], 16",
       "cp.async.bulk.global.bulk_group [%rd1], [%r1], 16", "cp.async.bulk [%rd1], [%r1], 16"},
      "there is no bulk copy of this form");
}

TEST(BulkCopyFormsTest, IsPrefetchedFromGlobalMemory) {
  ExpectRefused({"cp.async.bulk.prefetch.global [%rd1], 16", "cp.async.bulk.prefetch.L2 [%rd1], 16",
                 "cp.async.bulk.prefetch.L2.shared::cta [%r1], 16"},
                "L2.global is missing");
}

TEST(BulkReductionFormsTest, HalvesAreAddedWithoutFlushing) {
  const std::string form = "cp.reduce.async.bulk.global.shared::cta.bulk_group";
  for (const char* const type : {"f16", "bf16"}) {
    EXPECT_EQ(StatusOfOne(absl::StrCat(form, ".add.noftz.", type, " [%rd1], [%r1], 16")),
              absl::OkStatus());
    EXPECT_THAT(
        std::string(StatusOfOne(absl::StrCat(form, ".add.", type, " [%rd1], [%r1], 16")).message()),
        HasSubstr(absl::StrCat("there is no bulk 'add' of .", type)));
    EXPECT_EQ(StatusOfOne(absl::StrCat(form, ".min.", type, " [%rd1], [%r1], 16")),
              absl::OkStatus());
  }
}

TEST(AsyncStoreFormsTest, StoresWordsOf4Or8Bytes) {
  const std::string store = "st.async.shared::cluster.mbarrier::complete_tx::bytes";
  EXPECT_EQ(StatusOfOne(absl::StrCat(store, ".b64 [%r1], %rd1, [%r2]")), absl::OkStatus());
  for (const char* const type : {"b8", "b16"}) {
    EXPECT_THAT(
        std::string(StatusOfOne(absl::StrCat(store, ".", type, " [%r1], %h1, [%r2]")).message()),
        HasSubstr("there is no such form of ."));
  }
}

TEST(AsyncStoreFormsTest, AVectorHasAsManyElementsAsItSays) {
  ExpectTaken(
      {"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r1], {%r3, %r4}, "
       "[%r2]"});
  ExpectRefused({"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r1], "
                 "{%r3, %r4, %r5}, [%r2]",
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r1], {%r3}, [%r2]",
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r1], %r3, [%r2]"},
                "the value is not a vector of 2");
}

TEST(MbarrierFormsTest, BytesAreExpectedFromPtx80On) {
  const absl::string_view arrival = "mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r1], 2";
  EXPECT_EQ(StatusOfOne(arrival, "8.0", "sm_90"), absl::OkStatus());
  EXPECT_THAT(std::string(StatusOfOne(arrival, "7.8", "sm_90").message()),
              HasSubstr("from PTX 8.0 and sm_90 on"));
}

TEST(VectorMoveFormsTest, BothAreVectorsOfThatSize) {
  ExpectTaken({"mov.v2.u32 {%r1, %r2}, {%r3, %r4}"});
  ExpectRefused({"mov.v2.u32 {%r1, %r2}, {%r3, %r4, %r5, %r6}", "mov.v2.u32 %r1, {%r3, %r4}",
                 "mov.v2.u32 {%r1, %r2}, %r3", "mov.v2.u32 {%r1, %r2, %r5, %r6}, {%r3, %r4}",
                 "mov.v2.u32 %r1|%r2, {%r3, %r4}", "mov.v2.u32 {%r1, %r2}, %r3|%r4"},
                "it is of vectors of 2");
}

TEST(VectorMoveFormsTest, PartsMakeUpTheWhole) {
  ExpectTaken(
      {"mov.b16 {%h1, %h2}, %h3", "mov.b16 %h3, {%h1, %h2}", "mov.b32 {%h1, %h2, %h3, %h4}, %r1"});
  ExpectRefused({"mov.b16 {%h1, %h2, %h3, %h4}, %h5", "mov.b16 %h5, {%h1, %h2, %h3, %h4}"},
                "a vector of 4 does not make up that");
  ExpectRefused({"mov.b32 {%h1, %h2, %h3}, %r1"}, "a vector of 3 does not make up that");
  ExpectRefused({"mov.pred {%r1, %r2}, %p1", "mov.pred %p1, {%r1, %r2}"},
                "a vector of 2 does not make up that");
}

TEST(WideFormsTest, MostInstructionsHaveNoValuesOf128Bits) {
  for (const char* const instruction : {"red.global.add.b128 [%rd1], %rd2", "alloca.b128 %rd1, 8",
                                        "match.any.sync.b128 %r1, %rd1, -1"}) {
    EXPECT_THAT(std::string(StatusOfOne(instruction).message()),
                HasSubstr("values of 128 bits are not supported"))
        << instruction;
  }
}

TEST(AtomicVectorFormsTest, HaveAsManyElementsAsTheySay) {
  ExpectTaken({"atom.global.v2.f32.add {%f1, %f2}, [%rd1], {%f3, %f4}",
               "red.global.v2.f32.add [%rd1], {%f1, %f2}"});
  ExpectRefused(
      {"atom.global.v2.f32.add {%f1, %f2}, [%rd1], {%f3}",
       "atom.global.v2.f32.add {%f1, %f2}, [%rd1], {%f3, %f4, %f5, %f6}",
       "atom.global.v2.f32.add {%f1}, [%rd1], {%f3, %f4}", "red.global.v2.f32.add [%rd1], {%f1}",
       "red.global.v2.f32.add [%rd1], %f1", "red.global.v2.f32.add [%rd1], {%f1, %f2, %f3, %f4}"},
      "the values are not a vector of 2");
}

TEST(MulticastFormsTest, HaveAsManyElementsAsTheySay) {
  ExpectTaken({"multimem.st.relaxed.sys.global.v2.f32 [%rd1], {%f1, %f2}",
               "multimem.ld_reduce.relaxed.sys.global.add.v2.f32 {%f1, %f2}, [%rd1]",
               "multimem.st.relaxed.sys.global.f32 [%rd1], %f1"});
  ExpectRefused({"multimem.st.relaxed.sys.global.v2.f32 [%rd1], {%f1, %f2, %f3, %f4}",
                 "multimem.st.relaxed.sys.global.v2.f32 [%rd1], {%f1}",
                 "multimem.st.relaxed.sys.global.v2.f32 [%rd1], %f1",
                 "multimem.ld_reduce.relaxed.sys.global.add.v2.f32 {%f1}, [%rd1]"},
                "the elements are not a vector of 2");
}

TEST(ConversionFormsTest, RegistersMayBeWiderThanTheirValues) {
  ExpectTaken({"cvt.u16.u8 %rd1, %r1", "cvt.u32.u16 %rd1, %r1"});
  ExpectRefused({"cvt.u32.u16 %h1, %h2"}, "'%h1' is .b16, not .u32");
  ExpectRefused({"cvt.u16.u32 %h1, %h2"}, "'%h2' is .b16, not .u32");
}

TEST(ConversionFormsTest, IntegersAreAsWideAsTheirRegistersWithBf16) {
  ExpectTaken({".reg .b8 %b; cvt.rzi.s8.bf16 %b, %h1", ".reg .b8 %b; cvt.rn.bf16.u8 %h1, %b",
               "cvt.rzi.s16.bf16 %h1, %h2"});
  ExpectRefused(
      {"cvt.rzi.s8.bf16 %h1, %h2", "cvt.rn.bf16.u8 %h1, %r1", "cvt.rzi.s16.bf16 %r1, %h1"},
      "a register is wider than the integer, which it may not be with bf16");
  ExpectRefused({".reg .b8 %b; cvt.rzi.s16.bf16 %b, %h1", "cvt.rn.bf16.u32 %h1, %h2"},
                "a register is narrower than what it holds");
}

TEST(BranchFormsTest, MayBeOfAllThreads) {
  ExpectTaken({"bra.uni E", "T: .branchtargets E; brx.idx.uni %r1, T",
               "P: .callprototype _ (); call.uni %rd1, (), P", "ret.uni"});
}

}  // namespace
}  // namespace twinmmu::ptx

// cp.async, cp.async.bulk: what they copy, when they are done, and where they fault.

#include "absl/strings/str_cat.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// %r9: shared memory of 1024 bytes; %r10: an mbarrier.
std::string With(const std::string& body) {
  return absl::StrCat(
      ".shared .align 128 .b8 s[1024]; .shared .align 8 .b64 m; mov.u32 %r9, s; mov.u32 %r10, m;\n",
      body);
}

constexpr char kInit[] =
    "setp.eq.u32 %p3, %r1, 0; @%p3 mbarrier.init.shared.b64 [%r10], 1; bar.sync 0;\n";
constexpr char kWait[] =
    "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r10], 0;\n@!%p1 bra W;\n";
constexpr char kBulkLoad[] =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%rd1], %r2, "
    "[%r10];\n";

class AsyncCopiesTest : public GridTest, public testing::WithParamInterface<coherence::Policy> {
 protected:
  AsyncCopiesTest() : GridTest(WithPolicy(GetParam())) {}
};

INSTANTIATE_TEST_SUITE_P(Policies, AsyncCopiesTest,
                         testing::Values(coherence::Policy::kCoherent, coherence::Policy::kStale,
                                         coherence::Policy::kRandom));

// Each thread's own copies are there when it has waited for them.
TEST_P(AsyncCopiesTest, CopiesToSharedMemory) {
  for (uint32_t i = 0; i < 128; ++i) Write(i, i + 1);
  RunKernel(
      With("shl.b32 %r3, %r1, 4; add.u32 %r4, %r9, %r3; mul.wide.u32 %rd3, %r1, 16;\n"
           "add.u64 %rd3, %rd1, %rd3; cp.async.cg.shared.global [%r4], [%rd3], 16;\n"
           "cp.async.commit_group; cp.async.wait_group 0;\n"
           "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4]; add.u32 %r5, %r5, %r8;\n"
           "st.global.u32 [%rd2+1024], %r5;"));
  EXPECT_EQ(Read(256), 1u + 4u);
  EXPECT_EQ(Read(287), 125u + 128u);
}

// Bytes that are not read become zeros, and need not be there.
TEST_P(AsyncCopiesTest, FillsWithZeros) {
  for (uint32_t i = 0; i < 8; ++i) Write(i, ~0u);
  RunKernel(With("st.shared.v4.u32 [%r9], {1, 2, 3, 4};\n"
                 "mov.u32 %r3, 5; cp.async.ca.shared.global [%r9], [%rd1], 8, %r3;\n"
                 "setp.eq.u32 %p2, %r1, %r1; mov.u64 %rd3, 64;\n"
                 "cp.async.ca.shared.global [%r9+8], [%rd3], 4, %p2;\n"
                 "cp.async.ca.shared.global.L2::128B [%r9+12], [%rd1], 4;\ncp.async.wait_all;\n"
                 "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r9];\n"
                 "st.global.v4.u32 [%rd1+1024], {%r5, %r6, %r7, %r8};"),
            1);
  EXPECT_EQ(Read(256), ~0u);
  EXPECT_EQ(Read(257), 0xffu);
  EXPECT_EQ(Read(258), 0u);
  EXPECT_EQ(Read(259), ~0u);
}

// An mbarrier gets an arrival when the copies of a thread are done.
TEST_P(AsyncCopiesTest, ArrivesAfterCopies) {
  for (uint32_t i = 0; i < 32; ++i) Write(i, i + 7);
  RunKernel(
      With("setp.eq.u32 %p3, %r1, 0; @%p3 mbarrier.init.shared.b64 [%r10], 64; bar.warp.sync -1;\n"
           "shl.b32 %r3, %r1, 2; add.u32 %r4, %r9, %r3;\n"
           "cp.async.ca.shared.global [%r4], [%rd2], 4;\n"
           "cp.async.mbarrier.arrive.noinc.shared.b64 [%r10];\n"
           "cp.async.mbarrier.arrive.shared::cta.b64 [%r10];\n"
           "mbarrier.arrive.shared.b64 _, [%r10];\n") +
      kWait + "xor.b32 %r4, %r4, 124; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd2+1024], %r5;");
  EXPECT_EQ(Read(256), 31u + 7u);
  EXPECT_EQ(Read(287), 7u);
}

// The toolkit's cuda::ptx::cp_async_mbarrier_arrive names an address of shared memory without
// saying so, of 32 bits. Measured on an H200, and of 64 bits, too.
TEST_P(AsyncCopiesTest, ArrivesAtAnAddressOfSharedMemoryWhateverItsSpace) {
  RunKernel(With("mbarrier.init.shared.b64 [%r10], 3; cvt.u64.u32 %rd3, %r10;\n"
                 "cp.async.mbarrier.arrive.noinc.b64 [%r10]; mbarrier.arrive.b64 _, [%rd3];\n"
                 "cp.async.mbarrier.arrive.noinc.b64 [%rd3];\n") +
                kWait + "st.global.u32 [%rd1], 5;",
            1);
  EXPECT_EQ(Read(0), 5u);
}

// A bulk copy to shared memory gives its bytes to an mbarrier.
TEST_P(AsyncCopiesTest, CopiesInBulkToSharedMemory) {
  for (uint32_t i = 0; i < 256; ++i) Write(i, i + 3);
  RunKernel(With(kInit) +
                "mov.u32 %r2, 1024;\n@%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%r10], %r2;\n"
                "@%p3 " +
                kBulkLoad + kWait +
                "shl.b32 %r3, %r1, 2; add.u32 %r4, %r9, %r3; ld.shared.u32 %r5, [%r4+512];\n"
                "st.global.u32 [%rd2+2048], %r5;",
            64);
  EXPECT_EQ(Read(512), 131u);
  EXPECT_EQ(Read(575), 194u);
}

// A bulk copy from shared memory is done when the thread has waited for its group; one that crosses
// from a mapping to the next is as any other.
TEST_P(AsyncCopiesTest, CopiesInBulkFromSharedMemoryAcrossMappings) {
  MapGranule(1, Access::kReadWrite);
  RunKernel(With("shl.b32 %r3, %r1, 2; add.u32 %r4, %r9, %r3; st.shared.u32 [%r4], %r1;\n"
                 "fence.proxy.async.shared::cta; bar.sync 0; add.u64 %rd3, %rd1, 2097088;\n"
                 "setp.eq.u32 %p3, %r1, 0; @!%p3 bra E;\n"
                 "cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r9], 256;\n"
                 "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n"
                 "st.shared.u32 [%r9], 99; cp.async.bulk.wait_group 0;\n"
                 "ld.global.u32 %r5, [%rd3]; ld.global.u32 %r6, [%rd3+252];\n"
                 "st.global.u32 [%rd1], %r5; st.global.u32 [%rd1+4], %r6;\nE:"),
            64);
  EXPECT_THAT(ReadAll(2), ElementsAre(0, 63));
}

// What nobody waits for is done when the block ends.
TEST_P(AsyncCopiesTest, FinishesWhatNobodyWaitsFor) {
  RunKernel(With("st.shared.u32 [%r9], 41; fence.proxy.async;\n"
                 "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r9], 16;\n"
                 "cp.async.bulk.commit_group;"),
            1);
  EXPECT_EQ(Read(0), 41u);
}

// Bulk reductions combine element by element.
TEST_P(AsyncCopiesTest, ReducesInBulk) {
  for (uint32_t i = 0; i < 4; ++i) Write(i, 100 * i);
  Write(4, 2.5f);
  Write<uint64_t>(4, 1);
  RunKernel(
      With("st.shared.v4.u32 [%r9], {1, 2, 3, 4}; mov.f32 %f1, 0f3F800000;\n"
           "st.shared.v4.f32 [%r9+16], {%f1, %f1, %f1, %f1}; st.shared.v2.u64 [%r9+32], {9, 0};\n"
           "fence.proxy.async;\n"
           "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r9], 16;\n"
           "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1+16], [%r9+16], 16;\n"
           "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u64 [%rd1+32], [%r9+32], 16;\n"
           "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
      1);
  EXPECT_THAT(ReadAll(4), ElementsAre(1, 102, 203, 304));
  EXPECT_EQ(Read<float>(5), 1.0f);
  EXPECT_EQ(Read<uint64_t>(4), 9u);
}

TEST_P(AsyncCopiesTest, TakesExtremesOfHalvesInBulk) {
  for (uint32_t i = 0; i < 8; ++i) Write<uint32_t>(i, 0x3c00'4000);  // 1 and 2
  RunKernel(
      With("mov.u32 %r2, 0x3e003e00; st.shared.v4.u32 [%r9], {%r2, %r2, %r2, %r2};\n"  // 1.5
           "fence.proxy.async;\n"
           "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f16 [%rd1], [%r9], 16;\n"
           "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.f16 [%rd1+16], [%r9], 16;\n"
           "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
      1);
  EXPECT_EQ(Read(0), 0x3c00'3e00u);
  EXPECT_EQ(Read(7), 0x3e00'4000u);
}

// What nobody waits for is done at last, and whoever polls meanwhile does not look at all of it.
TEST_P(AsyncCopiesTest, ManyCopiesThatNobodyWaitsFor) {
  Write(0, 7);
  RunKernel(
      With(std::string(kInit) + "mov.u32 %r3, 0;\n"
                                "L: cp.async.ca.shared.global [%r9], [%rd1], 4;\n"
                                "mbarrier.test_wait.parity.shared.b64 %p1, [%r10], 0;\n"
                                "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 20000; @%p1 bra L;\n"
                                "ld.shared.u32 %r4, [%r9]; st.global.u32 [%rd2+1024], %r4;"),
      1);
  EXPECT_EQ(Read(256), 7u);
}

TEST_P(AsyncCopiesTest, FaultsWhereBytesAreNotMapped) {
  EXPECT_EQ(FaultOf(With(std::string(kInit) + "mov.u32 %r2, 64; add.u64 %rd1, %rd1, 2097120;\n" +
                         "@%p3 " + kBulkLoad + kWait)),
            GridFault::kIllegalAddress);
  EXPECT_EQ(fault_.address, memory() + kGranule);
  EXPECT_THAT(fault_.place.instruction, HasSubstr("cp.async.bulk"));
  EXPECT_EQ(FaultOf(With("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r9+4096], 16;\n"
                         "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
                    1),
            GridFault::kIllegalAddress);
  EXPECT_EQ(FaultOf(With("mov.u64 %rd3, 64; cp.async.ca.shared.global [%r9], [%rd3], 4;\n"
                         "cp.async.wait_all;"),
                    1),
            GridFault::kIllegalAddress);
}

TEST_P(AsyncCopiesTest, FaultsWhereAddressesAreMisaligned) {
  EXPECT_EQ(FaultOf(With("cp.async.cg.shared.global [%r9+8], [%rd1], 16;"), 1),
            GridFault::kMisalignedAddress);
  EXPECT_EQ(FaultOf(With("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r9+8], 16;"), 1),
            GridFault::kMisalignedAddress);
  EXPECT_EQ(FaultOf(With("mov.u32 %r2, 24;\n"
                         "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r9], %r2;"),
                    1),
            GridFault::kUndefined);
  EXPECT_THAT(fault_.words, HasSubstr("24 bytes"));
}

// Measured on an H200. CUB issues such copies where all of its bytes lie before an aligned address.
TEST_P(AsyncCopiesTest, CopiesOfNothingTakeAnyAddresses) {
  RunKernel(
      With("mov.u32 %r2, 0; mbarrier.init.shared.b64 [%r10], 1;\n"
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9+1], "
           "[%rd1+1], %r2, [%r10+4];\n"
           "cp.async.bulk.global.shared::cta.bulk_group [%rd1+4], [%r9+4], %r2;\n"
           "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1+4], [%r9], %r2;\n"
           "cp.async.bulk.prefetch.L2.global [%rd1+4], %r2;\n"
           "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
           "mov.u32 %r3, 5; st.global.u32 [%rd1], %r3;"),
      1);
  EXPECT_EQ(Read(0), 5u);
}

// A bulk copy that no mbarrier can take.
TEST_P(AsyncCopiesTest, FaultsWithoutAnMbarrier) {
  EXPECT_EQ(FaultOf(With("mov.u32 %r2, 64;\n" + std::string(kBulkLoad)), 1), GridFault::kUndefined);
  EXPECT_THAT(fault_.words, HasSubstr("no mbarrier is there"));
}

using StaleCopiesTest = AsyncCopiesTest;
INSTANTIATE_TEST_SUITE_P(Stale, StaleCopiesTest, testing::Values(coherence::Policy::kStale));

// Where nothing has waited, the old bytes are still there.
TEST_P(StaleCopiesTest, AreDoneAsLateAsTheyMay) {
  for (uint32_t i = 0; i < 16; ++i) Write(i, 5u);
  RunKernel(With(kInit) +
                "mov.u32 %r2, 64;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r10], %r2;\n" +
                kBulkLoad + "ld.shared.u32 %r5, [%r9]; st.global.u32 [%rd1+1024], %r5;\n" + kWait +
                "ld.shared.u32 %r5, [%r9]; st.global.u32 [%rd1+1028], %r5;\n"
                "cp.async.ca.shared.global [%r9+128], [%rd1], 4; cp.async.commit_group;\n"
                "cp.async.ca.shared.global [%r9+132], [%rd1], 4; cp.async.commit_group;\n"
                "cp.async.wait_group 1; ld.shared.v2.u32 {%r5, %r6}, [%r9+128];\n"
                "st.global.v2.u32 [%rd1+1032], {%r5, %r6}; cp.async.wait_group 0;\n"
                "ld.shared.u32 %r6, [%r9+132]; st.global.u32 [%rd1+1040], %r6;",
            1);
  EXPECT_EQ(Read(256), 0u);
  EXPECT_EQ(Read(257), 5u);
  EXPECT_EQ(Read(258), 5u);
  EXPECT_EQ(Read(259), 0u);
  EXPECT_EQ(Read(260), 5u);
}

}  // namespace
}  // namespace twinmmu::ptx

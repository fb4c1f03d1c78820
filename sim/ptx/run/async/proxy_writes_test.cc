// The async proxy: what bulk copies read without a fence, and what is found out of it.

#include "absl/strings/str_cat.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// %r9: shared memory; %r10: an mbarrier; %r4: the thread's own word of shared memory; %p3: it is
// thread 0.
std::string With(const std::string& body) {
  return absl::StrCat(
      ".shared .align 128 .b8 s[1024]; .shared .align 8 .b64 m; mov.u32 %r9, s; mov.u32 %r10, m;\n"
      "shl.b32 %r3, %r1, 2; add.u32 %r4, %r9, %r3; setp.eq.u32 %p3, %r1, 0;\n",
      body);
}

// Shared memory goes to global memory in bulk, by thread 0.
constexpr char kStoreBulk[] =
    "@!%p3 bra E;\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r9], 256;\n"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nE:";
constexpr char kLoadBulk[] =
    "@%p3 mbarrier.init.shared.b64 [%r10], 1; bar.sync 0;\n"
    "@%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%r10], 256;\n"
    "@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%rd1], 256, "
    "[%r10];\n";
constexpr char kWait[] = "W: mbarrier.try_wait.parity.shared.b64 %p1, [%r10], 0;\n@!%p1 bra W;\n";

class ProxyWritesTest : public GridTest {
 protected:
  explicit ProxyWritesTest(coherence::Policy policy = coherence::Policy::kCoherent)
      : GridTest(WithPolicy(policy)) {}
  void RunBlock(const std::string& body) { RunKernel(With(body), 64); }
};

class StaleProxyTest : public ProxyWritesTest {
 protected:
  StaleProxyTest() : ProxyWritesTest(coherence::Policy::kStale) {}
};

// A barrier alone does not order stores with the bulk copy that reads them.
TEST_F(ProxyWritesTest, FindsAStoreThatABulkCopyMayNotSee) {
  RunBlock(absl::StrCat("st.shared.u32 [%r4], 7; bar.sync 0;\n", kStoreBulk));
  ASSERT_THAT(hazards_, SizeIs(1));
  const AsyncHazard& hazard = hazards_.front();
  EXPECT_THAT(hazard.first, AllOf(HasSubstr("PTX line 13"), HasSubstr("st.shared.u32")));
  EXPECT_THAT(hazard.second, AllOf(HasSubstr("PTX line 15"), HasSubstr("cp.async.bulk")));
  EXPECT_TRUE(hazard.first_writes);
  EXPECT_FALSE(hazard.second_writes);
  EXPECT_FALSE(hazard.waits_missing);
  EXPECT_TRUE(hazard.shared);
  EXPECT_EQ(hazard.address, DeviceAddress(0x400));
}

// A fence by each thread that writes will do, and one behind the barrier, too.
TEST_F(ProxyWritesTest, FindsNothingWhereThereIsAFence) {
  RunBlock(absl::StrCat("st.shared.u32 [%r4], 7; fence.proxy.async.shared::cta; bar.sync 0;\n",
                        kStoreBulk));
  RunBlock(absl::StrCat("st.shared.u32 [%r4], 7; bar.sync 0; fence.proxy.async;\n", kStoreBulk));
  EXPECT_THAT(hazards_, IsEmpty());
}

// A fence before the barrier is for the writes of its own thread.
TEST_F(ProxyWritesTest, FindsTheWritesOfThreadsWithoutAFence) {
  RunBlock(
      absl::StrCat("st.shared.u32 [%r4], 7; @%p3 fence.proxy.async; bar.sync 0;\n", kStoreBulk));
  ASSERT_THAT(hazards_, SizeIs(1));
  EXPECT_EQ(hazards_.front().address, DeviceAddress(0x404));
}

// A fence behind a flag is for what was written before the flag was set, too.
TEST_F(ProxyWritesTest, FindsNothingWhereAFlagLeadsToTheFence) {
  RunBlock(absl::StrCat(
      "setp.eq.u32 %p4, %r1, 33; @%p4 st.shared.u32 [%r9], 7;\n"
      "@%p4 st.release.cta.shared.u32 [%r9+512], 1;\n@!%p3 bra E;\n"
      "F: ld.acquire.cta.shared.u32 %r5, [%r9+512]; setp.eq.u32 %p5, %r5, 0; @%p5 bra F;\n"
      "fence.proxy.async;\n",
      kStoreBulk));
  EXPECT_THAT(hazards_, IsEmpty());
}

// The same of global memory, and of an overwriting copy.
TEST_F(ProxyWritesTest, FindsStoresToGlobalMemory) {
  RunBlock(absl::StrCat("st.global.u32 [%rd2], 7; bar.sync 0;\n", kLoadBulk, kWait));
  ASSERT_THAT(hazards_, SizeIs(1));
  EXPECT_FALSE(hazards_.front().shared);
  EXPECT_EQ(hazards_.front().address, memory());
  hazards_.clear();
  RunBlock(absl::StrCat("st.shared.u32 [%r4], 7; bar.sync 0;\n", kLoadBulk, kWait));
  ASSERT_THAT(hazards_, SizeIs(1));
  EXPECT_TRUE(hazards_.front().second_writes);
}

// What a bulk copy writes is there when its mbarrier says so.
TEST_F(ProxyWritesTest, FindsALoadThatDoesNotWait) {
  RunBlock(absl::StrCat(kLoadBulk, "bar.sync 0; ld.shared.u32 %r5, [%r4];\n", kWait));
  ASSERT_THAT(hazards_, SizeIs(1));
  EXPECT_TRUE(hazards_.front().waits_missing);
  EXPECT_TRUE(hazards_.front().first_writes);
  hazards_.clear();
  RunBlock(absl::StrCat(kLoadBulk, kWait, "ld.shared.u32 %r5, [%r4]; st.shared.u32 [%r4], 1;\n"));
  EXPECT_THAT(hazards_, IsEmpty());
}

// What a bulk copy reads may be overwritten when its group has read it.
TEST_F(ProxyWritesTest, FindsAStoreThatDoesNotWait) {
  const std::string store =
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r9], 256;\n"
      "cp.async.bulk.commit_group;\n";
  const std::string wait = "cp.async.bulk.wait_group.read 0;\n";
  RunKernel(With(store + "st.shared.u32 [%r9+16], 7;\n" + wait), 1);
  ASSERT_THAT(hazards_, SizeIs(1));
  EXPECT_FALSE(hazards_.front().first_writes);
  EXPECT_EQ(hazards_.front().address, DeviceAddress(0x410));
  hazards_.clear();
  RunKernel(With(store + wait + "st.shared.u32 [%r9+16], 7;\n"), 1);
  EXPECT_THAT(hazards_, IsEmpty());
  RunKernel(With(store + wait + "ld.global.u32 %r5, [%rd1];\n"), 1);
  EXPECT_THAT(hazards_, SizeIs(1));
}

// What a bulk copy reads may be read meanwhile.
TEST_F(ProxyWritesTest, FindsNothingWhereACopyAndALoadRead) {
  RunKernel(With("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r9], 256;\n"
                 "cp.async.bulk.commit_group; ld.shared.u32 %r5, [%r9+16];\n"
                 "cp.async.bulk.wait_group.read 0;\n"),
            1);
  EXPECT_THAT(hazards_, IsEmpty());
}

// Without the fence the copy reads what was there before; with it, what was stored.
TEST_F(StaleProxyTest, ReadsOlderValuesWithoutAFence) {
  RunBlock(absl::StrCat("st.shared.u32 [%r4], 7; bar.sync 0;\n", kStoreBulk));
  EXPECT_THAT(ReadAll(64), Each(0u));
  RunBlock(absl::StrCat("st.shared.u32 [%r4], 7; fence.proxy.async; bar.sync 0;\n", kStoreBulk));
  EXPECT_THAT(ReadAll(64), Each(7u));
}

// A fence behind the copy does not help.
TEST_F(StaleProxyTest, ReadsOlderValuesBeforeALateFence) {
  RunKernel(With("st.shared.u32 [%r9], 7;\n"
                 "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r9], 16;\n"
                 "fence.proxy.async; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"),
            1);
  EXPECT_EQ(Read(0), 0u);
}

}  // namespace
}  // namespace twinmmu::ptx

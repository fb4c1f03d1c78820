// Which modifiers go together. Each of these was taken, or refused, by ptxas 13.0 for sm_90a.

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "sim/ptx/decode/one_instruction.h"

namespace twinmmu::ptx {
namespace {

TEST(AccessRulesTest, OrdersHaveScopes) {
  ExpectTaken({"ld.relaxed.gpu.u32 %r1, [%rd1]", "st.release.cta.shared.u32 [%r1], %r2",
               "fence.acq_rel.gpu", "fence.sc.cta", "membar.gl"});
  ExpectRefused({"ld.relaxed.u32 %r1, [%rd1]", "ld.acquire.global.u32 %r1, [%rd1]",
                 "st.release.shared.u32 [%r1], %r2"},
                "an order needs a scope");
  ExpectRefused({"fence.sc", "fence", "fence.acquire"}, "the scope is missing");
}

TEST(AccessRulesTest, ThreadsOwnMemoryHasNoOrder) {
  ExpectTaken({"ld.volatile.shared.u32 %r1, [%r2]", "st.volatile.global.u32 [%rd1], %r1"});
  ExpectRefused({"st.volatile.local.u32 [%r1], %r2", "ld.relaxed.cta.const.u32 %r1, [%rd1]",
                 "st.release.gpu.local.u32 [%r1], %r2"},
                "memory of that space has no order");
}

TEST(AccessRulesTest, ReadOnlyLoadsAreWeakAndGlobal) {
  ExpectTaken({"ld.global.nc.u32 %r1, [%rd1]", "ld.global.cs.nc.u32 %r1, [%rd1]"});
  ExpectRefused({"ld.nc.u32 %r1, [%rd1]", "ld.shared.nc.u32 %r1, [%r2]",
                 "ld.volatile.global.nc.u32 %r1, [%rd1]", "ld.weak.global.nc.u32 %r1, [%rd1]",
                 "ld.relaxed.gpu.global.nc.u32 %r1, [%rd1]"},
                ".nc is of weak accesses to .global");
  ExpectRefused({"ld.global.cv.nc.u32 %r1, [%rd1]"}, ".nc does not go with .cv and .lu");
}

TEST(AccessRulesTest, CachesAreOfGlobalMemory) {
  ExpectTaken({"ld.L1::no_allocate.L2::128B.u32 %r1, [%rd1]",
               "st.global.L2::cache_hint.u32 [%rd1], %r1, %rd2",
               "ld.volatile.global.L2::64B.u32 %r1, [%rd1]"});
  ExpectRefused(
      {"ld.shared.L1::evict_last.u32 %r1, [%r2]", "ld.shared.L2::64B.u32 %r1, [%r2]",
       "st.local.L1::no_allocate.u32 [%r1], %r2", "st.shared.L2::cache_hint.u32 [%r1], %r2, %rd2"},
      "caches are told of accesses to global memory only");
  ExpectRefused({"st.volatile.global.L1::evict_first.u32 [%rd1], %r1",
                 "ld.volatile.global.L2::cache_hint.u32 %r1, [%rd1], %rd2"},
                ".volatile does not go with caches");
  ExpectRefused({"ld.global.cg.L1::evict_last.u32 %r1, [%rd1]"}, "a cache operator does not go");
  ExpectRefused({"ld.global.L2::evict_last.u32 %r1, [%rd1]"}, "vectors of 32 bytes");
}

TEST(AccessRulesTest, DeviceAccessesAreOfTheWholeSystem) {
  ExpectTaken({"ld.mmio.relaxed.sys.global.u32 %r1, [%rd1]"});
  ExpectRefused(
      {"ld.mmio.relaxed.gpu.global.u32 %r1, [%rd1]", "st.mmio.relaxed.sys.shared.u32 [%r1], %r2",
       "st.mmio.relaxed.sys.v2.u32 [%rd1], {%r1, %r2}",
       "ld.mmio.relaxed.sys.L1::evict_last.u32 %r1, [%rd1]"},
      ".mmio is .relaxed.sys, of one value in global memory");
}

TEST(AccessRulesTest, HalvesAreMovedAsBits) {
  ExpectTaken({"ld.global.b16 %h1, [%rd1]"});
  ExpectRefused({"ld.global.f16 %h1, [%rd1]", "st.shared.bf16x2 [%r1], %r2"},
                "halves are moved as .b16 and .b32");
}

TEST(AccessRulesTest, EightSmallElementsAreAVector) {
  ExpectTaken({"st.global.v8.u8 [%rd1], {%h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8}",
               "ld.shared.v8.b16 {%h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8}, [%r1]"});
  ExpectRefused({"ld.v8.b64 {%rd1, %rd2, %rd3, %rd4, %rd5, %rd6, %rd7, %rd8}, [%rd1]"},
                "vectors of 8 are of at most 32 bits each");
}

TEST(AtomicRulesTest, ReductionsGiveNoOldValue) {
  ExpectTaken(
      {"red.release.gpu.global.add.u32 [%rd1], %r1", "atom.global.exch.b32 %r1, [%rd1], %r2"});
  ExpectRefused({"red.global.exch.b32 [%rd1], %r1", "red.acquire.gpu.global.add.u32 [%rd1], %r1"},
                "red gives no old value");
}

TEST(AtomicRulesTest, HalvesSayThatTheyKeepSubnormals) {
  ExpectTaken({"red.global.add.noftz.f16x2 [%rd1], %r1"});
  ExpectRefused({"red.global.add.f16x2 [%rd1], %r1", "atom.add.bf16 %h1, [%rd1], %h2"},
                ".noftz is missing");
  ExpectRefused({"red.global.add.noftz.f32 [%rd1], %f1"}, ".noftz is of halves only");
}

TEST(AtomicRulesTest, CachesAreOfGlobalMemoryAndNotOfCas) {
  ExpectTaken({"atom.global.add.L2::cache_hint.u32 %r1, [%rd1], %r2, %rd2"});
  ExpectRefused({"atom.shared.add.L2::cache_hint.u32 %r1, [%r2], %r3, %rd2",
                 "atom.global.cas.L2::cache_hint.b32 %r1, [%rd1], %r2, %r3, %rd2"},
                ".L2::cache_hint is of global memory");
  ExpectRefused({"atom.global.add.s64 %rd1, [%rd2], %rd3"}, "there is no add of .s64");
}

TEST(MbarrierRulesTest, AnOrderAndAScopeComeTogether) {
  ExpectTaken({"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1]",
               "mbarrier.test_wait.parity.acquire.cta.shared.b64 %p1, [%r1], %r2",
               "mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], %r2"});
  ExpectRefused({"mbarrier.arrive.cta.shared.b64 %rd1, [%r1]",
                 "mbarrier.try_wait.acquire.shared.b64 %p1, [%r1], %rd1"},
                "an order and a scope come together");
  ExpectRefused({"mbarrier.try_wait.acquire.gpu.shared.b64 %p1, [%r1], %rd1"},
                "the scope is .cta or .cluster");
}

TEST(MbarrierRulesTest, AnOperationComesFirst) {
  ExpectRefused({"mbarrier.gpu.b64 [%r1]"}, "there is no such operation of mbarriers");
}

TEST(MbarrierRulesTest, EachOperationHasItsOrders) {
  ExpectRefused({"mbarrier.test_wait.release.cta.shared.b64 %p1, [%r1], %rd1",
                 "mbarrier.arrive.acquire.cta.shared.b64 %rd1, [%r1]",
                 "mbarrier.expect_tx.release.cta.shared.b64 [%r1], %r2"},
                "there is no such order of it");
}

TEST(MbarrierRulesTest, SomeOperationsAreOfTheOwnBlock) {
  ExpectRefused({"mbarrier.test_wait.shared::cluster.b64 %p1, [%r1], %rd1"},
                "a block waits for its own mbarriers");
  ExpectRefused({"mbarrier.inval.shared::cluster.b64 [%r1]"}, "it is of the own block");
  ExpectRefused({"mbarrier.arrive.noComplete.release.cluster.shared.b64 %rd1, [%r1], %r2"},
                ".noComplete is of the own block");
}

TEST(WarpRulesTest, LanesNameEachOtherSincePtx64) {
  EXPECT_EQ(StatusOfOne("shfl.up.b32 %r1, %r2, 1, 0", "6.3", "sm_60"), absl::OkStatus());
  EXPECT_EQ(StatusOfOne("vote.all.pred %p1, %p2", "6.3", "sm_60"), absl::OkStatus());
  ExpectRefused({"shfl.up.b32 %r1, %r2, 1, 0", "vote.all.pred %p1, %p2"}, "sync is missing");
}

TEST(WarpRulesTest, OperationsHaveTypes) {
  ExpectTaken({"match.any.sync.b64 %r1, %rd1, -1", "redux.sync.and.b32 %r1, %r2, -1",
               "redux.sync.max.s32 %r1, %r2, -1"});
  ExpectRefused({"match.any.sync.s32 %r1, %r2, -1"}, "the type is not .b32 or .b64");
  ExpectRefused({"redux.sync.and.u32 %r1, %r2, -1", "redux.sync.max.b32 %r1, %r2, -1"},
                "there is no such operation of this type");
}

TEST(WarpRulesTest, ABlockHasSixteenBarriers) {
  ExpectTaken({"bar.sync 15", "barrier.arrive 15, 64"});
  ExpectRefused({"bar.sync 16", "bar.red.popc.u32 %r1, 16, %p1"}, "there is no barrier 16");
}

}  // namespace
}  // namespace twinmmu::ptx
